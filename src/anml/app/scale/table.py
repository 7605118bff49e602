"""A table in slices as the model of contributors sees it: the sums of its slices, one pass at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.app.scale import work
from anml.app.scale.read import SliceJob, first_of, write_arrays
from anml.app.scale.slices import Slice
from anml.core.people.copies import copies_among
from anml.core.people.fit import OneSlice, fit_table
from anml.core.people.params import Params, Statistics
from anml.core.people.periods import Changes, changes
from anml.core.people.rows import Rows, Spread, added
from anml.core.progress import Progress

# Rows of whole contributors that are looked at together for changes over time.
TOGETHER = 2_000_000


# Runs a function of a slice, and of what all share, over slices; results come in order. It may run one again.
Engine = Callable[[Callable[[Slice, Any], Any], Sequence[Slice], Any], Iterator[Any]]


def local(work: Callable[[Slice, Any], Any], slices: Sequence[Slice], shared: Any) -> Iterator[Any]:
    """The engine of this process: one slice after another, when its result is asked for."""
    for each in slices:
        yield work(each, shared)


@dataclass(frozen=True, eq=False)
class Passes:
    """Who does the work: slices, engine, and whom to tell how far it is."""

    slices: Sequence[Slice]
    engine: Engine
    progress: Progress | None
    work: Path

    def each(self, what: str, work: Any, shared: Any) -> Iterator[Any]:
        """Results of one pass, in order, with progress."""
        for at, result in enumerate(self.engine(work, self.slices, shared)):
            if self.progress is not None:
                self.progress(what, at + 1, len(self.slices))
            yield result

    def sum(self, what: str, work: Any, shared: Any) -> Any:
        """The sum of one pass."""
        return reduce(added, self.each(what, work, shared))


def informed(
    passes: Passes, job: SliceJob, first: Sequence[pl.DataFrame], changed: Changes | None = None
) -> SliceJob:
    """The job with what it takes all slices to know of credentials and items."""
    job = replace(job, changed=changed)
    if job.columns.reputation is not None:
        newest = first_of(pl.concat(first), job.policy.cold_start.contributions)
        job = replace(job, newcomers=np.sort(newest["place"].to_numpy()))
    if job.columns.item is not None:
        job = replace(job, groups=copies_among(passes.sum("comparing contributors", work.pair_slice, job)))
    given = work.SliceData(passes.slices[0], job).signals()
    names = [name for name in given if name in job.policy.recipe.use]
    if not names:
        return job
    found: Spread = passes.sum("reading credentials", work.given_slice, (job, names))
    means = zip(names, found.mean, np.sqrt(found.squares / max(found.rows, 1)), strict=True)
    job = replace(job, used={name: float(mean) for name, mean, deviation in means if deviation > 1e-9})
    if not job.used:
        return job
    job = replace(job, tied=passes.sum("comparing credentials", work.vouch_slice, job).tied())
    return replace(job, spread=passes.sum("scaling credentials", work.spread_slice, job))


class Sliced:
    """A table in slices; sums of passes that are done are kept, so that a run that was broken off goes on."""

    def __init__(self, passes: Passes, job: SliceJob) -> None:
        self.passes, self.job = passes, job
        self.about = passes.sum("counting", work.about_slice, job)
        self.sweeps = 0
        self.done: dict[str, int] = {}

    def few(self, most: int) -> OneSlice | None:
        """About so many of the rows, in memory."""
        if self.job.total <= most:
            return None
        parts = list(self.passes.each("choosing rows", work.few_slice, (self.job, most)))
        order = np.argsort(np.concatenate([part.pop("place") for part in parts]), kind="stable")
        named: dict[str, Any] = {}
        for name in parts[0]:
            each = [part[name] for part in parts]
            if name in ("item", "voice") and each[0] is not None:
                starts = np.cumsum([0, *(int(one.max(initial=-1)) + 1 for one in each)])
                each = [one + start for one, start in zip(each, starts, strict=False)]
            named[name] = None if each[0] is None else np.concatenate(each)[order]
        count = len(self.about.given)
        return OneSlice(Rows(named.pop("log_p"), named.pop("y"), named.pop("who"), count, **named))

    def sweep(self, params: Mapping[str, Params]) -> dict[str, Statistics]:
        """One pass of each of these over all slices."""
        self.sweeps += 1
        done = {name: self.done.get(name, 0) for name in params}
        path = self.job.work / f"{self.job.stage}pass-{self.sweeps:03d}.npz"
        if not path.is_file():
            sums: dict[str, Statistics] = {}
            step = work.Step(self.job, params, done)
            for part in self.passes.each(f"pass {self.sweeps}", work.believe_slice, step):
                sums = {name: added(sums[name], now) if name in sums else now for name, now in part.items()}
            write_arrays(path, **{
                f"{name}|{one}": value for name, now in sums.items() for one, value in now._asdict().items()
            })  # fmt: skip
        for part in self.passes.slices:
            for name, before in done.items():
                work.state_path(self.job, part, name, before).unlink(missing_ok=True)
        self.done |= {name: before + 1 for name, before in done.items()}
        with np.load(path) as kept:
            return {name: Statistics(*(kept[f"{name}|{f}"] for f in Statistics._fields)) for name in params}


def fit_slices(passes: Passes, job: SliceJob, first: Sequence[pl.DataFrame]) -> work.Fitted:
    """The model of contributors, fitted to all slices; where somebody changed, again with two of them."""
    fitted = _fitted(passes, informed(passes, job, first))
    changed = _changes(passes, fitted) if job.fresh else None
    if changed is None or not changed.any:
        return fitted
    return _fitted(passes, informed(passes, job, first, changed))


def _fitted(passes: Passes, job: SliceJob) -> work.Fitted:
    table = Sliced(passes, job)
    fits, weights = fit_table(table, people=True)
    return work.Fitted(job, fits, {name: table.done[name] for name in fits}, weights).plain()


def _changes(passes: Passes, fitted: work.Fitted) -> Changes:
    """Who changed over time, some contributors at a time: each slice has its rows by contributor."""
    counts = np.stack(list(passes.each("looking at times", work.time_slice, fitted)))
    ends = np.cumsum(counts, axis=1)
    files = [np.load(passes.work / f"{part.name}.times.npy", mmap_mode="r") for part in passes.slices]
    group = np.cumsum(counts.sum(axis=0)) // TOGETHER
    found = []
    cuts = np.flatnonzero(np.diff(group)) + 1
    for low, high in zip(np.r_[0, cuts], np.r_[cuts, len(group)] - 1, strict=True):
        starts = ends[:, low] - counts[:, low]
        mine = [file[:, start:end] for file, start, end in zip(files, starts, ends[:, high], strict=True)]
        when, right, wrong = np.concatenate(mine, axis=1)
        who = np.concatenate([np.repeat(np.arange(high - low + 1), each[low : high + 1]) for each in counts])
        found.append(changes(right, wrong, who, when, high - low + 1))
    return Changes(*(np.concatenate(each) for each in zip(*found, strict=True)))
