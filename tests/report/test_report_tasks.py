"""Ranking section of the report."""

import polars as pl

from anml.pipeline.result import StructuredResult
from anml.report.tasks import VIEWS


def ranking(groups=1):
    frame = pl.DataFrame(
        {"group": [f"g{k}" for k in range(groups)] * 2, "rank": [1, 2] * groups,
         "candidate": ["a", "b"] * groups,
         "score": [1.0, -1.0] * groups, "score_low": [0.5, -1.5] * groups,
         "score_high": [1.5, -0.5] * groups, "n_comparisons": [3, 3] * groups,
         "p_ahead_of_next": [0.97, None] * groups}
    )  # fmt: skip
    return VIEWS["preferences"](
        StructuredResult("preferences", "comparison", {"ranking": frame}, ["Two."], {})
    )


def test_a_ranking_names_places_scores_and_what_is_decided():
    section = ranking()
    assert section.rows[0] == ["1", "a", "+1.00", "+0.50 to +1.50", "3", "97%"]
    assert section.rows[1] == ["2", "b", "−1.00", "−1.50 to −0.50", "3", ""]
    assert section.sentences == ["Two."]
    assert "group" not in section.head


def test_groups_have_a_column_and_long_rankings_end():
    section = ranking(groups=40)
    assert section.head[0] == "group"
    assert len(section.rows) + section.hidden == 80
    assert section.hidden > 0
