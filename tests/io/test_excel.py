"""Excel workbooks, written here part by part so that nothing but the reader is tested."""

import sys

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.io.source import read_source
from anml.io.tables import read_table
from workbooks import workbook

ROWS = [
    ["size", "weight", "color", "sure", "label"],
    [1, 1.5, "red", True, "a"],
    [2, None, "NA", False, "b"],
    [3, 2.5, " blue ", True, "a"],
]


def read(tmp_path, data, name="table.xlsx"):
    (tmp_path / name).write_bytes(data)
    return read_table(tmp_path / name).frame


def test_the_first_sheet_with_numbers_gaps_words_and_truth(tmp_path):
    frame = read(tmp_path, workbook(ROWS, [["other"], [1]]))
    assert frame.schema == {
        "size": pl.Int64, "weight": pl.Float64, "color": pl.String, "sure": pl.Boolean, "label": pl.String
    }  # fmt: skip
    assert frame["color"].to_list() == ["red", None, "blue"]
    assert frame["weight"].to_list() == [1.5, None, 2.5]
    assert frame["sure"].to_list() == [True, False, True]


def test_a_workbook_is_a_source_like_any_table(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(workbook(ROWS))
    assert read_source(tmp_path / "t.xlsx", "auto", {}).format == "table"


def test_columns_without_a_name_and_empty_rows_are_passed_over(tmp_path):
    frame = read(tmp_path, workbook([["a", None, "b"], [1, "note", "x"], [], [2, None, "y"]]))
    assert frame.columns == ["a", "b"]
    assert frame["a"].to_list() == [1, 2]


def test_the_table_is_read_whatever_sheet_and_row_it_begins_in(tmp_path):
    title = [["Labels of week 12"], [None], ["made by", "Ann"], [], *ROWS]
    plain = read(tmp_path, workbook(ROWS))
    assert read(tmp_path, workbook(title)).equals(plain)
    assert read(tmp_path, workbook([["About"], ["Labels of week 12"]], title)).equals(plain)
    assert read(tmp_path, workbook([["size", None, "label"], *([1, 2.5, "a"],) * 4])).columns == [
        "size", "column 2", "label"
    ]  # fmt: skip


def test_two_tables_in_one_workbook_are_refused(tmp_path):
    with pytest.raises(AnmlError, match=r"tables in several sheets: 'S0' \(3 rows\), 'S1' \(3 rows\)"):
        read(tmp_path, workbook(ROWS, ROWS))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is not an Excel workbook; save it as .xlsx or as CSV"),
        (b"PK\x03\x04 and nothing else", "is a damaged Excel workbook"),
        (workbook(ROWS)[:600], "is a damaged Excel workbook"),
        (workbook([["a", "a"], [1, 2]]), "has column names that occur more than once: 'a'"),
        (workbook([["a", "b"]]), "has a header but no rows; at least one row is needed"),
        (workbook([]), "has no header line"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(data, message, tmp_path):
    with pytest.raises(AnmlError) as refused:
        read(tmp_path, data)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_the_reader_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(AnmlError, match=r"pip install 'attribution-native-ml\[excel\]'"):
        read(tmp_path, workbook(ROWS))


@pytest.mark.parametrize("text", ["a,label\n", "a,label", "a;label\r\n", "\ufeffa,label\n"])
def test_a_csv_with_a_header_and_no_rows_is_said_to_have_no_rows(text, tmp_path):
    with pytest.raises(AnmlError, match="has a header but no rows; at least one row is needed"):
        read(tmp_path, text.encode(), "table.csv")
