"""CSV and TSV: bytes to a frame, or one sentence on why not."""

import csv
import gzip
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.delimited import MISSING, check_names, header_separator, read_delimited
from anml.io.tables import read_table

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


def read(data: bytes, separator: str = ",") -> pl.DataFrame:
    return read_delimited(data, "data file 't.csv'", separator)


class TestRoundTrip:
    @given(st.lists(st.tuples(st.integers(), st.integers()), min_size=1, max_size=8))
    @settings(max_examples=30)
    def test_whole_numbers_read_back(self, rows):
        rows = [(a % 2**60, b % 2**60) for a, b in rows]
        data = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rows)
        assert read(data.encode()).rows() == rows

    @given(st.lists(st.text('abcxyz ,;"\n', min_size=1, max_size=8), min_size=1, max_size=6))
    @settings(max_examples=30)
    def test_quoted_text_reads_back_but_for_blanks_around_it(self, texts):
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([["n", "text"], *([at, text] for at, text in enumerate(texts))])
        result = read(buffer.getvalue().encode())["text"].to_list()
        assert [value or "" for value in result] == [text.strip() for text in texts]

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_any_usual_separator_is_seen_in_the_header(self, separator):
        data = "a,b,c\n1,x,2.5\n".replace(",", separator).encode()
        assert read(data).rows() == [(1, "x", 2.5)]

    @pytest.mark.parametrize("gap", MISSING)
    def test_every_spelling_of_no_value(self, gap):
        result = read(f"a,b\n{gap},x\n1,y\n".encode())
        assert result["a"].to_list() == [None, 1]

    def test_blanks_around_numbers_do_not_make_them_text(self):
        result = read(b"a,b\n 1 , 2.5\n 3 , ?\n")
        assert result.dtypes == [pl.Int64, pl.Float64]
        assert result["b"].to_list() == [2.5, None]

    def test_names_lose_the_blanks_around_them(self):
        assert read(b" a , b\n1,2\n").columns == ["a", "b"]

    def test_a_name_may_hold_a_line_break_or_be_empty(self):
        assert read(b'"a\nb",c\n1,2\n').columns == ["a\nb", "c"]
        assert read(b",c\n1,2\n").columns == ["", "c"]


@pytest.mark.parametrize(
    ("header", "given_", "expected"),
    [("a,b;c", ",", ","), ("a;b", ",", ";"), ("a\tb", ",", "\t"), ("a", "\t", "\t"), ("a|b", ",", "|")],
)
def test_the_separator_of_the_header(header, given_, expected):
    assert header_separator(header, given_) == expected


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty; a header line and at least one row are needed"),
        (b"a,b\n1,\xe9\n", r"not UTF-8 text \(byte 0xe9 at offset 6\)"),
        (b"a\n\x00\n", "zero bytes"),
        (b"a,b,a,b,b\n1,2,3,4,5\n", "more than once: 'a', 'b'"),
        (b"a,b\n1,2,3\n", "line 2 has 3 fields where the header has 2"),
        (b"\x1f\x8bnothing", "damaged or truncated gzip"),
    ],
)
def test_what_is_wrong_is_one_sentence_that_names_the_file(data, says):
    with pytest.raises(InputError, match=says) as raised:
        read(data)
    assert str(raised.value).startswith("data file 't.csv'")


def test_many_names_that_occur_twice_are_not_all_listed():
    names = [f"c{at}" for at in range(20)] * 2
    with pytest.raises(InputError) as raised:
        check_names(names, "the frame")
    assert str(raised.value).count("'c") == 5


def test_names_are_compared_with_their_equals_alone():
    """A table of a hundred thousand columns would take minutes otherwise."""
    compared = []

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str.__eq__(self, other)

    check_names([Name(f"c{at}") for at in range(1000)], "the frame")
    assert len(compared) <= 1000


class TestLeadingZeros:
    """007 and 7 are two people: whole numbers with needless zeros are names."""

    def test_names_with_zeros_stay_different(self):
        result = read_delimited(b"who,n\n007,1\n7,2\n010,3\n", "x", ",")
        assert result["who"].to_list() == ["007", "7", "010"]
        assert result["n"].to_list() == [1, 2, 3]

    @pytest.mark.parametrize("value", ["0", "10", "100", "2007", "0.5", "-3", "-0.07"])
    def test_plain_numbers_stay_numbers(self, value):
        result = read_delimited(f"who,n\n007,{value}\n7,2\n".encode(), "x", ",")
        assert result["n"].dtype.is_numeric()

    def test_a_zero_that_comes_late_counts_too(self):
        rows = "".join(f"{n}\n" for n in range(1, 20_000))
        assert read_delimited(f"who\n{rows}007\n".encode(), "x", ",")["who"].dtype == pl.String


def test_german_numbers() -> None:
    data = b"size;price;label\n1.234,5;2.500;a\n17;900;b\n3,25;1.250.000;a\n"
    frame = read_delimited(data, "x", ";")
    assert frame["size"].to_list() == [1234.5, 17.0, 3.25]
    assert frame["price"].to_list() == [2500, 900, 1250000]
    plain = read_delimited(b"size;ip\n1.234;1.2.3\n17.5;4.5.6\n", "x", ";")
    assert plain["size"].to_list() == [1.234, 17.5]
