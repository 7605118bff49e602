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
from intake_tables import mixed_table
from polars.testing import assert_frame_equal

from anml.core.errors import InputError
from anml.intake.tables import read_table, to_native

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
    assert table.native is None
    assert table.frame.rows() == [(1, "x"), (2, None)]
    assert table.sha256 == hashlib.sha256(CSV).hexdigest()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv", CSV),
        ("t.CSV", CSV),
        ("t.csv", b"\xef\xbb\xbf" + CSV),
        ("t.csv", CSV.replace(b"\n", b"\r\n")),
        ("t.csv", CSV.replace(b"\n", b"\r")),
        ("t.csv", CSV.replace(b",", b";")),
        ("t.csv", CSV.replace(b",", b", ")),
        ("t.csv", b"\n" + CSV),
        ("t.csv", CSV.rstrip()),
        ("t.csv", b'"a",b\n1,"x"\n"2",""\n'),
        ("t.tsv", CSV.replace(b",", b"\t")),
        ("t.csv.gz", gzip.compress(CSV, mtime=0)),
        ("t.csv", gzip.compress(CSV, mtime=0)),
        ("t.tsv.gz", gzip.compress(CSV.replace(b",", b"\t"), mtime=0)),
    ],
)
def test_every_way_to_write_the_same_csv(tmp_path: Path, name: str, data: bytes) -> None:
    frame = read_table(str(written(tmp_path, name, data))).frame
    assert frame.columns == ["a", "b"]
    assert frame.rows() == [(1, "x"), (2, None)]


def test_spellings_of_missing(tmp_path: Path) -> None:
    rows = "".join(
        f"{spelling},1\n" for spelling in ("7", "", "NA", "N/A", "nan", "NaN", "NULL", "null", "?")
    )
    frame = read_table(written(tmp_path, "t.csv", b"a,b\n" + rows.encode())).frame
    assert frame["a"].dtype == pl.Int64
    assert frame["a"].null_count() == 8


def test_types_that_only_the_end_of_a_long_file_tells(tmp_path: Path) -> None:
    data = b"a,b,c,d\n" + b"NA,1,1,x\n" * 10_001 + b"5,1.5,oh,y\n"
    frame = read_table(written(tmp_path, "t.csv", data)).frame
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.String, pl.String]
    assert frame.row(-1) == (5, 1.5, "oh", "y")


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


@pytest.mark.parametrize(("name", "data", "said"), BAD_FILES)
def test_bad_files_get_one_sentence_that_names_them(
    tmp_path: Path, name: str, data: bytes, said: str
) -> None:
    path = written(tmp_path, name, data)
    with pytest.raises(InputError, match=said) as raised:
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
    for source, table in zip(tables, read, strict=True):
        assert table.name == "frame"
        assert table.native is source
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


def test_polars_kinds_become_plain() -> None:
    frame = pl.DataFrame(
        {
            "small": pl.Series([1, 2], dtype=pl.UInt8),
            "huge": pl.Series([2**64 - 1, 1], dtype=pl.UInt64),
            "price": pl.Series(["1.50", "2.25"]).cast(pl.Decimal(10, 2)),
            "nan": [float("nan"), 1.0],
            "level": pl.Series(["u", ""], dtype=pl.Categorical),
            "wait": pl.Series([1500, None], dtype=pl.Duration("ms")),
            "none": [None, None],
            "list": [[1], [2]],
        }
    )
    read = read_table(frame).frame
    assert read.row(0)[:7] == (1, float(2**64), 1.5, None, "u", 1.5, None)
    assert read["level"].to_list() == ["u", None]
    assert read.dtypes[:7] == [pl.Int64, *[pl.Float64] * 3, pl.String, pl.Float64, pl.String]


@pytest.mark.parametrize("change", ["value", "name", "order", "gap"])
def test_any_change_changes_the_hash(change: str) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["xy", "z"]})
    changed = {
        "value": frame.with_columns(b=pl.Series(["x", "yz"])),
        "name": frame.rename({"a": "c"}),
        "order": frame.reverse(),
        "gap": frame.with_columns(a=pl.Series([None, 2])),
    }[change]
    assert read_table(frame).sha256 != read_table(changed).sha256
    # What lies under a missing value, and how a column is cut in chunks, does not count.
    assert read_table(pl.concat([frame[:1], frame[1:]])).sha256 == read_table(frame).sha256


@pytest.mark.parametrize(
    ("source", "said"),
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
def test_bad_frames(source: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_table(source)


def test_results_come_back_in_the_users_kind() -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    assert isinstance(to_native(frame, pd.DataFrame({"x": [1]})), pd.DataFrame)
    assert isinstance(to_native(frame, pa.table({"x": [1]})), pa.Table)
    for like in (None, frame, frame.lazy(), "t.csv"):
        assert to_native(frame, like) is frame


def test_pandas_without_pyarrow() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import numpy as np, pandas as pd, polars as pl
from anml.intake.tables import read_table, to_native
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
    said = "'changed.csv'"
    try:
        assert read_table(path).frame.height > 0
    except InputError as error:
        said = str(error)
    assert "'changed.csv'" in said
    assert "\n" not in said


def test_a_comma_is_a_decimal_sign_where_semicolons_separate(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size;code;label\n1,5;1,1;a\n-2,25e3;1,10;b\n;1,2;c\n7;1,3;d\n", encoding="utf-8")
    frame = read_table(path).frame
    assert frame["size"].to_list() == [1.5, -2250.0, None, 7.0]
    # As numbers 1,1 and 1,10 would be the same: those are names.
    assert frame["code"].to_list() == ["1,1", "1,10", "1,2", "1,3"]
    path.write_text('size,label\n"1,5",a\n"2,5",b\n', encoding="utf-8")
    assert read_table(path).frame["size"].to_list() == ["1,5", "2,5"]


@pytest.mark.parametrize("first", [2**63 + 5, 2**64 + 5, 10**30], ids=["unsigned", "65 bits", "30 digits"])
def test_identifiers_too_large_for_a_number_stay_different(first, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"who,label\n{first},a\n{first + 1},b\n")
    assert read_table(path).frame["who"].to_list() == [str(first), str(first + 1)]
    made = pl.Series("who", [first, first + 1], dtype=pl.Int128).to_frame()
    assert read_table(made).frame["who"].to_list() == [str(first), str(first + 1)]
