"""A table in Parquet files cut into slices: every row once, in order, whatever the cut."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.engines.slices import MAX_SLICE_ROWS, as_text_keys, slices_of
from anml.io.tables import parquet_files

pytestmark = pytest.mark.slow


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
    rows = [row for each in found for row in each.read().frame["x"].to_list()]
    assert rows == list(range(sum(sizes)))
    assert all(1 <= each.rows <= most for each in found)
    assert [each.number for each in found] == list(range(len(found)))
    assert len({each.name for each in found}) == len(found)


def test_some_columns_are_read_alone(tmp_path):
    (part,) = slices_of(written(tmp_path, [3]))
    assert part.read(["y"]).frame.columns == ["y"]
    assert MAX_SLICE_ROWS > 3


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


def test_a_part_of_another_type_is_named_with_the_column(tmp_path):
    files = written(tmp_path, [2])
    other = tmp_path / "other.parquet"
    pl.DataFrame({"x": ["1"], "y": ["a"]}).write_parquet(other)
    with pytest.raises(
        InputError, match=r"other.parquet holds String in column 'x', where 00.parquet holds Int64"
    ):
        slices_of([*files, other])
    # Narrower numbers, and a column without a single value, are no other type.
    pl.DataFrame({"x": pl.Series([1], dtype=pl.Int8), "y": [None]}).write_parquet(other)
    assert [each.read().frame["x"].to_list() for each in slices_of([*files, other])] == [[0, 1], [1]]


def test_parts_are_alike_whatever_the_order_of_columns_and_which_of_them_are_empty(tmp_path):
    files = [tmp_path / f"{at}.parquet" for at in range(4)]
    pl.DataFrame({"x": [None, None], "y": ["a", "b"]}).write_parquet(files[0])
    pl.DataFrame({"y": ["c"], "x": [0.5]}).write_parquet(files[1])
    pl.DataFrame({"x": [], "y": []}, schema={"x": pl.Float64, "y": pl.String}).write_parquet(files[2])
    pl.DataFrame({"y": [None], "x": [1.5]}).write_parquet(files[3])
    frames = [each.read().frame for each in slices_of(files)]
    assert pl.concat(frames).to_dict(as_series=False) == {
        "x": [None, None, 0.5, 1.5], "y": ["a", "b", "c", None],
    }  # fmt: skip
    pl.DataFrame({"x": ["1"], "y": ["a"]}).write_parquet(files[3])
    with pytest.raises(InputError, match=r"3\.parquet holds String in column 'x'"):
        slices_of(files)


def test_a_damaged_page_is_named(tmp_path):
    """The end of the file, which says what is in it, is whole; what it speaks of is not."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"x": range(5_000), "y": [str(at) for at in range(5_000)]}).write_parquet(path)
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    (part,) = slices_of([path])
    with pytest.raises(InputError, match=r"a.parquet is damaged, or changed while it was read"):
        part.read()


def test_numbers_that_are_not_whole_name_nothing(tmp_path):
    """They would be written in one way in this slice, and in another in the next."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"x": [1.0, 2.5], "y": [1.0, None]}).write_parquet(path)
    (part,) = slices_of([path])
    frame = part.read().frame
    assert as_text_keys(frame["y"], part).to_list() == ["1", None]
    with pytest.raises(InputError, match=r"column 'x' of a.parquet holds numbers that are not whole"):
        as_text_keys(frame["x"], part)
