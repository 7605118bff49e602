"""One contributor as they may see themselves: figures by hand, and what is refused."""

import json

import polars as pl
import pytest

from anml.app.people.person import _classes, _weeks, person_of
from anml.core.errors import InputError
from anml.core.people.words import ACCUSED
from anml.surfaces.names import percent
from anml.surfaces.person_cli import render_person, sentences
from made_up import two_weeks


@pytest.fixture(scope="module")
def weeks(tmp_path_factory):
    return two_weeks(tmp_path_factory.mktemp("weeks"))


def test_shares_by_likely_label_beside_those_of_all_others():
    samples = pl.DataFrame(
        {
            "contributor": ["ann", "ann", "ann", "bob", "bob"],
            "suggested": ["x", "x", "y", "x", "x"],
            "p_correct": [1.0, 0.5, 0.25, 0.5, 0.25],
        }
    )
    found = _classes(samples, "ann").select("label", "rows", "right", "others").rows()
    assert found == [("x", 2, 0.75, 0.375), ("y", 1, 0.25, None)]


def test_others_by_label_are_the_others_of_the_line(weeks):
    found = person_of(weeks / "two", "ann")
    samples = pl.read_parquet(weeks / "two" / "samples.parquet")
    table = pl.read_csv(weeks / "two" / "contributors.csv")
    assert table.filter(pl.col("contributor") == "dan")["verdict"].item() in ACCUSED
    rest = samples.filter(~pl.col("contributor").cast(pl.String).is_in(["ann", "dan"]))
    means = dict(rest.group_by("suggested").agg(pl.mean("p_correct")).iter_rows())
    told = dict(found.classes.select("label", "others").iter_rows())
    assert told == pytest.approx({label: means[label] for label in told})


def test_shares_in_sentences_are_those_of_the_tables():
    assert [percent(share) for share in (0.765, 0.835, 0.125, 1.0)] == ["77%", "83%", "12%", "100%"]
    assert all(percent(n / 1000) == f"{float(f'{n / 1000:.2f}'):.0%}" for n in range(1001))


def test_a_page_that_is_no_page_is_refused(weeks, run_anml, tmp_path):
    ran = run_anml("person", weeks / "two", "dan", "--out", tmp_path / "dan.pdf")
    assert ran.code == 2
    assert "dan.pdf would be no .pdf file: name it .html" in ran.err
    assert not (tmp_path / "dan.pdf").exists()


def test_weeks_are_counted_back_from_the_newest_label():
    days = pl.Series([0, 6, 7, 14]) / 365.25
    found = _weeks(pl.DataFrame({"age": days, "p_correct": [1.0, 0.5, 0.25, 1.0]}))
    assert found.select("weeks_ago", "rows", "right").rows() == [(2, 1, 1.0), (1, 1, 0.25), (0, 2, 0.75)]
    assert _weeks(pl.DataFrame({"age": [0.0], "p_correct": [1.0]})).is_empty()
    assert _weeks(pl.DataFrame({"p_correct": [1.0]})).is_empty()


def test_who_lies_sees_examples_and_nobody_else(weeks):
    found = person_of(weeks / "two", "dan")
    assert found.about["contributor"] == "dan"
    assert found.examples["p_correct"].is_sorted()
    assert found.confused["rows"].sum() > 10
    page = render_person(found)
    assert "<script" not in page
    assert not any(f">{name}<" in page for name in ("ann", "bob", "cem"))
    assert sentences(found)[-1].startswith("Next: ")


def test_who_is_reliable_is_told_so(weeks):
    said = sentences(person_of(weeks / "two", "ann"))
    assert said[-1] == "Nothing needs to change."


def test_somebody_else_is_refused(weeks, run_anml):
    with pytest.raises(InputError, match="has no contributor 'eve'; it has"):
        person_of(weeks / "two", "eve")
    shown = json.loads(run_anml("person", weeks / "two", "dan", "--json").out)
    assert shown["contributor"] == "dan"
    assert {"classes", "confused", "weeks", "examples", "verdict"} <= set(shown)
