"""The arrays of a slice, and what it takes all slices to know of credentials, newcomers and copies."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from anml.annotators.copies import AgreementCounts, agreement_counts, detect_copy_groups
from anml.annotators.rows import (
    ColumnMoments,
    CredentialStats,
    LabelData,
    column_moments,
    copy_aware_votes,
    credential_stats,
    polynomial_features,
)
from anml.core.checks import Bools, Floats
from anml.engines.read import SliceJob
from anml.engines.slices import Slice, SlicePipeline
from anml.signals.verification import VERIFICATION

# Credentials, in the order of their columns.
CREDENTIALS = ("v", "r", "t")


class SliceData:
    """The arrays of a slice, with what is known beside them."""

    def __init__(self, part: Slice, job: SliceJob) -> None:
        with np.load(job.work / f"{part.name}.npz") as kept:
            self.arrays = dict(kept)
        self.job = job
        self.y, self.who, self.count = self.arrays["y"], self.arrays["who"], len(job.names)
        self.when = -self.arrays["age"]
        if job.changed is not None:
            self.who, owner = job.changed.codes(self.who, self.when)
            self.count = len(owner)

    @property
    def known(self) -> Bools:
        """LabelData of which it is known whether their label is right."""
        truth, wrong = (self.arrays.get(name) for name in ("truth", "wrong"))
        return np.zeros(len(self.y), dtype=bool) if truth is None or wrong is None else (truth >= 0) | wrong

    def signals(self) -> dict[str, Floats]:
        """V, r and t where they are given, with the floor for newcomers."""
        found = {name: self.arrays[name] for name in CREDENTIALS if name in self.arrays}
        if "r" in found and self.job.newcomers is not None:
            flagged = None if "v" not in found else found["v"] <= VERIFICATION["flagged"].high
            start = self.job.policy.cold_start
            new = np.isin(self.arrays["place"], self.job.newcomers)
            found["r"] = start.apply(found["r"], np.where(new, 0, start.contributions), flagged)
        return found

    def credentials(self) -> Floats:
        """Those that are used; a row whose label is known has the mean of the others."""
        found, known = self.signals(), self.known
        return np.column_stack([np.where(known, mean, found[name]) for name, mean in self.job.used.items()])

    def columns(self) -> Floats:
        """Credentials freed of the label, with their products."""
        assert self.job.tied is not None
        return polynomial_features(self.credentials() - self.job.tied[self.y])

    def rows(self) -> LabelData:
        """As the model of contributors has them."""
        features = None if self.job.spread is None else self.job.spread.standard(self.columns())
        item, voice = self.arrays.get("item"), None
        if item is not None and self.job.groups is not None:
            voice = copy_aware_votes(item, self.who, self.job.groups)
        return LabelData(
            self.arrays["log_p"], self.y, self.who, self.count, features, item, voice,
            self.arrays.get("truth"), self.arrays.get("wrong"), self.arrays["place"], self.job.total,
        )  # fmt: skip

    def first(self, most: int) -> pl.DataFrame:
        """The first contributions of everybody in this slice."""
        columns = {"who": self.arrays["who"], "when": self.when, "place": self.arrays["place"]}
        return first_contributions(pl.DataFrame(columns), most)

    def pairs(self) -> AgreementCounts:
        """Agreement counts of each pair of contributors."""
        return agreement_counts(self.arrays["item"], self.who, self.y, self.count, len(self.job.classes))

    def given(self, names: Sequence[str]) -> ColumnMoments:
        """Means and deviations of these credentials, of rows of whose labels nothing is known."""
        found = self.signals()
        return column_moments(np.column_stack([found[name] for name in names])[~self.known])

    def vouching(self) -> CredentialStats:
        """Sums of the credentials that are used."""
        return credential_stats(self.credentials(), self.y, self.who, self.count, len(self.job.classes))


def map_slice(part: Slice, job: SliceJob, asked: Callable[..., Any], *how: Any) -> Any:
    """Apply a function to the data of a slice."""
    return asked(SliceData(part, job), *how)


def first_contributions(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """The first contributions of each contributor."""
    return rows.sort("who", "when", "place").group_by("who", maintain_order=True).head(most)


def with_global_statistics(passes: SlicePipeline, job: SliceJob) -> SliceJob:
    """The job with what it takes all slices to know of credentials and items."""
    if job.columns.reputation is not None:
        most = job.policy.cold_start.contributions
        first = passes.each("finding newcomers", map_slice, job, SliceData.first, most)
        job = replace(job, newcomers=np.sort(first_contributions(pl.concat(first), most)["place"].to_numpy()))
    if job.columns.item is not None:
        pairs = passes.sum("comparing contributors", map_slice, job, SliceData.pairs)
        job = replace(job, groups=detect_copy_groups(pairs))
    names = [name for name in SliceData(passes.slices[0], job).signals() if name in job.policy.recipe.use]
    if not names:
        return job
    found: ColumnMoments = passes.sum("reading credentials", map_slice, job, SliceData.given, names)
    means = zip(names, found.mean, np.sqrt(found.squares / max(found.rows, 1)), strict=True)
    job = replace(job, used={name: float(mean) for name, mean, deviation in means if deviation > 1e-9})
    if not job.used:
        return job
    vouching: CredentialStats = passes.sum("comparing credentials", map_slice, job, SliceData.vouching)
    job = replace(job, tied=vouching.tied())
    columns = passes.sum("scaling credentials", map_slice, job, lambda kept: column_moments(kept.columns()))
    return replace(job, spread=columns)
