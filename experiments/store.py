"""Rows on disk, found by what decided them: one file per experiment, and finished blocks beside it."""

import json
import os
import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from anml.core.errors import InputError
from experiments.cells import cells_of
from experiments.fields import error_context
from experiments.spec import Experiment, load

PARTS = ".parts"
OWN_EXPERIMENTS = "experiments"
Done = set[tuple[str, int]]
T = TypeVar("T")


def rows_file(experiment: Experiment, folder: Path) -> Path:
    """Return the path of the rows of an experiment."""
    return folder / "rows" / f"{experiment.name}.parquet"


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of runs: experiments, durations and machines."""
    path = folder / "run.json"
    if not path.exists():
        return {"experiments": {}, "runs": []}
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        sound = _is_record(record)
    except (ValueError, RecursionError):  # no JSON, or no text
        sound = False
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if not sound:
        raise InputError(
            f"{path} is not the record of a run of the lab; move it away, or name another folder"
        )
    return record


# What is read of a record: of each run, and of each experiment where it is there.
RUN = {
    **dict.fromkeys(("command", "jobs", "device", "blocks", "cores", "machine"), object),
    "experiments": list, "wall_seconds": int | float,
}  # fmt: skip
ENTRY = {"left_out": list, "trials": int, "seconds": int | float}


def _is_record(record: Any) -> bool:
    """True if a record has the required fields: tables of experiments and a list of runs."""
    if not isinstance(record, dict) or not isinstance(record.get("experiments"), dict):
        return False
    runs, entries = record.get("runs"), record["experiments"].values()
    if not isinstance(runs, list) or not all(isinstance(each, dict) for each in (*runs, *entries)):
        return False
    sound = all(key in run and isinstance(run[key], kind) for run in runs for key, kind in RUN.items())
    known = [(entry[key], kind) for entry in entries for key, kind in ENTRY.items() if key in entry]
    return sound and all(isinstance(value, kind) for value, kind in known)


def check_folder(folder: Path, running: Sequence[Experiment], *, fresh: bool) -> None:
    """Can results be kept there, and can what is there and stays be read?"""
    for place in (folder, folder / "rows", folder / PARTS, folder / OWN_EXPERIMENTS):
        if place.exists() and not place.is_dir():
            raise InputError(f"the folder of results {place} is a file; name a folder")
    read_record(folder)
    names = {experiment.name for experiment in running}
    for path in sorted((folder / "rows").glob("*.parquet")):
        if not fresh or path.stem not in names:
            _read(path, pl.read_parquet_schema)
    own_experiments(folder, but=names)


def make_folder(folder: Path) -> None:
    """Make a folder of results, or say why nothing can be kept there."""
    try:
        (folder / "rows").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder of results {folder} cannot be made ({error.strerror or error}); name another"
        ) from None
    if not os.access(folder / "rows", os.W_OK | os.X_OK) or not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"the folder of results {folder} cannot be written to; name another")


def _read(path: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(
            f"the rows {path} are not a whole Parquet file; remove it, "
            "and `python -m experiments run` makes it anew"
        ) from None


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write down what was run, beside the rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(record, indent=1) + "\n")


def own_experiments(folder: Path, but: Collection[str] = ()) -> list[Experiment]:
    """Experiments that are no part of the lab and were run into a folder, from the files kept there."""
    results = []
    for path in sorted((folder / OWN_EXPERIMENTS).glob("*.toml")):
        if path.stem not in but:
            with error_context(f"kept in {path.parent}"):
                results.append(load(path))
    return results


def keep_files(experiments: Sequence[Experiment], files: Sequence[Path], folder: Path) -> None:
    """Keep files of one's own beside the rows, for reports; an experiment of the lab takes their place."""
    mine = {path.stem: path for path in files}
    for experiment in experiments:
        kept = folder / OWN_EXPERIMENTS / f"{experiment.name}.toml"
        if experiment.name not in mine:
            kept.unlink(missing_ok=True)
            continue
        text = mine[experiment.name].read_text(encoding="utf-8")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text, encoding="utf-8")


def keep_part(
    experiment: Experiment, folder: Path, name: str, rows: list[dict[str, Any]], asked: Done
) -> None:
    """Keep the rows of a block; they are there whole or not at all, however the run ends.

    Of the cells and trials `asked` for, those without a row are kept as absent: a method that does not apply
    somewhere is not run there again.
    """
    cells = {(*dict(key).values(), method): cell for cell, key, _, method in cells_of(experiment)}
    named = [{**row, "cell": cells[*(row[axis] for axis in experiment.axes), row["method"]]} for row in rows]
    absent = asked - {(row["cell"], row["trial"]) for row in named}
    named += [{"trial": trial, "cell": cell, "absent": True} for cell, trial in sorted(absent)]
    place = folder / PARTS / experiment.name
    place.mkdir(parents=True, exist_ok=True)
    half = place / f"{name}.{os.getpid()}.half"
    pl.DataFrame(named, infer_schema_length=None).write_parquet(half)
    half.rename(place / f"{name}.parquet")


def known_rows(experiment: Experiment, folder: Path) -> pl.DataFrame | None:
    """Rows that today's settings would give again, under today's labels; None where there are none."""
    files = [rows_file(experiment, folder), *sorted((folder / PARTS / experiment.name).glob("*.parquet"))]
    frames = [frame for path in files if path.exists() and _has_cells(frame := _read(path, pl.read_parquet))]
    if not frames:
        return None
    named = [
        {"cell": cell, "seed": draw.seed, **dict(key), "method": method}
        for draw in experiment.draws
        for cell, key, _, method in cells_of(draw)
    ]
    today = pl.DataFrame(named).with_row_index("order")
    rows = pl.concat(frames, how="diagonal_relaxed")
    rows = rows.unique(["cell", "trial"], keep="last", maintain_order=True)
    labels = [name for name in rows.columns if name in {"seed", *experiment.axes, "method"}]
    # Two conditions may be one setting under two labels: each has the rows.
    result = (
        today.join(rows.drop(labels), on="cell", how="inner").sort("seed", "trial", "order").drop("order")
    )
    first = ["seed", "trial", *experiment.axes, "method"]
    return result.select(*first, pl.exclude(*first, "cell"), "cell") if len(result) else None


def _has_cells(rows: pl.DataFrame) -> bool:
    """True if rows have cell identifiers and trial numbers; rows without them are not used."""
    schema = rows.schema
    return schema.get("cell") == pl.String and "trial" in schema and schema["trial"].is_integer()


def finished_trials(rows: pl.DataFrame | None) -> Done:
    """Cells and trials that have rows."""
    return set() if rows is None else set(zip(rows["cell"], rows["trial"], strict=True))


def join_parts(experiment: Experiment, folder: Path) -> bool:
    """Join finished blocks into one compact file of rows, if there are any."""
    if not (folder / PARTS / experiment.name).exists():
        return False
    rows = known_rows(experiment, folder)
    if rows is not None:
        path = rows_file(experiment, folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows.write_parquet(path, compression="zstd", compression_level=19)
        shutil.rmtree(folder / PARTS / experiment.name, ignore_errors=True)
    return True


def discard_rows(experiments: Sequence[Experiment], folder: Path) -> None:
    """Throw away the rows of experiments, finished or not, and what is recorded of them alone."""
    record, names = read_record(folder), {experiment.name for experiment in experiments}
    for experiment in experiments:
        rows_file(experiment, folder).unlink(missing_ok=True)
        shutil.rmtree(folder / PARTS / experiment.name, ignore_errors=True)
        record["experiments"].pop(experiment.name, None)
    record["runs"] = [run for run in record["runs"] if not set(run["experiments"]) <= names]
    write_record(folder, record)


def complete_rows(experiment: Experiment, folder: Path) -> pl.DataFrame | None:
    """Rows of the trials that every cell has, as many as were last asked for; None where none is complete."""
    rows = known_rows(experiment, folder)
    if rows is None:
        return None
    entry = read_record(folder)["experiments"].get(experiment.name, {})
    left_out = entry.get("left_out", [])
    cells = sum(setting.dataset not in left_out for _, _, setting, _ in cells_of(experiment))
    limit = entry.get("trials", experiment.trials)
    whole = rows.filter((pl.len().over("seed", "trial") == cells) & (pl.col("trial") < limit))
    if "absent" in whole.columns:
        whole = whole.filter(pl.col("absent").is_null()).drop("absent")
    return whole.drop("cell") if len(whole) else None
