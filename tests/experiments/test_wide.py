"""One wide table per experiment, and failures by cause: figures by hand."""

import pytest

from anml.core.errors import AnmlError
from experiments.claims import CAUSES, FAILS, HOLDS, OPEN
from experiments.door import check_experiment
from experiments.report import pages_of
from experiments.spec import list_experiments, parse
from experiments.summary import UNKNOWN, count_verdicts
from experiments.tables import cell, wide_table

pytestmark = pytest.mark.slow


def row(key, metric, ours, half=None, paper=None, **more):
    low, high = (None, None) if half is None else (ours - half, ours + half)
    return {"key": key, "metric": metric, "ours": ours, "low": low, "high": high, "paper": paper, **more}


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (row({}, "error", 4.2, 0.6, 4.6), "4.2 ± .6 · paper 4.6"),
        (row({}, "error", 12.0, 1.25, 12.4, implied=True), "12.0 ± 1.2 · paper ~12.4"),
        (row({}, "error", 0.0), "0"),
        (row({}, "ranks", 0.9731, 0.0012), "0.973 ± .001"),
        (row({}, "ranks", 0.9731, 0.0001), "0.973"),
        (row({}, "calibration", 0.0001, 0.0001), "< 0.001"),
        (row({}, "cohens_d", -1.256, paper=-1.2), "-1.26 · paper -1.20"),
    ],
)
def test_a_cell_is_ours_its_interval_and_the_papers(figure, message):
    assert cell(figure) == message


def test_far_from_the_paper_is_bold_whatever_the_metric():
    assert cell(row({}, "error", 18.3, 2.4, 26.1)) == "**18.3 ± 2.4** · paper 26.1"
    assert cell(row({}, "improvement", 18.3, 2.4, 26.1)) == "18.3 ± 2.4 · paper 26.1"


def test_methods_become_columns_and_what_repeats_is_said_once():
    rows = [
        row({"profile": "paper", "bad": bad, "method": method}, metric, ours)
        for bad, errors in (("0", (2, 3)), ("0.3", (26, 11)))
        for method, error in zip(("uniform", "krum"), errors, strict=True)
        for metric, ours in (("error", error), ("slope", 7 + (method == "krum")))
    ]
    for each in rows:
        each["paper"] = 7.5 if each["metric"] == "slope" and each["key"]["bad"] == "0.3" else None
    assert wide_table(parse("x", {"title": "x", "across": ["profile", "method"]}), {"rows": rows}) == [
        "| error: bad | paper's q, uniform | paper's q, krum |",
        "| ---------- | ------------------ | --------------- |",
        "| 0          | 2.0                | 3.0             |",
        "| 0.3        | 26.0               | 11.0            |",
        "",
        "Over all of it: slope, uniform, paper's q 7.00 · paper 7.50; "
        "slope, krum, paper's q 8.00 · paper 7.50.",
    ]


@pytest.mark.parametrize(("across", "columns"), [(["attack"], 4), ([], 1), (["dataset", "method"], 9)])
def test_what_varies_along_the_named_axes_is_a_column_and_every_figure_is_there(across, columns):
    rows = [
        row({"dataset": dataset, "attack": attack, "method": method}, "error", ours=float(len(method)))
        for dataset in "abc"
        for attack in "wxyz"
        for method in ("uniform", "krum", "evidence")
    ]
    header, _, *body = wide_table(parse("x", {"title": "x", "across": across}), {"rows": rows})
    assert header.count("|") - 1 == columns + 3 - len(across)
    figures = [part for line in body for part in line.split("|") if "." in part]
    assert len(figures) == len(rows)


def test_columns_and_causes_are_checked_before_anything_runs():
    mine = {"title": "mine", "methods": ["uniform", "krum"]}
    claim = {"text": "so", "at_most": ["krum.error", 5], "limit": "before"}
    check_experiment(parse("mine", {**mine, "columns": ["error", "krum.error"], "claims": [claim]}))
    with pytest.raises(AnmlError, match="unknown method 'krumm'"):
        check_experiment(parse("mine", {**mine, "columns": ["krumm.error"]}))
    with pytest.raises(AnmlError, match="unknown axis in across 'metod'"):
        check_experiment(parse("mine", {**mine, "across": ["metod"]}))
    with pytest.raises(AnmlError, match="unknown metric 'eror'"):
        check_experiment(parse("mine", {**mine, "columns": ["eror"]}))
    with pytest.raises(AnmlError, match="unknown cause 'luck'"):
        check_experiment(parse("mine", {**mine, "claims": [{**claim, "cause": "luck"}]}))


@pytest.mark.parametrize("room", ["paper", "beyond", "field"])
def test_every_cause_and_column_of_our_experiments_is_known(room):
    for experiment in list_experiments(room).values():
        assert {claim.get("cause", "") for claim in experiment.claims} <= set(CAUSES)
        check_experiment(experiment)


def test_failures_stand_under_their_cause(tmp_path):
    claims = [
        {"text": "it is so", "verdict": HOLDS, "detail": "1", "why": "", "apart": "", "cause": "small"},
        {"text": "it is not", "verdict": FAILS, "detail": "2 < 3", "why": "So.", "apart": "", "cause": "few"},
        {"text": "nor this", "verdict": FAILS, "detail": "4", "why": "", "apart": "", "cause": ""},
        {"text": "nor that", "verdict": FAILS, "detail": "5", "why": "", "apart": "implied", "cause": ""},
        {"text": "perhaps", "verdict": OPEN, "detail": "6", "why": "", "apart": "", "cause": ""},
    ]  # fmt: skip
    claims = [{**claim, "asks": "at most 1", "limit": "before"} for claim in claims]
    entry = {"name": "mine", "title": "Mine", "trials": 12, "rows": [], "claims": claims, "closeness": {},
             "seeds": 1, "notes": [], "readings": {}, "version": UNKNOWN}  # fmt: skip
    specs = [parse(name, {"title": "Mine"}) for name in ("mine", "plain")]
    summary = {"experiments": [entry], "stale": [], "claims": count_verdicts(claims), "effects": [],
               "findings": [], "claims_apart": {"implied": 1}}  # fmt: skip

    def page(summary):
        return pages_of(tmp_path, tmp_path / "report.md", summary, set(), specs, "own")[
            tmp_path / "report.md"
        ]

    assert "Counted apart: 1 implied by another claim." in page(summary)
    two = {**summary, "experiments": [entry, {**entry, "name": "plain", "seeds": 3}]}
    lines = [line for line in page(two).splitlines() if line.startswith("| [")]
    [mine, plain] = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert mine == ["[mine](#mine)", "Mine", "12 trials", "1", "", "1", "2"]
    assert plain[2] == "12 trials, 3 seeds"
    page = page(summary)
    under = page.split("Claims that do not hold, by cause:")[1]
    small, unknown = under.index(CAUSES["few"]), under.index(CAUSES[""])
    assert (
        small
        < under.index("it is not (2 < 3; asked: at most 1). *So.*")
        < unknown
        < under.index("nor this (4;")
    )
    assert "nor that (5" not in under.split("<details>")[0]
    assert CAUSES["small"] not in under
    assert "Claims: holds 1, inconclusive 1, does not hold 2" in page
    assert "made by a version that was not recorded" in page
