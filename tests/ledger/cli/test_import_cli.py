"""`anml-ledger import`: what came in, dry runs, files with v and r, and exports that are none."""

from pathlib import Path

import polars as pl
import pytest

from anml.io.formats import FORMATS

DATA = Path(__file__).parents[2] / "data"


def take(books, *more):
    return books.json("import", DATA / "crowd_long.csv", "--format", "crowd-long", "--by", "ann", *more)


def test_what_came_in_is_counted_and_the_same_file_counts_once(books):
    first = take(books)
    size = books.size()
    assert (first["rows"], first["format"]) == (6, "crowd-long")
    again = take(books)
    assert (again["new_evidence"], again["new_scores"]) == (0, 0)
    assert again["contributors"] == first["contributors"]
    assert books.size() == size


def test_a_dry_run_leaves_the_ledger_as_it_is(books, tmp_path):
    size = books.size()
    take(books, "--dry-run")
    assert books.size() == size


def test_rows_are_written_with_v_and_r(books, tmp_path):
    take(books, "--out", tmp_path / "rows.parquet")
    rows = pl.read_parquet(tmp_path / "rows.parquet")
    assert rows.height == 6
    assert {"verification", "reputation", "level", "evidence"} <= set(rows.columns)
    assert not {"w1", "w2", "w3"} & set(rows["contributor"])


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_not_of_its_format_is_one_sentence(books, tmp_path, name):
    path = tmp_path / "export.json"
    path.write_text('{"odd": 1}')
    said = books.refused("import", path, "--format", name, "--by", "ann")
    assert said


def test_an_unknown_format_names_those_that_are_allowed(books):
    said = books.refused("import", DATA / "crowd_long.csv", "--format", "excel", "--by", "ann")
    assert "unknown format 'excel'" in said
    assert all(name in said for name in FORMATS)
