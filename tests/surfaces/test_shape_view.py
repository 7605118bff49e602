"""What the report shows of a ranking."""

import polars as pl

from anml.app.audit.result import Shaped
from anml.surfaces.shape_view import VIEWS


def ranking(groups=1):
    frame = pl.DataFrame(
        {"group": [f"g{k}" for k in range(groups)] * 2, "place": [1, 2] * groups,
         "candidate": ["a", "b"] * groups,
         "score": [1.0, -1.0] * groups, "low": [0.5, -1.5] * groups, "high": [1.5, -0.5] * groups,
         "comparisons": [3, 3] * groups, "ahead": [0.97, None] * groups}
    )  # fmt: skip
    return VIEWS["preference"](Shaped("preference", "comparison", {"ranking": frame}, ["Two."], {}))


def test_a_ranking_names_places_scores_and_what_is_decided():
    section = ranking()
    assert section.rows[0] == ["1", "a", "+1.00", "+0.50 to +1.50", "3", "97%"]
    assert section.rows[1] == ["2", "b", "−1.00", "−1.50 to −0.50", "3", ""]
    assert section.said == ["Two."]
    assert "group" not in section.head


def test_groups_have_a_column_and_long_rankings_end():
    section = ranking(groups=40)
    assert section.head[0] == "group"
    assert len(section.rows) + section.hidden == 80
    assert section.hidden > 0
