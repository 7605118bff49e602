"""The folder of `anml value`: values, multipliers for settlement, and the record of how they were made."""

from pathlib import Path

from anml.app.audit.output import as_json, check_folder, write_frame
from anml.app.value.value import Valued

RECORD = "value.json"


def write_value(folder: Path, valued: Valued) -> list[str]:
    """Write values.csv, multipliers.csv and value.json; values replace values, and nothing else."""
    check_folder(folder, RECORD)
    write_frame(valued.contributors, folder / "values.csv")
    write_frame(valued.multipliers(), folder / "multipliers.csv")
    (folder / RECORD).write_text(as_json(valued.record) + "\n", encoding="utf-8")
    return sorted(path.name for path in folder.iterdir() if path.is_file())
