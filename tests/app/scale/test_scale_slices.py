"""A table in Parquet files cut into slices: every row once, in order, whatever the cut."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.app.scale.slices import MOST_ROWS, parquet_files, slices_of
from anml.core.errors import InputError


def written(folder, sizes) -> list:
    start, files = 0, []
    for place, rows in enumerate(sizes):
        path = folder / f"{place:02d}.parquet"
        pl.DataFrame(
            {"x": range(start, start + rows), "y": ["a"] * rows}, schema={"x": pl.Int64, "y": pl.String}
        ).write_parquet(path)
        start += rows
        files.append(path)
    return files


@settings(max_examples=20)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=4).filter(any), st.integers(1, 9))
def test_every_row_is_in_one_slice_in_order(tmp_path_factory, sizes, most):
    files = written(tmp_path_factory.mktemp("s"), sizes)
    found = slices_of(files, most)
    rows = [row for each in found for row in each.read()["x"].to_list()]
    assert rows == list(range(sum(sizes)))
    assert all(1 <= each.rows <= most for each in found)
    assert [each.number for each in found] == list(range(len(found)))
    assert len({each.name for each in found}) == len(found)


def test_some_columns_are_read_alone(tmp_path):
    (part,) = slices_of(written(tmp_path, [3]))
    assert part.read(["y"]).columns == ["y"]
    assert MOST_ROWS > 3


def test_a_file_that_changed_while_it_was_read_is_named(tmp_path):
    files = written(tmp_path, [5])
    (part,) = slices_of(files)
    pl.DataFrame({"x": [1], "y": ["a"]}).write_parquet(files[0])
    with pytest.raises(InputError, match=r"00.parquet changed while it was read: 1 rows"):
        part.read()


def test_files_of_other_columns_or_no_parquet_are_named(tmp_path):
    files = written(tmp_path, [2])
    other = tmp_path / "other.parquet"
    pl.DataFrame({"z": [1]}).write_parquet(other)
    with pytest.raises(InputError, match=r"other.parquet has other columns than 00.parquet"):
        slices_of([*files, other])
    other.write_bytes(b"rubbish")
    with pytest.raises(InputError, match=r"other.parquet is no Parquet file, or is damaged"):
        slices_of([*files, other])


def test_files_are_found_in_order_and_hidden_ones_are_not(tmp_path):
    for name in (
        "b.parquet",
        "a.parquet",
        ".hidden.parquet",
        "_draft.parquet",
        "notes.txt",
        "deep/c.parquet",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = [path.relative_to(tmp_path).as_posix() for path in parquet_files(tmp_path)]
    assert found == ["a.parquet", "b.parquet", "deep/c.parquet"]
    assert parquet_files(tmp_path / "a.parquet") == [tmp_path / "a.parquet"]
    assert parquet_files(tmp_path / "notes.txt") == parquet_files(tmp_path / "none.parquet") == []
