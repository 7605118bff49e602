"""Excel workbooks, written here part by part so that nothing but the reader is tested."""

import io
import sys
import zipfile

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.intake.source import read_source
from anml.intake.tables import read_table

OFFICE = "http://schemas.openxmlformats.org"
MAIN, RELATED = f"{OFFICE}/spreadsheetml/2006/main", f"{OFFICE}/officeDocument/2006/relationships"
PACKAGE = f"{OFFICE}/package/2006"
TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def cell(place, value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'


def workbook(*sheets):
    """An .xlsx file of sheets, each a list of rows."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        parts = "".join(
            f'<Override PartName="/xl/s{n}.xml" ContentType="{TYPES}.worksheet+xml"/>'
            for n in range(len(sheets))
        )
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{TYPES}.sheet.main+xml"/>{parts}</Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" '
            f'Type="{RELATED}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        names = "".join(f'<sheet name="S{n}" sheetId="{n + 1}" r:id="r{n}"/>' for n in range(len(sheets)))
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{RELATED}"><sheets>{names}</sheets></workbook>',
        )
        links = "".join(
            f'<Relationship Id="r{n}" Type="{RELATED}/worksheet" Target="s{n}.xml"/>'
            for n in range(len(sheets))
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>',
        )
        for n, rows in enumerate(sheets):
            body = "".join(
                f'<row r="{i}">' + "".join(cell(f"{chr(65 + j)}{i}", v) for j, v in enumerate(row)) + "</row>"
                for i, row in enumerate(rows, 1)
            )
            file.writestr(
                f"xl/s{n}.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>'
            )
    return packed.getvalue()


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


@pytest.mark.parametrize(
    ("data", "said"),
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
def test_what_cannot_be_read_is_one_sentence(data, said, tmp_path):
    with pytest.raises(AnmlError) as refused:
        read(tmp_path, data)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_the_reader_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(AnmlError, match=r"pip install 'attribution-native-ml\[excel\]'"):
        read(tmp_path, workbook(ROWS))


@pytest.mark.parametrize("text", ["a,label\n", "a,label", "a;label\r\n", "\ufeffa,label\n"])
def test_a_csv_with_a_header_and_no_rows_is_said_to_have_no_rows(text, tmp_path):
    with pytest.raises(AnmlError, match="has a header but no rows; at least one row is needed"):
        read(tmp_path, text.encode(), "table.csv")
