"""What is done with one slice in each pass: read it, add to files of its own, and give back sums.

A file appears whole or not at all, and one that is there is not made again: a pass that was broken off goes
on from the slices that are done.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anml.app.scale.read import SliceJob, write_arrays
from anml.app.scale.slices import Slice, drafted
from anml.core.checks import Floats, Ints
from anml.core.people.copies import Pairs, pairs_of
from anml.core.people.fit import Climbed, Fit, fit_of
from anml.core.people.model import e_step
from anml.core.people.params import Params, Posterior, Statistics
from anml.core.people.rows import (
    About,
    Rows,
    Spread,
    Vouching,
    spread_of,
    voices,
    vouching_of,
    with_products,
)
from anml.core.people.told import Told, tell, told_of_time
from anml.core.signals.verification import VERIFICATION

# Credentials, in the order of their columns.
CREDENTIALS = ("v", "r", "t")


class SliceData:
    """The arrays of a slice, with what is known beside them."""

    def __init__(self, part: Slice, job: SliceJob) -> None:
        with np.load(job.work / f"{part.name}.npz") as kept:
            self.arrays = {name: kept[name] for name in kept.files}
        self.job = job
        self.y, self.who, self.count = self.arrays["y"], self.arrays["who"], len(job.names)
        self.when = -self.arrays["age"]
        if job.changed is not None:
            self.who, owner = job.changed.codes(self.who, self.when)
            self.count = len(owner)

    @property
    def known(self) -> Any:
        """Rows of which it is known whether their label is right."""
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
        return with_products(self.credentials() - self.job.tied[self.y])

    def rows(self) -> Rows:
        """As the model of contributors has them."""
        features = None
        if self.job.spread is not None:
            features = self.job.spread.standard(self.columns())
        item, voice = self.arrays.get("item"), None
        if item is not None and self.job.groups is not None:
            voice = voices(item, self.who, self.job.groups)
        return Rows(
            self.arrays["log_p"], self.y, self.who, self.count, features, item, voice,
            self.arrays.get("truth"), self.arrays.get("wrong"), self.arrays["place"], self.job.total,
        )  # fmt: skip


def given_slice(part: Slice, given: tuple[SliceJob, list[str]]) -> Spread:
    """Means and deviations of these credentials, of rows of whose labels nothing is known."""
    job, names = given
    kept = SliceData(part, job)
    found = kept.signals()
    return spread_of(np.column_stack([found[name] for name in names])[~kept.known])


def vouch_slice(part: Slice, job: SliceJob) -> Vouching:
    """Sums of the credentials of a slice."""
    kept = SliceData(part, job)
    return vouching_of(kept.credentials(), kept.y, kept.who, kept.count, len(job.classes))


def spread_slice(part: Slice, job: SliceJob) -> Spread:
    """Means and deviations of the credentials of a slice."""
    return spread_of(SliceData(part, job).columns())


def pair_slice(part: Slice, job: SliceJob) -> Pairs:
    """How far each two contributors agree in a slice."""
    kept = SliceData(part, job)
    return pairs_of(kept.arrays["item"], kept.who, kept.y, kept.count, len(job.classes))


def about_slice(part: Slice, job: SliceJob) -> About:
    """What fits start from."""
    return SliceData(part, job).rows().about


def few_slice(part: Slice, few: tuple[SliceJob, int]) -> dict[str, Any]:
    """About so many rows of the whole table, as far as they are in this slice."""
    job, most = few
    rows = SliceData(part, job).rows()
    which = rows.thinned(most)
    chosen = rows.some(which)
    named = ("log_p", "y", "who", "features", "item", "voice", "truth", "wrong")
    return {name: getattr(chosen, name) for name in named} | {"place": rows.place[which]}


class Step(NamedTuple):
    """One pass of the model of contributors: parameters by name, and how many passes each had before."""

    job: SliceJob
    params: Mapping[str, Params]
    done: Mapping[str, int]


def believe_slice(part: Slice, step: Step) -> dict[str, Statistics]:
    """The posterior of the rows of a slice after one more pass into files; its sums come back."""
    rows, sums = None, {}
    for name, params in step.params.items():
        done = step.done[name]
        path = state_path(step.job, part, name, done + 1)
        if path.is_file():
            with np.load(path) as kept:
                sums[name] = Statistics(*(kept[f"sum_{each}"] for each in Statistics._fields))
            continue
        rows = SliceData(part, step.job).rows() if rows is None else rows
        before = _state(step.job, part, name, done) if done else None
        found, now = e_step(params, rows, before)
        write_arrays(
            path, **found._asdict(), **{f"sum_{each}": value for each, value in now._asdict().items()}
        )
        sums[name] = now
    return sums


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fits to all slices: by name, how many passes each had, and the posterior of each."""

    job: SliceJob
    fits: Mapping[str, Climbed]
    done: Mapping[str, int]
    weights: Floats

    def at(self, part: Slice) -> tuple[Rows, list[Fit]]:
        """The rows of a slice, and what each fit believes of them."""
        rows = SliceData(part, self.job).rows()
        return rows, [
            fit_of(one, rows, _state(self.job, part, name, self.done[name]))
            for name, one in self.fits.items()
        ]

    def plain(self) -> "Fitted":
        """Without sums, which nobody needs any more."""
        nothing = Statistics(*(np.zeros(0) for _ in Statistics._fields))
        return replace(self, fits={name: replace(fit, sums=nothing) for name, fit in self.fits.items()})


def tell_slice(part: Slice, fitted: Fitted) -> Told:
    """What the rows of a slice tell of people."""
    return tell(*fitted.at(part), fitted.weights)


def time_slice(part: Slice, fitted: Fitted) -> Ints:
    """Times of labels and how likely each is if right and if wrong, by contributor, into a file; how many."""
    kept = SliceData(part, fitted.job)
    path = fitted.job.work / f"{part.name}.times.npy"
    order = np.argsort(kept.who, kind="stable")
    if not path.is_file():
        right, wrong = told_of_time(*fitted.at(part), fitted.weights)
        with drafted(path) as draft, draft.open("wb") as file:
            np.save(file, np.stack([kept.when, right, wrong])[:, order])
    return np.bincount(kept.who, minlength=kept.count)


def state_path(job: SliceJob, part: Slice, name: str, done: int) -> Path:
    """Where beliefs in the rows of a slice are after so many passes."""
    return job.work / f"{part.name}.{job.stage}{name.replace(' ', '-')}.{done:03d}.npz"


def _state(job: SliceJob, part: Slice, name: str, done: int) -> Posterior:
    with np.load(state_path(job, part, name, done)) as kept:
        return Posterior(*(kept[each] for each in Posterior._fields))
