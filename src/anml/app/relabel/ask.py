"""Whom to ask for a second label: people who are reliable on the classes in question, and what that costs."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.app.relabel.queue import Found, Looking
from anml.core.checks import Floats
from anml.core.errors import InputError
from anml.core.people.words import ACCUSED
from anml.intake.contributions import of_contributors

# Labels of a class count beside so many of all classes: few say little of a class.
SHRINK = 5.0
# Nobody with fewer labels is asked; and nobody gets more than so many times an equal part of the work.
LEAST, MOST = 10, 1.5


class Prices(NamedTuple):
    """What an answer costs: the same of everybody, or by name; somebody without a price is not asked."""

    each: float | None = None
    by: Mapping[str, float] | None = None

    def of(self, name: str) -> float | None:
        """What an answer by somebody costs; None where nobody said."""
        return self.each if self.by is None else self.by.get(name)


def read_prices(given: str | None) -> Prices:
    """Prices from a number, or from a table with the columns contributor and price."""
    if given is None:
        return Prices()
    found = {"": given} if number_of(given) is not None else of_contributors(Path(given), "price")
    numbers = {name: number_of(text) for name, text in found.items()}
    for name, number in numbers.items():
        if number is None or not (math.isfinite(number) and number > 0):
            raise InputError(f"a price must be a number above 0, got {found[name]!r}")
    known = {name: number for name, number in numbers.items() if number is not None}
    return Prices(known[""]) if "" in known else Prices(by=known)


def number_of(text: str | None) -> float | None:
    """The number that a text is; None where it is none."""
    with suppress(ValueError):
        return float(text or "")
    return None


def asked(looking: Looking, found: Found, prices: Prices) -> Looking:
    """The list with whom to ask, and what that costs where prices are known."""
    who = whom_to_ask(looking.rows, found.samples, found.verdicts, prices)
    rows = looking.rows.with_columns(pl.Series("ask", who, dtype=pl.String))
    return replace(looking, rows=rows)


def priced(looking: Looking, prices: Prices) -> Looking:
    """The list with what each answer costs."""
    who = looking.rows["ask"] if "ask" in looking.rows.columns else [""] * looking.rows.height
    costs = [None if name is None else prices.of(name) for name in who]
    return replace(looking, rows=looking.rows.with_columns(pl.Series("price", costs, dtype=pl.Float64)))


def whom_to_ask(
    rows: pl.DataFrame, samples: pl.DataFrame, verdicts: Mapping[str, str], prices: Prices
) -> list[str | None]:
    """For each row of the queue somebody who has not labelled its item, the most reliable for the price."""
    sizes = samples.group_by("contributor").len().sort("contributor")
    people = [
        name
        for name, size in sizes.iter_rows()
        if size >= LEAST and verdicts.get(name) not in (None, *ACCUSED)
        and (prices.by is None or prices.of(name) is not None)
    ]  # fmt: skip
    if not people:
        return [None] * rows.height
    classes, reliable = reliability(samples, people)
    worth = reliable / np.array([prices.of(name) or 1.0 for name in people])[:, None]
    unit = "item" if "item" in samples.columns else "row"
    gave = dict(samples.group_by(unit).agg(pl.col("contributor").unique()).iter_rows())
    most = math.ceil(MOST * rows.height / len(people))
    load, said = np.zeros(len(people)), []
    for row in rows.iter_rows(named=True):
        about = [classes[label] for label in (row["given"], row["suggested"]) if label in classes]
        score = worth[:, about].mean(axis=1) if about else worth.mean(axis=1)
        busy = (load >= most) | np.isin(people, gave[row[unit]])
        score = np.where(busy, -np.inf, score)
        best = int(score.argmax())
        said.append(people[best] if np.isfinite(score[best]) else None)
        load[best] += np.isfinite(score[best])
    return said


def reliability(samples: pl.DataFrame, people: list[str]) -> tuple[dict[Any, int], Floats]:
    """How likely a label of each of the people is right, by the class that the item seems to have."""
    frame = samples if "suggested" in samples.columns else samples.with_columns(suggested=pl.lit(""))
    frame = frame.filter(pl.col("contributor").is_in(people) & pl.col("suggested").is_not_null())
    names = sorted(frame["suggested"].unique().to_list())
    classes = {name: at for at, name in enumerate(names)}
    usual = dict(samples.group_by("contributor").agg(pl.col("p_correct").mean()).iter_rows())
    found = np.array([[usual[name]] * max(len(names), 1) for name in people])
    sums = frame.group_by("contributor", "suggested").agg(n=pl.len(), right=pl.col("p_correct").sum())
    for name, label, n, right in sums.iter_rows():
        found[people.index(name), classes[label]] = (right + SHRINK * usual[name]) / (n + SHRINK)
    return classes, found
