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
from anml.core.evidence.classes import normalised
from anml.core.partition import Beliefs, Posterior, Sums, one_pass, p_correct
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
    """One pass of the contributor model."""

    work: Path
    beliefs: Beliefs


def seen_sum(part: Slice, step: Step) -> Floats:
    """Sum of the probabilities of the classes, at the temperature of the fit."""
    with np.load(step.work / f"{part.name}.npz") as kept:
        log_p = kept["log_p"].astype(np.float64)
    return np.asarray(np.exp(normalised(log_p / step.beliefs.temperature)[0]).sum(axis=0))


def believe_slice(part: Slice, step: Step) -> Sums:
    """Beliefs in the rows of a slice after one more pass into a file, with its sums, which come back."""
    done = step.beliefs.steps
    path = state_path(step.work, part, done + 1)
    if not path.is_file():
        log_p, y, who = _rows(step.work, part)
        before = None if done == 0 else _state(step.work, part, done)
        found, sums = one_pass(log_p, y, who, before, step.beliefs)
        write_arrays(
            path, honest_rows=found.honest, deviant_rows=found.deviant,
            **{f"sum_{name}": value for name, value in sums._asdict().items()},
        )  # fmt: skip
        return sums
    with np.load(path) as kept:
        return Sums(*(kept[f"sum_{name}"] for name in Sums._fields))


class Tally(NamedTuple):
    """Of a slice: labels by truth (K, C, C); by contributor p_correct, rows kept, agreement and scores."""

    table: Floats
    right: Floats
    kept: Floats
    agreed: Floats
    scores: Floats
    low: float
    high: float


def tally(part: Slice, step: Step) -> Tally:
    """What is believed of contributors in the end, from one slice."""
    log_p, y, who = _rows(step.work, part)
    posterior = p_correct(log_p, _state(step.work, part, step.beliefs.steps), who, step.beliefs)
    p = posterior[np.arange(len(y)), y]
    count, classes = step.beliefs.given.shape
    place = who * classes + y
    table: Floats = np.stack([np.bincount(place, c, count * classes) for c in posterior.T], axis=1)
    with np.load(step.work / f"{part.name}.npz") as kept:
        raw = kept["raw"]
    each = (p, p >= 0.5, log_p.argmax(axis=1) == y, raw)
    right, sure, agreed, scores = (np.asarray(np.bincount(who, w, count), np.float64) for w in each)
    ends = float(raw.min()), float(raw.max())
    return Tally(table.reshape(count, classes, classes), right, sure, agreed, scores, *ends)


class Written(NamedTuple):
    """How samples are written: names, sum of all weights, bounds of raw scores, whether all are kept."""

    work: Path
    out: Path
    beliefs: Beliefs
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
    log_p, y, who = _rows(how.work, part)
    posterior = p_correct(log_p, _state(how.work, part, how.beliefs.steps), who, how.beliefs)
    at = np.arange(len(y))
    p = posterior[at, y]
    classes, names = np.array(how.classes, dtype=object), np.array(how.names, dtype=object)
    span = max(how.high - how.low, 1e-300)
    frame = pl.DataFrame(
        {
            "file": [Path(part.path).name] * len(y),
            "row": row + part.start,
            "contributor": names[who].tolist(),
            "label": classes[y].tolist(),
            "predicted": classes[log_p.argmax(axis=1)].tolist(),
            "confidence": np.exp(log_p[at, y].astype(np.float64)),
            "q": np.clip(1 - (raw - how.low) / span, 0, 1),
            "score": raw,
            "weight": p / how.total,
            "kept": (p >= 0.5) | how.keep_all,
            "p_correct": p,
            "suggested": classes[posterior.argmax(axis=1)].tolist(),
            "p_suggested": posterior.max(axis=1),
        }
    )
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    frame.write_parquet(draft)
    draft.replace(path)
    return len(y)


def state_path(work: Path, part: Slice, step: int) -> Path:
    """Where beliefs in the rows of a slice are after so many passes."""
    return work / f"{part.name}.step-{step:03d}.npz"


def _rows(work: Path, part: Slice) -> tuple[Floats, Ints, Ints]:
    with np.load(work / f"{part.name}.npz") as kept:
        return kept["log_p"].astype(np.float64), kept["y"].astype(np.int64), kept["who"].astype(np.int64)


def _state(work: Path, part: Slice, step: int) -> Posterior:
    with np.load(state_path(work, part, step)) as kept:
        return Posterior(kept["honest_rows"], kept["deviant_rows"])


def write_arrays(path: Path, **arrays: Any) -> None:
    """One .npz file, which is whole or not there."""
    draft = path.with_name(f".{path.stem}-{os.getpid()}.npz")
    try:
        np.savez(draft, **arrays)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{path.name} cannot be written: {error.strerror or error}") from None
