"""Excel workbooks, written part by part: a test needs no writer of Excel."""

import io
import zipfile

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
