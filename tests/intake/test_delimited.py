"""CSV and TSV: bytes to a frame, or one sentence on why not."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from anml.intake.tables import read_table

CSV = b"a,b\n1,x\n2,\n"


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


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


def test_a_comma_is_a_decimal_sign_where_semicolons_separate(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size;code;label\n1,5;1,1;a\n-2,25e3;1,10;b\n;1,2;c\n7;1,3;d\n", encoding="utf-8")
    frame = read_table(path).frame
    assert frame["size"].to_list() == [1.5, -2250.0, None, 7.0]
    # As numbers 1,1 and 1,10 would be the same: those are names.
    assert frame["code"].to_list() == ["1,1", "1,10", "1,2", "1,3"]
    path.write_text('size,label\n"1,5",a\n"2,5",b\n', encoding="utf-8")
    assert read_table(path).frame["size"].to_list() == ["1,5", "2,5"]
