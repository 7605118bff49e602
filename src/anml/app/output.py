"""The output folder of a run: all of its files appear, or none."""

import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from anml.app.audit import Audited, run_record
from anml.core.errors import InputError

RECORD = "run.json"


def check_folder(folder: Path) -> None:
    """Say before the work begins that a folder cannot be written; runs replace runs, and nothing else."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"the output {folder} is a file, not a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        raise InputError(f"the output folder {folder} holds other files and no earlier run; choose a new one")


def write_run(folder: Path, result: Audited, command: str, extra: Callable[[Path], None]) -> list[str]:
    """Write a run's files beside `folder`, then put them in place in one step.

    `extra` writes what is not the audit's own into the folder it is given: the report, a model.
    """
    check_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        result.samples.write_parquet(draft / "samples.parquet")
        safe_for_spreadsheets(result.contributors).write_csv(draft / "contributors.csv")
        extra(draft)
        record = json.dumps(run_record(result, command), indent=2, ensure_ascii=False, allow_nan=False)
        (draft / RECORD).write_text(record + "\n", encoding="utf-8")
        draft.chmod(0o755)
        _replace(draft, folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _replace(draft: Path, folder: Path) -> None:
    if not folder.exists():
        draft.rename(folder)
        return
    # A folder with files in it cannot be replaced in one step: the old one steps aside first.
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
    folder.rename(aside / "run")
    try:
        draft.rename(folder)
    except BaseException:
        with suppress(OSError):
            (aside / "run").rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def safe_for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    """Put a quote before text that a spreadsheet would run as a formula.

    Examples
    --------
    >>> safe_for_spreadsheets(pl.DataFrame({"who": ["=1+1", "ann"]}))["who"].to_list()
    ["'=1+1", 'ann']
    """
    risky = pl.selectors.string().str.contains(r"^[=+\-@\t\r\x00]")
    text = pl.selectors.string()
    return frame.with_columns(pl.when(risky).then(pl.lit("'") + text).otherwise(text).name.keep())


def as_json(value: dict[str, Any]) -> str:
    """One JSON object for programs."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
