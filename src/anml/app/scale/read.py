"""How a slice is read: counted, drawn from, and made into the arrays that the model of contributors needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.app.scale.deal import scattered
from anml.app.scale.models import Models
from anml.app.scale.slices import Slice, SliceRows, drafted, named_by
from anml.assess.assess import SamplePolicy
from anml.core.answers import earned
from anml.core.checks import Floats, Ints
from anml.core.errors import InputError
from anml.core.people.periods import Changes
from anml.core.people.rows import Spread
from anml.intake.beside import Beside
from anml.intake.columns import Columns
from anml.intake.labels import spelled_as
from anml.intake.plain import as_text, codes_in
from anml.intake.prepare import Fixed, Preparation, Prepared, prepare
from anml.intake.tables import Table
from anml.intake.times import read_instants


class Survey(NamedTuple):
    """Who gave which label how often, rows without a label, and the newest time."""

    counts: pl.DataFrame
    unlabelled: Ints
    newest: datetime | None


def survey(part: Slice, columns: Columns) -> Survey:
    """Count contributors and labels."""
    assert columns.contributor is not None
    times = [] if columns.time is None else [columns.time]
    frame, row, _ = part.read([columns.label, columns.contributor, *times])
    roles = {"label": columns.label, "contributor": columns.contributor}
    named = pl.DataFrame({role: named_by(frame[name], part) for role, name in roles.items()})
    labelled = named.drop_nulls("label")
    if gaps := labelled["contributor"].null_count():
        raise InputError(
            f"column {columns.contributor!r} (contributor) is empty in {gaps} rows of {part.file}; every "
            "row needs one"
        )
    counts = labelled.group_by("contributor", "label").agg(rows=pl.len()).sort("contributor", "label")
    newest = None if columns.time is None else read_instants(frame[columns.time]).max()
    assert newest is None or isinstance(newest, datetime)
    return Survey(counts, row[named["label"].is_null().to_numpy()], newest)


class Chosen(NamedTuple):
    """Which rows are in the sample: these places in the table, or so large a share of the items."""

    places: Ints
    item: str | None
    share: float


def take(part: Slice, chosen: Chosen) -> SliceRows:
    """The rows of a slice that are in the sample."""
    frame, row, beside = part.read()
    mine = np.flatnonzero(np.isin(row, chosen.places))
    if chosen.item is not None:
        mine = np.flatnonzero((scattered(as_text(frame[chosen.item])) >> 32) < chosen.share * 2**31)
    some = mine.tolist()
    return SliceRows(frame[some], row[mine], {name: each[some] for name, each in beside.items()})


@dataclass(frozen=True, eq=False)
class SliceJob:
    """What all slices need: columns, who and what there is, which rows have no label, and the class prior.

    The rest is known once slices were read:
    `newcomers`: places of the first contributions of everybody, where reputation counts.
    `used`: credentials that tell rows apart, with their means.
    `tied`, `spread`: by how much they go with the label, and the units of what is left.
    `groups`: copy groups of contributors, where items are known.
    `changed`: who changed over time, and is two from then on.
    """

    work: Path
    columns: Columns
    policy: SamplePolicy
    now: datetime | None
    names: list[str]
    classes: list[str]
    spelled: dict[str, str]
    total: int
    unlabelled: Ints
    prior: Floats
    newcomers: Ints | None = None
    used: Mapping[str, float] = field(default_factory=dict)
    tied: Floats | None = None
    spread: Spread | None = None
    groups: Ints | None = None
    changed: Changes | None = None

    def prepared(self, part: Slice, preparation: Preparation) -> tuple[Prepared, Ints, pl.DataFrame]:
        """The rows of a slice that have a label as arrays, their places in the table, and its columns."""
        frame, row, beside = part.read()
        label, known = self.columns.label, self.columns.known
        frame = frame.with_columns(pl.col(label).replace(self.spelled)) if self.spelled else frame
        if known is not None and frame.schema[known] == pl.String:
            spelled = spelled_as(frame[known].drop_nulls(), self.classes)
            frame = frame.with_columns(pl.col(known).replace(spelled))
        fixed = Fixed(self.classes, preparation)
        prepared = prepare(
            Table(frame, part.name, ""), self.columns, now=self.now, beside=Beside(**beside), fixed=fixed
        )
        return prepared, row[prepared.rows], frame

    @property
    def fresh(self) -> bool:
        """Whether freshness counts, and changes over time are looked for."""
        return self.columns.time is not None and float(getattr(self.policy.decay, "delta", 0.0)) > 0

    @property
    def owner(self) -> Ints | None:
        """Which contributor each part of one is, where somebody changed."""
        if self.changed is None:
            return None
        late = np.flatnonzero(np.isfinite(self.changed.when))
        return np.concatenate([np.arange(len(self.changed.when)), late])

    @property
    def stage(self) -> str:
        """Before the names of what is kept of fits: those to contributors as two are others."""
        return "" if self.changed is None else "late-"

    def place(self, row: Ints) -> Ints:
        """Places among the rows that have a label."""
        return np.asarray(row - np.searchsorted(self.unlabelled, row))


class Sampled(NamedTuple):
    """Rows of the sample: places in the table, in order; half, and place among the references, of each."""

    row: Ints
    half: Ints

    def at(self, row: Ints, references: int) -> tuple[Ints, Ints]:
        """Half and reference of these rows; -1 for none."""
        at = np.minimum(np.searchsorted(self.row, row), len(self.row) - 1)
        inside = self.row[at] == row
        return np.where(inside, self.half[at], -1), np.where(inside & (at < references), at, -1)


@dataclass(frozen=True, eq=False)
class Predicting:
    """How slices are predicted: preparation and models, where there are features."""

    job: SliceJob
    preparation: Preparation
    models: Models | None
    sampled: Sampled


def predict_slice(part: Slice, how: Predicting) -> pl.DataFrame:
    """What the model of contributors needs of a slice, into a file; the first contributions of everybody."""
    path = how.job.work / f"{part.name}.npz"
    if not path.is_file():
        write_arrays(path, **_arrays(part, how))
    with np.load(path) as kept:
        first = pl.DataFrame({"who": kept["who"], "order": -kept["age"], "place": kept["place"]})
    return first_of(first, how.job.policy.cold_start.contributions)


def first_of(frame: pl.DataFrame, most: int) -> pl.DataFrame:
    """The first contributions of each contributor."""
    return frame.sort("who", "order", "place").group_by("who", maintain_order=True).head(most)


def _arrays(part: Slice, how: Predicting) -> dict[str, Any]:
    job, models = how.job, how.models
    prepared, row, _ = job.prepared(part, how.preparation)
    y, n = prepared.y.astype(np.int64), len(prepared.y)
    out: dict[str, Any] = {"y": y, "row": row, "place": job.place(row)}
    out["who"] = codes_in(pl.Series(prepared.contributor), job.names)
    if models is not None:
        half, reference = how.sampled.at(row, len(models.references))
        out["log_p"] = models.log_p(prepared.x, half, prepared.predictions)
        out["raw"] = models.scores(prepared.x, y, reference)
    elif prepared.predictions is not None:
        out["log_p"] = np.log(prepared.predictions + 1e-6)
    else:
        out["log_p"] = np.tile(np.log(job.prior), (n, 1))
    if prepared.item is not None:
        out["item"] = np.unique(prepared.item, return_inverse=True)[1]
    if prepared.known is not None:
        out |= {"truth": prepared.known.truth, "wrong": prepared.known.wrong}
    ages = np.zeros(n) if prepared.age is None or not job.fresh else prepared.age
    t = job.policy.decay(ages) if job.fresh else None
    # Rows earn v by what is known of others too, in whatever slice these are.
    v = earned(prepared.known) if prepared.known and prepared.verification is None else prepared.verification
    signals = {"age": ages, "v": v, "r": prepared.reputation, "t": t}
    return out | {name: values for name, values in signals.items() if values is not None}


def write_arrays(path: Path, **arrays: Any) -> None:
    """One .npz file, which is whole or not there."""
    with drafted(path) as draft, draft.open("wb") as file:
        np.savez(file, **arrays)
