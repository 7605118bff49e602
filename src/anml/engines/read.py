"""Reading of a slice: counting, sampling, and conversion to the arrays of the contributor model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.annotators.periods import ChangePoints
from anml.annotators.rows import ColumnMoments
from anml.assessment.assess import SamplePolicy
from anml.core.checks import Floats, Ints
from anml.engines.models import Models
from anml.engines.slices import Slice, temporary_path
from anml.io.columns import Columns
from anml.io.labels import match_set_spelling
from anml.io.plain import codes_in
from anml.io.prepare import FeatureEncoder, GlobalEncoding, Prepared, prepare
from anml.io.side_inputs import SideInputs
from anml.io.tables import Table
from anml.io.true_labels import v_from_gold
from anml.signals.freshness import Decay


@dataclass(frozen=True, eq=False)
class SliceJob:
    """Settings common to all slices: columns, contributors, classes, unlabelled rows, and the class prior.

    `dated`: True if times are used, for change points and for the order of contributions.
    The other fields are set after slices were read:
    `newcomers`: positions of the first contributions of each contributor, if reputation is used.
    `used`: credentials that vary between rows, with their means.
    `tied`, `spread`: their dependence on the label, and the scale of the residuals.
    `groups`: copy groups of contributors, if items are given.
    `changed`: change points; the periods before and after are treated as two contributors.
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
    dated: bool
    newcomers: Ints | None = None
    used: Mapping[str, float] = field(default_factory=dict)
    tied: Floats | None = None
    spread: ColumnMoments | None = None
    groups: Ints | None = None
    changed: ChangePoints | None = None

    def prepared(self, part: Slice, preparation: FeatureEncoder) -> tuple[Prepared, Ints, pl.DataFrame]:
        """The rows of a slice that have a label as arrays, their places in the table, and its columns."""
        frame, row, beside = part.read()
        label, known = self.columns.label, self.columns.true_label
        frame = frame.with_columns(pl.col(label).replace(self.spelled)) if self.spelled else frame
        if known is not None and frame.schema[known] == pl.String:
            spelled = match_set_spelling(frame[known].drop_nulls(), self.classes)
            frame = frame.with_columns(pl.col(known).replace(spelled))
        fixed = GlobalEncoding(self.classes, preparation)
        prepared = prepare(
            Table(frame, part.name, ""),
            self.columns,
            now=self.now,
            side_inputs=SideInputs(**beside),
            fixed=fixed,
        )
        return prepared, row[prepared.rows], frame

    @property
    def owner(self) -> Ints | None:
        """Contributor of each period, if there are change points."""
        nobody = np.zeros(0, dtype=np.int64), np.zeros(0)
        return None if self.changed is None else self.changed.codes(*nobody)[1]

    @property
    def stage(self) -> str:
        """Before the names of what is kept of fits: those to contributors as two are others."""
        return "" if self.changed is None else "late-"


def predict_slice(part: Slice, job: SliceJob, preparation: FeatureEncoder, models: Models | None) -> None:
    """Write the inputs of the contributor model for a slice; `models` is required if there are features."""
    path = job.work / f"{part.name}.npz"
    if path.is_file():
        return
    prepared, row, _ = job.prepared(part, preparation)
    y, n = prepared.y.astype(np.int64), len(prepared.y)
    # Positions are counted among the labelled rows.
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
    ages = np.zeros(n) if prepared.age is None or not job.dated else prepared.age
    t = job.policy.decay(ages) if job.dated and job.policy.decay != Decay(0.0) else None
    # Rows earn v by what is known of others too, in whatever slice these are.
    v = (
        v_from_gold(prepared.known)
        if prepared.known and prepared.verification is None
        else prepared.verification
    )
    signals = {"age": ages, "v": v, "r": prepared.reputation, "t": t}
    write_arrays(path, **out, **{name: values for name, values in signals.items() if values is not None})


def write_arrays(path: Path, **arrays: Any) -> None:
    """One .npz file, which is whole or not there."""
    with temporary_path(path) as draft, draft.open("wb") as file:
        np.savez(file, **arrays)
