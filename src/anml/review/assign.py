"""Assignment of annotators for additional labels: reliable on the classes in question, for a low price."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.annotators.words import FLAGGED
from anml.core.checks import Floats
from anml.core.errors import InputError
from anml.io.contributions import of_contributors
from anml.pipeline.queue import QueueInput, ReviewQueue

# Prior strength of the accuracy on all classes, in labels.
PRIOR_STRENGTH = 5.0
# Contributors need this many labels, and get at most this many times the average number of items.
MIN_LABELS, MAX_LOAD_RATIO = 10, 1.5


class Prices(NamedTuple):
    """Price of an answer: equal for all contributors, or by name; those without a price are not assigned."""

    each: float | None = None
    by: Mapping[str, float] | None = None

    def of(self, name: str) -> float | None:
        """Price of an answer by a contributor; None if unknown."""
        return self.each if self.by is None else self.by.get(name)


def read_prices(given: str | None) -> Prices:
    """Prices from a number, or from a table with the columns contributor and price."""
    if given is None:
        return Prices()
    found = {"": given} if parse_number(given) is not None else of_contributors(Path(given), "price")
    numbers = {name: parse_number(text) for name, text in found.items()}
    for name, number in numbers.items():
        if number is None or not (math.isfinite(number) and number > 0):
            raise InputError(f"a price must be a number above 0, got {found[name]!r}")
    known = {name: number for name, number in numbers.items() if number is not None}
    return Prices(known[""]) if "" in known else Prices(by=known)


def parse_number(text: str | None) -> float | None:
    """The number that a text is; None where it is none."""
    with suppress(ValueError):
        return float(text or "")
    return None


def with_assignments(looking: ReviewQueue, found: QueueInput, prices: Prices) -> ReviewQueue:
    """The list with an assigned contributor for each row."""
    who = assign_annotators(looking.rows, found.samples, found.verdicts, prices)
    rows = looking.rows.with_columns(pl.Series("assigned_to", who, dtype=pl.String))
    return replace(looking, rows=rows)


def with_prices(looking: ReviewQueue, prices: Prices) -> ReviewQueue:
    """The list with the price of each answer."""
    who = looking.rows["assigned_to"] if "assigned_to" in looking.rows.columns else [""] * looking.rows.height
    costs = [None if name is None else prices.of(name) for name in who]
    return replace(looking, rows=looking.rows.with_columns(pl.Series("price", costs, dtype=pl.Float64)))


def assign_annotators(
    rows: pl.DataFrame, samples: pl.DataFrame, verdicts: Mapping[str, str], prices: Prices
) -> list[str | None]:
    """For each row of the queue the contributor with the highest accuracy for the price, new to its item."""
    sizes = samples.group_by("contributor").len().sort("contributor")
    people = [
        name
        for name, size in sizes.iter_rows()
        if size >= MIN_LABELS and verdicts.get(name) not in (None, *FLAGGED)
        and (prices.by is None or prices.of(name) is not None)
    ]  # fmt: skip
    if not people:
        return [None] * rows.height
    classes, reliable = class_accuracy(samples, people)
    worth = reliable / np.array([prices.of(name) or 1.0 for name in people])[:, None]
    unit = "item" if "item" in samples.columns else "row"
    gave = dict(samples.group_by(unit).agg(pl.col("contributor").unique()).iter_rows())
    most = math.ceil(MAX_LOAD_RATIO * rows.height / len(people))
    load, said = np.zeros(len(people)), []
    for row in rows.iter_rows(named=True):
        about = [classes[label] for label in (row["label"], row["suggested_label"]) if label in classes]
        score = worth[:, about].mean(axis=1) if about else worth.mean(axis=1)
        busy = (load >= most) | np.isin(people, gave[row[unit]])
        score = np.where(busy, -np.inf, score)
        best = int(score.argmax())
        said.append(people[best] if np.isfinite(score[best]) else None)
        load[best] += np.isfinite(score[best])
    return said


def class_accuracy(samples: pl.DataFrame, people: list[str]) -> tuple[dict[Any, int], Floats]:
    """Probability that a label of each contributor is correct, by suggested label of the item."""
    has_labels = "suggested_label" in samples.columns
    frame = samples if has_labels else samples.with_columns(suggested_label=pl.lit(""))
    frame = frame.filter(pl.col("contributor").is_in(people) & pl.col("suggested_label").is_not_null())
    names = sorted(frame["suggested_label"].unique().to_list())
    classes = {name: at for at, name in enumerate(names)}
    usual = dict(samples.group_by("contributor").agg(pl.col("p_correct").mean()).iter_rows())
    found = np.array([[usual[name]] * max(len(names), 1) for name in people])
    sums = frame.group_by("contributor", "suggested_label").agg(n=pl.len(), right=pl.col("p_correct").sum())
    for name, label, n, right in sums.iter_rows():
        found[people.index(name), classes[label]] = (right + PRIOR_STRENGTH * usual[name]) / (
            n + PRIOR_STRENGTH
        )
    return classes, found
