"""Models and rows of `anml trace`, and what is refused."""

import polars as pl
import pytest

from anml.attribution.sources import model_source, read_rows
from anml.core.errors import InputError


@pytest.mark.parametrize(
    ("name", "write"), [("a.csv", "write_csv"), ("a.jsonl", "write_ndjson"), ("a.parquet", "write_parquet")]
)
def test_rows_are_read_in_each_format(tmp_path, name, write):
    frame = pl.DataFrame({"text": ["one", "two"], "author": ["ann", "bob"]})
    getattr(frame, write)(tmp_path / name)
    assert read_rows(tmp_path / name, "queries").equals(frame)


def test_rows_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "broken.jsonl").write_text("{not json")
    (tmp_path / "empty.csv").write_text("text,author\n")
    with pytest.raises(InputError, match=r"broken\.jsonl cannot be read"):
        read_rows(tmp_path / "broken.jsonl", "queries")
    with pytest.raises(InputError, match="have no rows"):
        read_rows(tmp_path / "empty.csv", "queries")


@pytest.mark.parametrize(
    ("returned", "message"),
    [("None", "must return a dict"), ("{'model': 1, 'train': 2, 'queries': 3, 'x': 4}", "returns 'x'")],
)
def test_what_a_function_must_return(tmp_path, monkeypatch, returned, message):
    name = f"given_{len(message)}"
    (tmp_path / f"{name}.py").write_text(f"def load(rows, queries):\n    return {returned}\n")
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"text": ["a"]})
    with pytest.raises(InputError, match=message):
        model_source(f"{name}:load", frame, frame, None, None)
