"""How a slice is read: counted, drawn from, and made into the arrays that the model of contributors needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.app.scale.models import Models
from anml.app.scale.slices import Slice, drafted
from anml.assess.assess import SamplePolicy
from anml.core.answers import earned
from anml.core.checks import Floats, Ints
from anml.core.people.periods import Changes
from anml.core.people.rows import Spread
from anml.intake.beside import Beside
from anml.intake.columns import Columns
from anml.intake.labels import spelled_as
from anml.intake.plain import codes_in
from anml.intake.prepare import Fixed, Preparation, Prepared, prepare
from anml.intake.tables import Table


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
        nobody = np.zeros(0, dtype=np.int64), np.zeros(0)
        return None if self.changed is None else self.changed.codes(*nobody)[1]

    @property
    def stage(self) -> str:
        """Before the names of what is kept of fits: those to contributors as two are others."""
        return "" if self.changed is None else "late-"


def predict_slice(part: Slice, job: SliceJob, preparation: Preparation, models: Models | None) -> None:
    """What the model of contributors needs of a slice, into a file; `models` where there are features."""
    path = job.work / f"{part.name}.npz"
    if path.is_file():
        return
    prepared, row, _ = job.prepared(part, preparation)
    y, n = prepared.y.astype(np.int64), len(prepared.y)
    # Places are among the rows that have a label.
    out: dict[str, Any] = {"y": y, "place": row - np.searchsorted(job.unlabelled, row)}
    out["who"] = codes_in(pl.Series(prepared.contributor), job.names)
    if models is not None:
        out |= models.say(row, prepared.x, y, prepared.predictions)
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
    write_arrays(path, **out, **{name: values for name, values in signals.items() if values is not None})


def write_arrays(path: Path, **arrays: Any) -> None:
    """One .npz file, which is whole or not there."""
    with drafted(path) as draft, draft.open("wb") as file:
        np.savez(file, **arrays)
