"""Read the folder of a finished run; changed files are rejected."""

import io
import json
import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from anml.annotators.words import VERDICTS
from anml.core.canonical import sha256
from anml.core.errors import InputError, IntegrityError
from anml.core.files import read_bytes, write_file
from anml.core.types import SIGNALS, TASK_TYPES
from anml.io.spreadsheets import safe_for_spreadsheets
from anml.io.tables import READ_ERRORS, joint_hash
from anml.pipeline.dtypes import ROLES, to_text
from anml.settlement.allocate import UNIT
from anml.weighting.combine import DISPUTE_REASON

RECORD, SAMPLES = "run.json", "samples.parquet"
# Version of the format of run.json and of the tables beside it; only this version is read.
SCHEMA_VERSION = 2
PART = re.compile(r"samples/part-\d{6}\.parquet")
LEARNED = ("learned_reputation_n_correct", "learned_reputation_n_wrong")


class Run(NamedTuple):
    """A finished run: samples, the contents of run.json, the hash of the samples, and verdicts by name.

    `record` is the hash of run.json, which contains the hashes of the other files.
    `kinds` are the stored types of names and classes, which are text here.
    """

    samples: pl.DataFrame
    info: dict[str, Any]
    sha256: str
    verdicts: Mapping[str, str] | None = None
    record: str = ""
    kinds: Mapping[str, pl.DataType] = MappingProxyType({})

    @property
    def combine(self) -> str | None:
        """The combination rule of its recipe."""
        return (self.info.get("recipe") or {}).get("combine")

    @property
    def task(self) -> str | None:
        """The name of its task."""
        return (self.info.get("task") or {}).get("name")

    @property
    def kind(self) -> str | None:
        """The task, if it is neither classification nor regression; else None."""
        return self.task if self.task in TASK_TYPES else None


def latest_run(here: Path) -> Path:
    """The folder of the run that was written last, of those in `here` and two folders below."""
    paths = (here / RECORD, *here.glob(f"*/{RECORD}"), *here.glob(f"*/*/{RECORD}"))
    written = [(path.stat().st_mtime_ns, path) for path in paths if path.is_file()]
    if not written:
        raise InputError(f"no run folder found in {here.absolute()}; pass a run folder")
    return max(written)[1].parent


def data_path(folder: Path) -> Path | None:
    """The path of the data of a run by its run.json; None if it has none or the file is gone."""
    record = folder / RECORD
    about = _read_info(record, read_bytes(record, "run's record")).get("data") if record.is_file() else None
    stored = about.get("path") if isinstance(about, dict) else None
    path = folder / stored if isinstance(stored, str) else None
    return path if path is not None and path.exists() else None


def read_run(folder: Path) -> Run:
    """Read the folder that `anml audit` or `anml train` wrote."""
    record_path = folder / RECORD
    in_one_file = (folder / SAMPLES).is_file() or not (folder / "samples").is_dir()
    for path in (*([folder / SAMPLES] if in_one_file else []), record_path):
        if not path.is_file():
            raise InputError(f"{folder} is not a run folder: it has no {path.name}")
    record = read_bytes(record_path, "run's record")
    info = _read_info(record_path, record)
    # An engine writes one file of samples per slice.
    names = [SAMPLES] if in_one_file else sorted(name for name in _hashes(info) if PART.fullmatch(name))
    if not names:
        raise InputError(f"{folder} is not a run folder: {RECORD} lists no samples")
    parts, digests = zip(*(_read_samples(folder, name, info) for name in names), strict=True)
    try:
        samples = parts[0] if in_one_file else pl.concat(parts, how="vertical_relaxed").sort("row")
    except pl.exceptions.PolarsError:
        why = f"the parts of samples in {folder} differ in their columns"
        raise InputError(f"{why}; write it again") from None
    for name in ("contributor", "kept"):
        if name not in samples.columns:
            raise InputError(f"samples.parquet has no column {name!r}")
    _check_kinds(samples)
    if samples.is_empty():
        raise InputError("samples.parquet has no rows")
    if samples["contributor"].null_count():
        raise InputError(f"contributor is missing in {samples['contributor'].null_count()} rows of the run")
    run = Run(samples, info, joint_hash(digests), record=sha256(record))
    roles = [role for role in ROLES if role != "label" or run.task != "regression"]
    kinds = {role: samples.schema[role] for role in roles if role in samples.columns}
    kinds = {role: kind for role, kind in kinds.items() if kind != pl.String}
    return run._replace(samples=to_text(samples, roles), kinds=kinds)


def _run_note_path(folder: Path) -> Path:
    """Path of the user's private note of the last run that was written to a folder."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "anml" / "runs" / f"{sha256(str(folder.resolve()).encode())[:32]}.txt"


def record_run_hash(folder: Path, record: bytes) -> None:
    """Note the hash of the run for this user, since files and their hashes can be changed together."""
    with suppress(InputError, OSError, RuntimeError):
        write_file(_run_note_path(folder), sha256(record), private=True)


def verify_run_hash(folder: Path, run: Run) -> None:
    """Raise if run.json differs from the one that this user last wrote to the folder."""
    with suppress(OSError, RuntimeError):
        if (noted := _run_note_path(folder).read_text(encoding="ascii")) != run.record:
            raise IntegrityError(
                f"the run in {folder} has the digest {run.record[:16]}, but the run that was written here "
                f"has {noted[:16]}; rerun the audit, or pass --digest with the digest you received"
            )


def _read_samples(folder: Path, name: str, info: Mapping[str, Any]) -> tuple[pl.DataFrame, str]:
    data = _read_file(folder / name)
    try:
        table = pl.scan_parquet(io.BytesIO(data))
        rows, columns = table.select(pl.len()).collect().item(), len(table.collect_schema())
        # Parquet does not compress below 1/200 byte per value.
        if rows * columns > max(200 * len(data), 2**26):
            why = f"{folder / name} of {len(data):,} bytes unpacks to {rows:,} rows"
            raise InputError(f"{why}; write it again")
        samples = table.collect()
    except READ_ERRORS:
        raise InputError(f"{folder / name} is damaged or truncated; write the run again") from None
    verify_file_hash(folder / name, data, info, name)
    return samples, sha256(data)


def _read_file(path: Path) -> bytes:
    """Read a regular file; reject devices and pipes."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file; write the run again")
    return read_bytes(path, "run's table")


def verify_file_hash(path: Path, data: bytes, info: Mapping[str, Any], name: str | None = None) -> None:
    """Raise if the hash of the file is missing from run.json or differs."""
    if (expected := _hashes(info).get(name or path.name)) is None:
        why = f"run.json keeps no hash of {path}: it may have been changed"
        raise IntegrityError(f"{why}; write the run again")
    if expected != sha256(data):
        raise IntegrityError(f"{path} was changed after the run was written; write the run again")


def _hashes(info: Mapping[str, Any]) -> dict[str, Any]:
    files = info.get("files")
    return files if isinstance(files, dict) else {}


def _check_kinds(samples: pl.DataFrame) -> None:
    """Raise if a column has a wrong type or range."""
    shares = [
        name for name in (*SIGNALS, "p_correct", "weight", "self_confidence") if name in samples.columns
    ]
    kinds = dict.fromkeys(shares, pl.selectors.numeric()) | {"kept": pl.selectors.boolean()}
    names = {"row", *(name for each in ROLES.values() for name in each)}.intersection(samples.columns)
    kinds |= dict.fromkeys(names, ~(pl.selectors.nested() | pl.selectors.binary()))
    for name, kind in kinds.items():
        if not pl.selectors.expand_selector(samples.select(name), kind):
            raise InputError(f"column {name!r} of samples.parquet cannot hold {samples.schema[name]}")
    for name in shares:
        bad = ~samples[name].cast(pl.Float64).is_between(0, 1)
        if count := int(bad.fill_null(False).sum()):
            raise InputError(f"column {name!r} of samples.parquet is not between 0 and 1 in {count} rows")


def _read_info(path: Path, record: bytes) -> dict[str, Any]:
    try:
        info = json.loads(record.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"the run's record {path} cannot be read: it is not UTF-8 text") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply for the record of a run") from None
    parts = (
        [info.get(name) or {} for name in ("recipe", "data", "task")] if isinstance(info, dict) else [info]
    )
    if not all(isinstance(part, dict) for part in parts):
        raise InputError(f"{path} is not the record of a run: an object with a recipe was expected")
    if (version := info.get("schema_version")) != SCHEMA_VERSION:
        raise InputError(
            f"{path} has schema_version {version}, expected {SCHEMA_VERSION}; run the audit again"
        )
    return dict(info)


def dispute_reason(run: Run, weight: str) -> str | None:
    """The reason why a run is disputed for pay by this weight; None if it is not."""
    gate = run.info.get("gate")
    if isinstance(gate, dict) and gate.get("branch") == "disputed":
        return str(gate.get("reason") or DISPUTE_REASON)
    return DISPUTE_REASON if run.info.get("disputed_share") and weight == "p_correct" else None


def read_verdicts(folder: Path, run: Run) -> dict[str, str] | None:
    """The verdicts in contributors.csv by contributor; None if it has no verdicts."""
    if (table := _contributor_columns(folder, run, "verdict")) is None:
        return None
    table = table.with_columns(pl.col("verdict").cast(pl.String))
    message = f"needs exactly one verdict ({', '.join(VERDICTS)}) for"
    _require_all_contributors(folder, table, pl.col("verdict").is_in(VERDICTS), message)
    return dict(table.select("contributor", "verdict").iter_rows())


def read_estimates(folder: Path, run: Run) -> dict[str, dict[str, Any]]:
    """Accuracy and kappa of each contributor with their intervals, as integer multiples of 1 / `UNIT`.

    `most_common_error` is the most frequent pair of given and suggested label that differ, and its count.
    """
    samples = run.samples
    estimates: dict[str, dict[str, Any]] = {}
    for name in ("accuracy", "kappa"):
        columns = (name, f"{name}_low", f"{name}_high")
        if (table := _contributor_columns(folder, run, *columns)) is None:
            continue
        numbers = table.select("contributor", pl.col(columns).cast(pl.Float64, strict=False))
        for owner, *figures in numbers.drop_nulls().iter_rows():
            if all(math.isfinite(figure) and abs(figure) <= 1 for figure in figures):
                estimates.setdefault(owner, {})[name] = [round(figure * UNIT) for figure in figures]
    pair = ("label", "suggested_label")
    if {*pair} <= set(samples.columns) and run.task != "regression":
        contributor, *labels = (pl.col(name).cast(pl.String) for name in ("contributor", *pair))
        pairs = samples.select(contributor, *(label.str.slice(0, 60) for label in labels)).drop_nulls()
        counts = pairs.filter(pl.col("label") != pl.col("suggested_label")).group_by(pl.all()).len()
        counts = counts.sort("len", *pair, descending=[True, False, False])
        for name, *error in counts.group_by("contributor", maintain_order=True).first().iter_rows():
            estimates.setdefault(name, {})["most_common_error"] = error
    return estimates


def read_contributors(folder: Path, run: Run) -> pl.DataFrame | None:
    """Read contributors.csv of a run; None if there is none."""
    path = folder / "contributors.csv"
    if not path.is_file() and path.name not in _hashes(run.info):
        return None
    data = _read_file(path)
    verify_file_hash(path, data, run.info)
    try:
        return pl.read_csv(data, schema_overrides={"contributor": pl.String}, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is not a table of contributors: {reason}") from None


def read_consensus(folder: Path, run: Run) -> pl.DataFrame | None:
    """Read the consensus of a run; None where items have one label each."""
    if run.info.get("n_items") is None:
        return None
    path = folder / "consensus.parquet"
    try:
        return pl.read_parquet(read_bytes(path, "consensus"))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise InputError(f"{path} is damaged or truncated; write the run again") from None


def _contributor_columns(folder: Path, run: Run, *columns: str, full: bool = False) -> pl.DataFrame | None:
    """Columns of `contributors.csv` with the number of rows, or None; `written` is the name in the file."""
    table = read_contributors(folder, run)
    if table is None or not {"contributor", *columns} <= set(table.columns):
        return None
    rows = run.samples.group_by(pl.col("contributor").cast(pl.String)).agg(pl.len().alias("rows"))
    rows = rows.with_columns(safe_for_spreadsheets(rows.select(written="contributor"))["written"])
    written = table.select(*columns, written="contributor")
    return rows.join(written, on="written", how="full" if full else "left", coalesce=True)


def _require_all_contributors(folder: Path, table: pl.DataFrame, is_valid: pl.Expr, message: str) -> None:
    """Raise if a contributor is missing, duplicated or has an invalid value."""
    invalid = table.filter(~is_valid.fill_null(False))
    if invalid.height or table["written"].is_duplicated().any():
        name = (invalid if invalid.height else table)["written"][0]
        raise InputError(f"{folder / 'contributors.csv'} {message} contributor {name!r}")


def read_learned(folder: Path, run: Run) -> pl.DataFrame | None:
    """Learned reputation of a run (contributor as in the samples, good, bad); None if there is none."""
    if (table := _contributor_columns(folder, run, *LEARNED, full=True)) is None:
        return None
    good, bad = (pl.col(name).cast(pl.Float64, strict=False) for name in LEARNED)
    table = table.with_columns(good=good, bad=bad)
    # Counts must not exceed the rows of the contributor.
    counts = [pl.col(name).is_finite() & (pl.col(name) >= 0) for name in ("good", "bad")]
    is_valid = pl.all_horizontal(*counts, pl.col("good") + pl.col("bad") <= pl.col("rows") * (1 + 1e-6))
    _require_all_contributors(folder, table, is_valid, "does not match the samples of the run: see")
    return table.select("contributor", "good", "bad")
