"""The bank: methods that are not told the truth, measures by hand, and a small run to the end of the page."""

from dataclasses import fields

import polars as pl
import pytest
from bank_small import BANK, small

from experiments import cells, data, runner
from experiments.bank import run as peers
from experiments.bank.conditions import CONDITIONS
from experiments.bank.people import CONTRIBUTOR_CONDITIONS
from experiments.report import write_report
from experiments.runner import run
from experiments.seen import GroundTruth, MethodInput
from experiments.spec import load, report_texts
from experiments.summary import describe, load_results

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_forests", "shared_results")]
OTHERS = ["uniform", "krum", "multiplicative", "softmax", "adaptive", "cleanlab", "zdrop"]


def test_the_file_names_every_condition_and_every_other_method():
    assert BANK.vary["dataset"] == list(CONDITIONS)
    assert BANK.compared == [*OTHERS[:5], "evidence", *OTHERS[5:], "oracle"]
    assert tuple(BANK.peers) == peers.PEERS
    for model in ("lr", "rf"):
        chosen = BANK.derived[f"best_other_{model}"]["least"]
        assert chosen == [f"{method}.error_{model}" for method in OTHERS]


def test_the_conditions_said_to_be_clean_are_those_without_wrong_labels():
    [claim] = [claim for claim in BANK.claims if "right_dropped" in str(claim)]
    named = [name for name in CONDITIONS if "nothing wrong" in report_texts("conditions")[name]]
    assert claim["over"]["dataset"] == named
    assert BANK.derived["right_dropped_clean"]["over"]["dataset"] == named


def test_regret_is_over_the_twenty_and_over_the_ten_but_for_units():
    ten = [name for name in CONTRIBUTOR_CONDITIONS if name != "reg_units"]
    twenty = [name for name in CONDITIONS if name not in CONTRIBUTOR_CONDITIONS]
    assert (len(twenty), len(CONTRIBUTOR_CONDITIONS)) == (20, 10)
    for model in ("lr", "rf"):
        assert BANK.derived[f"mean_regret_twenty_{model}"]["over"]["dataset"] == twenty
        assert BANK.derived[f"mean_regret_ten_{model}"]["over"]["dataset"] == ten


def test_methods_are_not_told_what_is_true():
    known = {field.name for field in fields(MethodInput)}
    assert not known & {field.name for field in fields(GroundTruth)} - {"y"}
    assert list(peers.ORACLES) == ["oracle"]


def test_a_small_bank_end_to_end(tmp_path, monkeypatch):
    bank = small(["clean_xor", "num_hetero_bad"], ["uniform", "krum", "evidence", *BANK.peers])
    assert run([bank], tmp_path) == {}
    rows = load_results(bank, tmp_path).rows
    # cleanlab is for classes.
    assert len(rows) == 6 + 5
    clean = rows.filter(pl.col("dataset") == "clean_xor")
    assert clean["wrong_kept"].is_nan().all()
    assert clean.filter(pl.col("method") == "krum")["right_dropped"].to_list() == [30.0]
    assert clean["liars"].to_list() == [0.0] * 6
    result = rows.filter(pl.col("method") == "zdrop", pl.col("dataset") == "num_hetero_bad")
    assert result["liars_found"].to_list() == [3.0]
    page = tmp_path / "docs" / "beyond.md"
    write_report(tmp_path, page, [bank], "beyond")
    check_page(page.read_text(), rows)
    # Nothing is run twice, and a new version of one method runs alone.
    monkeypatch.setitem(cells.VERSIONS["peer"], "oracle", 2)
    ran = []
    whole = runner.run_block
    monkeypatch.setattr(runner, "run_block", lambda *a, **k: ran.append(whole(*a, **k)) or ran[-1])
    run([bank], tmp_path)
    assert {row["method"] for rows in ran for row in rows} == {"oracle"}
    again = load_results(bank, tmp_path).rows
    assert again.drop("seconds").equals(rows.drop("seconds"), null_equal=True)


def check_page(text, rows):
    [line] = [line for line in text.splitlines() if line.startswith("| num_hetero_bad")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    here = rows.filter(pl.col("dataset") == cells[0])
    means = {
        (method, model): here.filter(pl.col("method") == method)[f"error_{model}"]
        for method in [*OTHERS, "evidence", "oracle"]
        for model in ("lr", "rf")
    }
    for place, model in ((1, "lr"), (5, "rf")):
        assert cells[place] == f"{means['uniform', model].mean():.1f}"
        there = {method: m for method in OTHERS if (m := means[method, model].mean()) is not None}
        best = min(there, key=there.get)
        assert cells[place + 1] == f"{there[best]:.1f} {best}"
        assert cells[place + 2] == f"{means['evidence', model].mean():.1f}"
        assert cells[place + 3] == f"{means['oracle', model].mean():.1f}"
    assert cells[9:12] == ["3 of 3", "0 of 3", "0 of 12"]
    assert "- clean_xor: do two signs agree, nothing wrong" in text
    assert "Over all of it: mean regret twenty lr " in text
    assert "mean regret of a linear model over the twenty is at most -3.3 points" in text


def test_a_bank_of_one_method_has_a_page_too(tmp_path):
    bank = small(["clean_xor"], ["uniform"], derived={}, claims=())
    run([bank], tmp_path)
    write_report(tmp_path, tmp_path / "beyond.md", [bank], "beyond")
    assert "| clean_xor " in (tmp_path / "beyond.md").read_text()
    assert describe(load_results(bank, tmp_path))["claims"] == []


def test_parts_that_were_run_apart_are_joined(tmp_path):
    """By a file of one's own with other methods and conditions, in another folder."""
    names = ["clean_xor", "lazy_bal4"]
    for name in names:
        (tmp_path / f"{name}.toml").write_text(
            f'title = "x"\nkind = "bank"\ntrials = 1\nmethods = ["uniform"]\n[vary]\ndataset = ["{name}"]\n'
        )
        run([load(tmp_path / f"{name}.toml")], tmp_path / name)
    bank = small(names, ["uniform"], derived={}, claims=())
    parts = tmp_path / "whole" / ".parts" / "bank"
    parts.mkdir(parents=True)
    for name in names:
        (tmp_path / name / "rows" / f"{name}.parquet").rename(parts / f"{name}.parquet")
    calls = []
    run([bank], tmp_path / "whole", progress=lambda what, done, total: calls.append((done, total)))
    assert calls == [(2, 2)]
    assert load_results(bank, tmp_path / "whole").rows["dataset"].to_list() == names


def test_conditions_without_their_data_are_left_out_and_named(tmp_path, monkeypatch):
    def absent():
        raise data.DataMissingError("not here")

    monkeypatch.setitem(data.DATASETS, "covertype", absent)
    data.load_dataset.cache_clear()
    bank = small(["clean_xor", "specclass_0"], ["uniform"], derived={}, claims=())
    assert run([bank], tmp_path) == {"bank": ["specclass_0"]}
    assert load_results(bank, tmp_path).axes["dataset"] == ["clean_xor"]
    data.load_dataset.cache_clear()
