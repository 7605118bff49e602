"""A table in slices as the model of contributors sees it: the sums of its slices, one pass at a time.

A pass reads a slice, adds to files of its own, and gives back sums. A file appears whole or not at all, and
one that is there is not made again: a pass that was broken off goes on from the slices that are done.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np

from anml.annotators.fit import HypothesisFit, InMemoryTable, RowFit, fit_hypotheses, with_posteriors
from anml.annotators.model import e_step
from anml.annotators.params import EMStats, Params, TypePosteriors
from anml.annotators.periods import ChangePoints, detect_change_points
from anml.annotators.rows import LabelData, add_stats
from anml.annotators.summaries import SufficientStats, label_likelihoods, sufficient_stats
from anml.core.checks import Floats, Ints
from anml.engines.data import SliceData, map_slice, with_global_statistics
from anml.engines.read import SliceJob, write_arrays
from anml.engines.slices import Slice, SlicePipeline, temporary_path

# Rows of whole contributors that are looked at together for changes over time.
MAX_BATCH_ROWS = 2_000_000


def e_step_slice(
    part: Slice, job: SliceJob, params: Mapping[str, Params], done: Mapping[str, int]
) -> dict[str, EMStats]:
    """The posterior of the rows of a slice after one more pass into files; its sums come back.

    Parameters are by name, and so is how many passes each had before.
    """
    rows, sums = None, {}
    for name, each in params.items():
        path = state_path(job, part, name, done[name] + 1)
        if not path.is_file():
            rows = SliceData(part, job).rows() if rows is None else rows
            before = (
                load_namedtuple(TypePosteriors, state_path(job, part, name, done[name]))
                if done[name]
                else None
            )
            found, now = e_step(each, rows, before)
            write_arrays(path, **found._asdict(), **flatten_fields(now, "sum_"))
        sums[name] = load_namedtuple(EMStats, path, "sum_")
    return sums


def state_path(job: SliceJob, part: Slice, name: str, done: int) -> Path:
    """Path of the estimates for the rows of a slice after `done` iterations."""
    return job.work / f"{part.name}.{job.stage}{name.replace(' ', '-')}.{done:03d}.npz"


def flatten_fields(values: Any, start: str) -> dict[str, Any]:
    """The fields of a tuple under names that begin so."""
    return {start + name: value for name, value in values._asdict().items()}


def load_namedtuple(kind: Any, path: Path, start: str = "") -> Any:
    """A tuple whose fields are in a file, under names that begin so."""
    with np.load(path) as kept:
        return kind(*(kept[start + name] for name in kind._fields))


class SlicedTable:
    """A table in slices; sums of passes that are done are kept, so that a run that was broken off goes on."""

    def __init__(self, passes: SlicePipeline, job: SliceJob) -> None:
        self.passes, self.job = passes, job
        self.about = passes.sum("counting", map_slice, job, lambda kept: kept.rows().about)
        self.sweeps = 0
        self.done: dict[str, int] = {}

    def few(self, most: int) -> InMemoryTable | None:
        """About so many of the rows, in memory."""
        if self.job.total <= most:
            return None
        some, places = zip(*self.passes.each("choosing rows", subsample_slice, self.job, most), strict=True)
        order = np.argsort(np.concatenate(places), kind="stable")

        def joined(name: str) -> Any:
            each = [getattr(rows, name) for rows in some]
            if name in ("item", "voice") and each[0] is not None:
                starts = np.cumsum([0, *(int(one.max(initial=-1)) + 1 for one in each)])
                each = [one + start for one, start in zip(each, starts, strict=False)]
            return None if each[0] is None else np.concatenate(each)[order]

        rest = {name: joined(name) for name in ("features", "item", "voice", "truth", "wrong")}
        return InMemoryTable(LabelData(joined("log_p"), joined("y"), joined("who"), some[0].count, **rest))

    def sweep(self, params: Mapping[str, Params]) -> dict[str, EMStats]:
        """One pass of each of these over all slices."""
        self.sweeps += 1
        done = {name: self.done.get(name, 0) for name in params}
        path = self.job.work / f"{self.job.stage}pass-{self.sweeps:03d}.npz"
        if not path.is_file():
            each = self.passes.each(f"pass {self.sweeps}", e_step_slice, self.job, params, done)
            sums = reduce(lambda one, two: {name: add_stats(one[name], two[name]) for name in one}, each)
            write_arrays(path, **reduce(or_, (flatten_fields(now, f"{name}|") for name, now in sums.items())))
        for part in self.passes.slices:
            for name, before in done.items():
                state_path(self.job, part, name, before).unlink(missing_ok=True)
        self.done |= {name: before + 1 for name, before in done.items()}
        return {name: load_namedtuple(EMStats, path, f"{name}|") for name in params}


def subsample_slice(part: Slice, job: SliceJob, most: int) -> tuple[LabelData, Ints]:
    """About so many rows of the whole table, as far as they are in this slice, and their places."""
    rows = SliceData(part, job).rows()
    which = rows.thinned(most)
    return rows.some(which), rows.place[which]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fits to all slices: by name, how many passes each had, and the posterior of each."""

    job: SliceJob
    fits: Mapping[str, HypothesisFit]
    done: Mapping[str, int]
    weights: Floats

    def at(self, part: Slice) -> tuple[LabelData, list[RowFit]]:
        """The rows of a slice, and what each fit believes of them."""
        rows = SliceData(part, self.job).rows()
        return rows, [
            with_posteriors(
                one, rows, load_namedtuple(TypePosteriors, state_path(self.job, part, name, self.done[name]))
            )
            for name, one in self.fits.items()
        ]


def fit_slices(passes: SlicePipeline, job: SliceJob) -> Fitted:
    """The model of contributors, fitted to all slices; where somebody changed, again with two of them."""
    fitted = _fitted(passes, with_global_statistics(passes, job))
    changed = _changes(passes, fitted) if job.dated else None
    if changed is None or not changed.any:
        return fitted
    return _fitted(passes, with_global_statistics(passes, replace(job, changed=changed)))


def _fitted(passes: SlicePipeline, job: SliceJob) -> Fitted:
    table = SlicedTable(passes, job)
    fits, weights = fit_hypotheses(table, people=True)
    # Their sums nobody needs any more.
    nothing = EMStats(*(np.zeros(0) for _ in EMStats._fields))
    slim = {name: replace(fit, sums=nothing) for name, fit in fits.items()}
    return Fitted(job, slim, {name: table.done[name] for name in fits}, weights)


def slice_sufficient_stats(part: Slice, fitted: Fitted) -> SufficientStats:
    """Compute the sufficient statistics of contributors from a slice."""
    return sufficient_stats(*fitted.at(part), fitted.weights)


def slice_time_likelihoods(part: Slice, fitted: Fitted) -> None:
    """Write contributor, time and likelihoods (correct, wrong) of each label of a slice, by contributor."""
    path = fitted.job.work / f"{part.name}.times.npy"
    if not path.is_file():
        kept = SliceData(part, fitted.job)
        columns = np.stack([kept.who, kept.when, *label_likelihoods(*fitted.at(part), fitted.weights)])
        with temporary_path(path) as draft, draft.open("wb") as file:
            np.save(file, columns[:, np.argsort(kept.who, kind="stable")])


def _changes(passes: SlicePipeline, fitted: Fitted) -> ChangePoints:
    """Detect change points for batches of contributors; the rows of each slice are sorted by contributor."""
    list(passes.each("detecting change points", slice_time_likelihoods, fitted))
    files = [np.load(passes.work / f"{part.name}.times.npy", mmap_mode="r") for part in passes.slices]
    count = len(fitted.job.names)
    rows = sum(np.bincount(file[0].astype(np.int64), minlength=count) for file in files)
    found = []
    for people in np.split(np.arange(count), np.flatnonzero(np.diff(np.cumsum(rows) // MAX_BATCH_ROWS)) + 1):
        ends = people[0], people[-1] + 1
        mine = [file[:, slice(*np.searchsorted(file[0], ends))] for file in files]
        who, when, right, wrong = np.concatenate(mine, axis=1)
        found.append(detect_change_points(right, wrong, who.astype(np.int64) - people[0], when, len(people)))
    return ChangePoints(*(np.concatenate(each) for each in zip(*found, strict=True)))
