"""A table in any form becomes one frame with a name and a hash."""

import gzip
import hashlib
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from anml.core.errors import InputError
from anml.io.tables import read_parts, read_table
from intake_tables import mixed_table

CSV = b"a,b\n1,x\n2,\n"


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def parquet_bytes() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"a": range(1000)}).write_parquet(buffer)
    return buffer.getvalue()


def test_csv_by_hand(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "t.csv", CSV))
    assert table.name == "t.csv"
    assert table.frame.rows() == [(1, "x"), (2, None)]
    assert table.sha256 == hashlib.sha256(CSV).hexdigest()


def test_parquet(tmp_path: Path) -> None:
    frame = mixed_table()
    for name in ("t.parquet", "t.pq"):
        frame.write_parquet(tmp_path / name)
        assert_frame_equal(read_table(tmp_path / name).frame, frame)


BAD_FILES = [
    ("t.csv", b"", "is empty"),
    ("t.csv", b" \n\n", "is empty"),
    ("t.csv", b"a,b\n", "header but no rows"),
    ("t.csv", b"a,b", "header but no rows"),
    ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3 has 3 fields where the header has 2"),
    ("t.csv", b'a,b\n"1,2\n', "not well-formed CSV"),
    ("t.csv", "a,b\né,2\n".encode("latin-1"), "not UTF-8 text .byte 0xe9 at offset 4"),
    ("t.csv", "a,b\nx,2\n".encode("utf-16"), "not UTF-8"),
    ("t.csv", b"a,b\nx\x00,2\n", "zero bytes"),
    ("t.csv", b"a,b,a\n1,2,3\n", "more than once: 'a'"),
    ("t.csv", b"a, a\n1,2\n", "more than once: 'a'"),
    ("t.csv.gz", gzip.compress(CSV, mtime=0)[:20], "damaged or truncated gzip"),
    ("t.csv.gz", gzip.compress(b"", mtime=0)[:-3] + b"abc", "damaged or truncated gzip"),
    ("t.parquet", b"", "is empty"),
    ("t.parquet", b"hello", "is not a Parquet file"),
    ("t.parquet", parquet_bytes()[:500], "truncated Parquet"),
    ("t.parquet", parquet_bytes()[:40] + b"x" * 20 + parquet_bytes()[60:], "damaged Parquet"),
    ("t.ods", b"PK", "unknown ending; allowed: .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .pq"),
    ("t", b"a", "unknown ending"),
]


@pytest.mark.parametrize(("name", "data", "message"), BAD_FILES)
def test_bad_files_get_one_sentence_that_names_them(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    path = written(tmp_path, name, data)
    with pytest.raises(InputError, match=message) as raised:
        read_table(path, "test data")
    assert str(raised.value).startswith(f"test data file '{name}'")
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == data


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"data file 'no\.csv' does not exist in folder"):
        read_table(tmp_path / "no.csv")
    for name in ("d.csv", "d"):
        (tmp_path / name).mkdir()
        with pytest.raises(InputError, match=f"data file '{name}' is a folder"):
            read_table(tmp_path / name)


def test_every_library_gives_the_same_table() -> None:
    frame = mixed_table()
    tables = [
        frame,
        frame.lazy(),
        frame.to_arrow(),
        frame.to_pandas(),
        pa.Table.from_pandas(frame.to_pandas()),
    ]
    read = [read_table(table) for table in tables]
    assert len({table.sha256 for table in read}) == 1
    for table in read:
        assert table.name == "frame"
        assert_frame_equal(table.frame, frame)


def test_pandas_columns_of_every_sort() -> None:
    frame = pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "gap": [1.0, np.nan, 3.0],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "mixed": [1, "x", None],
            "level": pd.Categorical(["u", None, "v"]),
            "time": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "zoned": pd.to_datetime(["2024-01-01", None, "2024-07-01"]).tz_localize("Europe/Paris"),
            "month": pd.period_range("2024-01", periods=3, freq="M"),
            "half": np.array([1, 2, 3], dtype=np.float16),
        },
        index=[7, 7, 7],
    )
    read = read_table(frame).frame
    assert read["gap"].to_list() == [1.0, None, 3.0]
    assert read["nullable"].to_list() == [1, None, 3]
    assert read["mixed"].to_list() == ["1", "x", None]
    assert read["level"].to_list() == ["u", None, "v"]
    assert read["month"].to_list() == ["2024-01", "2024-02", "2024-03"]
    assert str(read["zoned"][2]) == "2024-06-30 22:00:00+00:00"
    assert read["half"].to_list() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than once"),
        (pa.table([[1], [2]], names=["a", "a"]), "more than once"),
        (pl.DataFrame({"a": []}), "no rows"),
        (pl.DataFrame(), "no columns"),
        (pd.DataFrame(), "no columns"),
        (7, "must be a path or a pandas, polars or Arrow table, got int"),
        (np.zeros((2, 2)), "got ndarray"),
        (None, "got NoneType"),
        ({"a": [1]}, "got dict"),
    ],
)
def test_bad_frames(source: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(source)


def test_pandas_without_pyarrow() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import numpy as np, pandas as pd, polars as pl
from anml.io.tables import read_table
from anml.api import to_native
frame = pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan], "c": ["x", None], "d": [True, False],
                      "e": pd.to_datetime(["2024-01-01", None])})
read = read_table(frame).frame
assert read.rows()[0][:4] == (1, 0.5, "x", True), read
assert read.rows()[1] == (2, None, None, False, None), read
assert str(read["e"][0]).startswith("2024-01-01"), read
back = to_native(read, frame)
assert isinstance(back, pd.DataFrame) and back["c"][0] == "x", back
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@given(st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=3)), min_size=1, max_size=5))
def test_a_file_changed_at_random_is_read_or_refused_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, bytes]]
) -> None:
    data = mixed_table(20).write_csv().encode()
    for place, new in changes:
        at = place % len(data)
        data = data[:at] + new + data[at + len(new) // 2 :]
    path = written(tmp_path_factory.getbasetemp(), "changed.csv", data)
    message = "'changed.csv'"
    try:
        assert read_table(path).frame.height > 0
    except InputError as error:
        message = str(error)
    assert "'changed.csv'" in message
    assert "\n" not in message


def test_parts_make_one_table_whatever_the_order_of_columns_and_which_of_them_are_empty(tmp_path):
    pl.DataFrame({"x": [None], "y": ["a"]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"y": ["b"], "x": [0.5]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame(schema={"x": pl.Float64, "y": pl.String}).write_parquet(tmp_path / "2.parquet")
    assert read_parts(tmp_path).frame.to_dict(as_series=False) == {"x": [None, 0.5], "y": ["a", "b"]}
    pl.DataFrame({"y": ["b"], "x": [0.5], "z": [1]}).write_parquet(tmp_path / "3.parquet")
    with pytest.raises(InputError, match="have different columns"):
        read_parts(tmp_path)
    for place in tmp_path.glob("[013].parquet"):
        place.unlink()
    with pytest.raises(InputError, match="has a header but no rows"):
        read_parts(tmp_path)
