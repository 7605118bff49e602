"""Cells that a spreadsheet would run: quoted, all others left as they are, and never twice."""

import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.io.spreadsheets import safe_for_spreadsheets

RISKY = ("=", "+", "-", "@", "\t", "\r", "\x00")


def safe(*cells: str | None) -> list[str | None]:
    return safe_for_spreadsheets(pl.DataFrame({"a": cells}, schema={"a": pl.String}))["a"].to_list()


@pytest.mark.parametrize("start", RISKY)
def test_every_risky_start_is_quoted(start):
    assert safe(f"{start}cmd", f"x{start}cmd", None, "") == [f"'{start}cmd", f"x{start}cmd", None, ""]


@given(st.lists(st.text(max_size=6) | st.none(), max_size=6))
def test_no_cell_is_run_and_nothing_else_changes(cells):
    for before, after in zip(cells, safe(*cells), strict=True):
        if before is None:
            assert after is None
        else:
            assert not after.startswith(RISKY)
            assert after in (before, f"'{before}")
            assert (after == before) == (not before.startswith(RISKY))


@given(st.lists(st.text(max_size=6), max_size=4))
def test_once_safe_is_safe(cells):
    frame = safe_for_spreadsheets(pl.DataFrame({"a": cells}, schema={"a": pl.String}))
    assert safe_for_spreadsheets(frame).equals(frame)


def test_numbers_stay_numbers_and_columns_keep_their_names():
    frame = pl.DataFrame({"n": [-1.5, 2.0], "flag": [True, False], "who": ["=1", "ann"]})
    result = safe_for_spreadsheets(frame)
    assert result.columns == ["n", "flag", "who"]
    assert result["n"].to_list() == [-1.5, 2.0]
    (_, first, _) = csv.reader(io.StringIO(result.write_csv()))
    assert first == ["-1.5", "true", "'=1"]
