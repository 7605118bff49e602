"""Comparison of two runs: significant changes, changed rows, corrections."""

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.pipeline.compare_runs import (
    CORRECTED,
    NOW_CORRECT,
    NOW_WRONG,
    _changed_rows,
    _people,
    compare_runs,
)
from made_up import two_weeks


def people(**accuracy):
    """Contributors with 100 rows each; accuracy as (mean, low, high)."""
    rows = [(name, 100, "reliable", *figures) for name, figures in accuracy.items()]
    names = ["contributor", "rows", "verdict", "accuracy", "accuracy_low", "accuracy_high"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_people_change_where_the_difference_is_more_than_chance():
    result = _people(
        people(ann=(0.95, 0.9, 1.0), bob=(0.9, 0.8, 1.0), eve=(0.9, 0.85, 0.95)),
        people(ann=(0.94, 0.9, 0.98), bob=(0.8, 0.6, 0.95), eve=(0.5, 0.4, 0.6), zoe=(0.9, 0.8, 1.0)),
    )
    rows = {row["contributor"]: row for row in result.iter_rows(named=True)}
    assert result["contributor"][0] == "eve"
    assert [rows[name]["changed"] for name in ("ann", "bob", "eve", "zoe")] == [False, False, True, None]
    # Half widths 0.05 and 0.1: the difference is known to within their root of squares.
    assert rows["eve"]["difference"] == pytest.approx(-0.4)
    assert rows["eve"]["difference_low"] == pytest.approx(-0.4 - (0.05**2 + 0.1**2) ** 0.5)
    assert rows["zoe"]["accuracy_before"] is None


def test_rows_are_corrected_or_cross_even_odds():
    shared = pl.DataFrame(
        {
            "row": range(5),
            "item": ["a", "b", "c", "d", "e"],
            "contributor": ["ann"] * 5,
            "label_before": ["x"] * 5,
            "label_after": ["x", "x", "x", "y", "x"],
            "p_correct_before": [0.9, 0.9, 0.2, 0.3, 0.9],
            "p_correct_after": [0.1, 0.0, 0.8, 0.9, 0.8],
            "suggested_label_after": ["y", "y", "x", "y", "x"],
            "true_label_before": [None] * 5,
            "true_label_after": [None, "y", None, None, None],
        },
        schema_overrides={"true_label_before": pl.String},
    )
    assert dict(_changed_rows(shared).select("item", "change").iter_rows()) == {
        "a": NOW_WRONG, "b": CORRECTED, "c": NOW_CORRECT, "d": CORRECTED,
    }  # fmt: skip


@pytest.fixture(scope="module")
def weeks(tmp_path_factory):
    return two_weeks(tmp_path_factory.mktemp("weeks"))


def test_weeks_without_a_common_row_are_compared_by_people(weeks):
    result = compare_runs(weeks / "one", weeks / "two")
    assert (result.shared, result.rows.height) == (0, 0)
    dan = result.people.row(by_predicate=pl.col("contributor") == "dan", named=True)
    assert dan["difference"] < -0.2
    assert result.people["changed"].to_list() == [True, False, False, False]
    assert result.figures["rows"] == (160, 160)


def test_a_run_has_not_changed_from_itself(weeks):
    result = compare_runs(weeks / "one", weeks / "one")
    assert result.shared == 160
    assert result.rows.is_empty()
    assert not result.people["changed"].any()


def test_what_is_no_run_or_was_changed_is_one_sentence(weeks, tmp_path):
    with pytest.raises(AnmlError, match="is not a run folder"):
        compare_runs(tmp_path, weeks / "two")
