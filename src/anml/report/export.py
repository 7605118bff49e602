"""A run in a standard format, written to files."""

import io
from pathlib import Path

from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.files import check_writable, write_file
from anml.pipeline.write import as_json
from anml.report.datasheet import datasheet
from anml.report.linked_data import LABELS_FILE, croissant, prov_document
from anml.report.run_export import read_export

CROISSANT, DATASHEET, PROV = FORMATS = ("croissant", "datasheet", "prov")
RECORD = "croissant.json"


def write_export(
    folder: Path, to: str, out: Path, *, names: bool = False, licence: str | None = None,
    data: Path | None = None,
) -> list[Path]:  # fmt: skip
    """Write a run in a format: a folder for Croissant, else a file; return the files."""
    one_of("to", to, FORMATS)
    exported = read_export(folder, names=names, licence=licence, data=data)
    if to != CROISSANT:
        text = datasheet(exported) if to == DATASHEET else as_json(prov_document(exported)) + "\n"
        write_file(out, text)
        return [out]
    check_writable(out / RECORD)
    table = io.BytesIO()
    exported.labels.write_parquet(table)
    write_file(out / LABELS_FILE, table.getvalue())
    write_file(out / RECORD, as_json(croissant(exported, sha256(table.getvalue()))) + "\n")
    return [out / RECORD, out / LABELS_FILE]
