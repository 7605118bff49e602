"""Write the output folder of a run: all of its files, or none."""

import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from anml.core.canonical import sha256
from anml.core.errors import InputError, os_error_message
from anml.core.files import write_file
from anml.io.spreadsheets import check_text, safe_for_spreadsheets
from anml.pipeline.dtypes import restore_types

if TYPE_CHECKING:
    from anml.pipeline.result import AuditResult

RUN_FILE, CONSENSUS_FILE = "run.json", "consensus.parquet"
# Answers of `anml review`, which no later run may delete.
REVIEW_FILE = "review.jsonl"
# File suffixes that are rejected as folder names.
FILES = (".html", ".htm", ".csv", ".xlsx", ".json", ".parquet", ".pdf")
# Files whose hash is stored in run.json.
HASHED = ("samples.parquet", "samples/part-*.parquet", "contributors.csv")


def check_folder(folder: Path, record: str = RUN_FILE) -> None:
    """Raise if the folder cannot be written, or has files and no earlier run."""
    if folder.suffix.lower() in FILES and not folder.exists():
        raise InputError(f"the output must be a folder, got {folder}; omit the suffix {folder.suffix}")
    with os_error_message(f"the output folder {folder} cannot be made"):
        first = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    if not first.is_dir():
        raise InputError(f"the output folder {folder} cannot be made: {first} is a file")
    if (folder / REVIEW_FILE).is_file():
        raise InputError(f"the output folder {folder} has answers of a review; choose a new folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / record).is_file():
        raise InputError(f"the output folder {folder} has files and no earlier run; choose a new folder")


def write_run(
    folder: Path,
    result: "AuditResult",
    command: str,
    extra: Callable[[Path], None],
    samples: Path | None = None,
) -> list[str]:
    """Write a run to a draft folder, then swap it in; `extra` adds files, `samples` are moved."""
    check_folder(folder)
    folder, draft = folder.resolve(), None
    # Imported here, since they import the modules of an audit.
    from anml.pipeline.read import record_run_hash
    from anml.pipeline.result import run_metadata

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        if samples is None:
            restore_types(result.samples, result.kinds).write_parquet(draft / "samples.parquet")
        else:
            # An engine wrote this folder, one file per slice.
            samples.rename(draft / "samples")
        tables = {"contributors": result.contributors}
        tables |= {} if result.structured is None else result.structured.tables
        if result.consensus is not None:
            tables["consensus"] = result.consensus
            restore_types(result.consensus, result.kinds).write_parquet(draft / CONSENSUS_FILE)
        for name, table in tables.items():
            safe_for_spreadsheets(table).write_csv(draft / f"{name}.csv")
        extra(draft)
        hashed = (path for name in HASHED for path in sorted(draft.glob(name)))
        files = {path.relative_to(draft).as_posix(): sha256(path.read_bytes()) for path in hashed}
        record = run_metadata(result, command) | {"files": files}
        record["data"] = relative_to_folder(folder, record["data"])
        (draft / RUN_FILE).write_text(as_json(record) + "\n", encoding="utf-8")
        draft.chmod(0o755)
        _swap_in(draft, folder)
        record_run_hash(folder, (folder / RUN_FILE).read_bytes())
    except BaseException as error:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise InputError(f"the output folder {folder} cannot be written: {reason}") from None
        raise
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def relative_to_folder(folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Make the path of the input data relative to the run folder, so that both can be moved together."""
    if "path" not in data:
        return data
    try:
        place = Path(os.path.relpath(data["path"], folder)).as_posix()
    except ValueError:  # another drive
        return data
    return {**data, "path": place}


def _swap_in(draft: Path, folder: Path) -> None:
    if not folder.exists():
        draft.rename(folder)
        return
    # Keep the folder: it may be another process's working directory.
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
    try:
        _move_all(folder, aside)
        _move_all(draft, folder)
    except BaseException:
        _move_all(folder, draft)
        _move_all(aside, folder)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    draft.rmdir()


def _move_all(source: Path, target: Path) -> None:
    for path in list(source.iterdir()):
        path.rename(target / path.name)


def write_frame(frame: pl.DataFrame, file: Path) -> None:
    """Write a table as .csv or .parquet in one step; create its folder."""
    check_text(file)
    made = io.BytesIO()
    if file.suffix == ".parquet":
        frame.write_parquet(made)
    else:
        safe_for_spreadsheets(frame).write_csv(made)
    write_file(file, made.getvalue())


def as_json(value: dict[str, Any]) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
