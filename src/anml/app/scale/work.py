"""What is done with one slice in each pass: read it, add to files of its own, and give back sums.

A file appears whole or not at all, and one that is there is not made again: a pass that was broken off goes
on from the slices that are done.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.app.scale.models import Models
from anml.app.scale.slices import Slice
from anml.core.checks import Floats, Ints
from anml.core.errors import InputError
from anml.core.people.collective import Collective
from anml.core.people.model import Params, Posterior, Statistics, e_step, posterior
from anml.core.people.rows import Rows
from anml.core.people.worth import Tally, tally_rows
from anml.intake.encode.preparation import Preparation
from anml.intake.plain import as_text, codes_in


@dataclass(frozen=True)
class Roles:
    """Columns of the label and of the contributor."""

    label: str
    contributor: str


class Survey(NamedTuple):
    """Who gave which label how often, and rows without a label."""

    counts: pl.DataFrame
    unlabelled: int


def survey(part: Slice, roles: Roles) -> Survey:
    """Count contributors and labels."""
    frame = part.read([roles.label, roles.contributor])
    named = frame.select(
        label=as_text(frame[roles.label]),
        contributor=as_text(frame[roles.contributor]).fill_null("(missing)"),
    )
    counts = named.drop_nulls("label").group_by("contributor", "label").agg(rows=pl.len())
    return Survey(counts.sort("contributor", "label"), int(named["label"].null_count()))


class Chosen(NamedTuple):
    """Which rows of a slice to take."""

    rows: dict[int, Ints]


def take(part: Slice, chosen: Chosen) -> pl.DataFrame:
    """The rows of a slice that are in the sample."""
    frame: pl.DataFrame = part.read()[chosen.rows[part.number].tolist()]
    return frame


@dataclass(frozen=True, eq=False)
class Shared:
    """What all slices need."""

    work: Path
    out: Path
    roles: Roles
    names: list[str]
    classes: list[str]
    preparation: Preparation
    models: Models
    sample: dict[int, tuple[Ints, Ints, Ints]] = field(default_factory=dict)


def predict_slice(part: Slice, shared: Shared) -> Floats:
    """Predictions, labels, contributors and raw scores of a slice into a file; mean probabilities back."""
    path = shared.work / f"{part.name}.npz"
    if not path.is_file():
        frame = part.read()
        y = codes_in(as_text(frame[shared.roles.label]), shared.classes)
        labelled = np.flatnonzero(y >= 0)
        frame, y = frame[labelled.tolist()] if len(labelled) < frame.height else frame, y[labelled]
        named = as_text(frame[shared.roles.contributor]).fill_null("(missing)")
        who = codes_in(named, shared.names)
        half, reference = _of_sample(part, shared, labelled)
        x = shared.preparation.transform(frame)
        log_p = shared.models.log_p(x, half).astype(np.float32)
        raw = shared.models.scores(x, y, reference)
        write_arrays(path, log_p=log_p, y=y.astype(np.int32), who=who.astype(np.int32), row=labelled, raw=raw)
    with np.load(path) as kept:
        return np.asarray(np.exp(kept["log_p"].astype(np.float64)).sum(axis=0))


def _of_sample(part: Slice, shared: Shared, labelled: Ints) -> tuple[Ints, Ints]:
    """For each row of a slice its half of the sample and its place among the references; -1 for none."""
    half, reference = np.full(part.rows, -1, dtype=np.int64), np.full(part.rows, -1, dtype=np.int64)
    if part.number in shared.sample:
        rows, halves, places = shared.sample[part.number]
        half[rows], reference[rows] = halves, places
    return half[labelled], reference[labelled]


class Step(NamedTuple):
    """One pass of the contributor model; where wrong labels go [truth, label], once that is known."""

    work: Path
    params: Params
    to: Floats | None = None


def believe_slice(part: Slice, step: Step) -> Statistics:
    """The posterior of the rows of a slice after one more pass into a file; its sums come back."""
    done = step.params.steps
    path = state_path(step.work, part, done + 1)
    if not path.is_file():
        before = None if done == 0 else _state(step.work, part, done)
        found, sums = e_step(step.params, _rows(step.work, part, step.params), before)
        write_arrays(
            path, **found._asdict(), **{f"sum_{name}": value for name, value in sums._asdict().items()}
        )
        return sums
    with np.load(path) as kept:
        return Statistics(*(kept[f"sum_{name}"] for name in Statistics._fields))


class Summed(NamedTuple):
    """Of a slice: what its rows say of contributors; by contributor rows kept, agreement and raw scores."""

    people: Tally
    kept: Floats
    agreed: Floats
    scores: Floats
    low: float
    high: float


def add_up(part: Slice, step: Step) -> Summed:
    """What is believed of contributors in the end, from one slice."""
    rows, found = _rows(step.work, part, step.params), _state(step.work, part, step.params.steps)
    truth = posterior(step.params, rows, found)
    assert step.to is not None
    people = tally_rows(np.exp(found.seen), truth, rows.y, rows.who, rows.count, step.to)
    with np.load(step.work / f"{part.name}.npz") as kept:
        raw = kept["raw"]
    p = truth[np.arange(rows.n), rows.y]
    each = (p >= 0.5, rows.log_p.argmax(axis=1) == rows.y, raw)
    kept, agreed, scores = (np.asarray(np.bincount(rows.who, w, rows.count), np.float64) for w in each)
    return Summed(people, kept, agreed, scores, float(raw.min()), float(raw.max()))


class Written(NamedTuple):
    """How samples are written: names, sum of all weights, bounds of raw scores, whether all are kept."""

    work: Path
    out: Path
    params: Params
    error: Collective
    names: list[str]
    classes: list[str]
    total: float
    low: float
    high: float
    keep_all: bool


def write_slice(part: Slice, how: Written) -> int:
    """The samples of a slice as a Parquet file; how many rows it has."""
    path = how.out / f"{part.name}.parquet"
    with np.load(how.work / f"{part.name}.npz") as kept:
        row, raw = kept["row"], kept["raw"]
    if path.is_file():
        return len(row)
    rows = _rows(how.work, part, how.params)
    truth = how.error.truth(posterior(how.params, rows, _state(how.work, part, how.params.steps)))
    log_p, y, who, at = rows.log_p, rows.y, rows.who, np.arange(rows.n)
    p = truth[at, y]
    classes, names = np.array(how.classes, dtype=object), np.array(how.names, dtype=object)
    span = max(how.high - how.low, 1e-300)
    frame = pl.DataFrame(
        {
            "file": [Path(part.path).name] * len(y),
            "row": row + part.start,
            "contributor": names[who].tolist(),
            "label": classes[y].tolist(),
            "predicted": classes[log_p.argmax(axis=1)].tolist(),
            "confidence": np.exp(log_p[at, y]),
            "q": np.clip(1 - (raw - how.low) / span, 0, 1),
            "score": raw,
            "weight": p / how.total,
            "kept": (p >= 0.5) | how.keep_all,
            "p_correct": p,
            "suggested": classes[truth.argmax(axis=1)].tolist(),
            "p_suggested": truth.max(axis=1),
        }
    )
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    frame.write_parquet(draft)
    draft.replace(path)
    return len(y)


def state_path(work: Path, part: Slice, step: int) -> Path:
    """Where beliefs in the rows of a slice are after so many passes."""
    return work / f"{part.name}.step-{step:03d}.npz"


def _rows(work: Path, part: Slice, params: Params) -> Rows:
    with np.load(work / f"{part.name}.npz") as kept:
        y, who = kept["y"].astype(np.int64), kept["who"].astype(np.int64)
        return Rows(kept["log_p"].astype(np.float64), y, who, len(params.size))


def _state(work: Path, part: Slice, step: int) -> Posterior:
    with np.load(state_path(work, part, step)) as kept:
        return Posterior(*(kept[name] for name in Posterior._fields))


def write_arrays(path: Path, **arrays: Any) -> None:
    """One .npz file, which is whole or not there."""
    draft = path.with_name(f".{path.stem}-{os.getpid()}.npz")
    try:
        np.savez(draft, **arrays)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{path.name} cannot be written: {error.strerror or error}") from None
