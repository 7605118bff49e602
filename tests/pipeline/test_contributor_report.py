"""One contributor as they may see themselves: figures by hand, and what is refused."""

import json

import polars as pl
import pytest

from anml.annotators.words import FLAGGED
from anml.cli.contributor import render_person, sentences
from anml.core.errors import InputError
from anml.pipeline.contributor_report import _classes, _weeks, contributor_report
from anml.report.printable import format_percent
from made_up import two_weeks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def weeks(tmp_path_factory):
    return two_weeks(tmp_path_factory.mktemp("weeks"))


def test_shares_by_likely_label_beside_those_of_all_others():
    samples = pl.DataFrame(
        {
            "contributor": ["ann", "ann", "ann", "bob", "bob"],
            "suggested_label": ["x", "x", "y", "x", "x"],
            "p_correct": [1.0, 0.5, 0.25, 0.5, 0.25],
        }
    )
    result = _classes(samples, "ann").select("label", "rows", "accuracy", "peer_accuracy").rows()
    assert result == [("x", 2, 0.75, 0.375), ("y", 1, 0.25, None)]


def test_others_by_label_are_the_others_of_the_line(weeks):
    result = contributor_report(weeks / "two", "ann")
    samples = pl.read_parquet(weeks / "two" / "samples.parquet")
    table = pl.read_csv(weeks / "two" / "contributors.csv")
    assert table.filter(pl.col("contributor") == "dan")["verdict"].item() in FLAGGED
    rest = samples.filter(~pl.col("contributor").cast(pl.String).is_in(["ann", "dan"]))
    means = dict(rest.group_by("suggested_label").agg(pl.mean("p_correct")).iter_rows())
    known = dict(result.by_label.select("label", "peer_accuracy").iter_rows())
    assert known == pytest.approx({label: means[label] for label in known})


def test_shares_in_sentences_are_those_of_the_tables():
    assert [format_percent(share) for share in (0.765, 0.835, 0.125, 1.0)] == ["77%", "83%", "12%", "100%"]
    assert all(format_percent(n / 1000) == f"{float(f'{n / 1000:.2f}'):.0%}" for n in range(1001))


def test_a_page_that_is_no_page_is_refused(weeks, run_anml, tmp_path):
    ran = run_anml("contributor", weeks / "two", "dan", "--out", tmp_path / "dan.pdf")
    assert ran.code == 2
    assert "the output must end in .html, got 'dan.pdf'" in ran.err
    assert not (tmp_path / "dan.pdf").exists()


def test_weeks_are_counted_back_from_the_newest_label():
    days = pl.Series([0, 6, 7, 14]) / 365.25
    result = _weeks(pl.DataFrame({"age_years": days, "p_correct": [1.0, 0.5, 0.25, 1.0]}))
    assert result.select("weeks_ago", "rows", "accuracy").rows() == [(2, 1, 1.0), (1, 1, 0.25), (0, 2, 0.75)]
    assert _weeks(pl.DataFrame({"age_years": [0.0], "p_correct": [1.0]})).is_empty()
    assert _weeks(pl.DataFrame({"p_correct": [1.0]})).is_empty()


def test_a_flagged_contributor_sees_examples_and_no_other_name(weeks):
    result = contributor_report(weeks / "two", "dan")
    assert result.summary["contributor"] == "dan"
    assert result.examples["p_correct"].is_sorted()
    assert result.confusions["rows"].sum() > 10
    page = render_person(result)
    assert "<script" not in page
    assert not any(f">{name}<" in page for name in ("ann", "bob", "cat"))
    assert sentences(result)[-1].startswith("Next step: ")


def test_the_page_of_a_reliable_contributor_asks_for_no_action(weeks):
    message = sentences(contributor_report(weeks / "two", "ann"))
    assert message[-1] == "No action is needed."


def test_an_unknown_contributor_is_refused_and_json_has_all_parts(weeks, run_anml):
    with pytest.raises(InputError, match="has no contributor 'eve'; it has"):
        contributor_report(weeks / "two", "eve")
    shown = json.loads(run_anml("contributor", weeks / "two", "dan", "--json").out)
    assert shown["contributor"] == "dan"
    assert {"by_label", "confusions", "by_week", "examples", "verdict"} <= set(shown)
