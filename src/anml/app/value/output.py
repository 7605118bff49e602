"""The folder of `anml value`: values, multipliers for settlement, and the record of how they were made."""

from pathlib import Path

from anml.app.audit.output import as_json, check_folder, write_frame
from anml.app.value.store import CACHE
from anml.app.value.value import Valued


def write_value(folder: Path, valued: Valued) -> list[str]:
    """Write values.csv, multipliers.csv and value.json beside the coalitions."""
    folder.mkdir(parents=True, exist_ok=True)
    write_frame(valued.contributors, folder / "values.csv")
    write_frame(valued.multipliers(), folder / "multipliers.csv")
    (folder / "value.json").write_text(as_json(valued.record) + "\n", encoding="utf-8")
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def check_value_folder(folder: Path) -> None:
    """Say before the work that a folder cannot be used: values replace values, and nothing else."""
    if folder.is_dir() and (folder / CACHE).is_file():
        return
    check_folder(folder, "value.json")
