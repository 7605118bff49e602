"""Assignment of annotators for further labels, by accuracy on the classes and by price."""

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
from anml.pipeline.review_queue import QueueInput, ReviewQueue

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
    prices = {"": given} if parse_number(given) is not None else of_contributors(Path(given), "price")
    numbers = {name: parse_number(text) for name, text in prices.items()}
    for name, number in numbers.items():
        if number is None or not (math.isfinite(number) and number > 0):
            raise InputError(f"a price must be a number above 0, got {prices[name]!r}")
    given_prices = {name: number for name, number in numbers.items() if number is not None}
    return Prices(given_prices[""]) if "" in given_prices else Prices(by=given_prices)


def parse_number(text: str | None) -> float | None:
    """Return the number in a text; None if it is not a number."""
    with suppress(ValueError):
        return float(text or "")
    return None


def with_assignments(queue: ReviewQueue, inputs: QueueInput, prices: Prices) -> ReviewQueue:
    """Add an assigned contributor to each row of the queue."""
    assigned = assign_annotators(queue.rows, inputs.samples, inputs.verdicts, prices)
    rows = queue.rows.with_columns(pl.Series("assigned_to", assigned, dtype=pl.String))
    return replace(queue, rows=rows)


def with_prices(queue: ReviewQueue, prices: Prices) -> ReviewQueue:
    """Add the price of each answer to the queue."""
    assigned = queue.rows["assigned_to"] if "assigned_to" in queue.rows.columns else [""] * queue.rows.height
    costs = [None if name is None else prices.of(name) for name in assigned]
    return replace(queue, rows=queue.rows.with_columns(pl.Series("price", costs, dtype=pl.Float64)))


def assign_annotators(
    rows: pl.DataFrame, samples: pl.DataFrame, verdicts: Mapping[str, str], prices: Prices
) -> list[str | None]:
    """For each row the contributor with the highest accuracy per price who has not labelled the item."""
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
    max_items = math.ceil(MAX_LOAD_RATIO * rows.height / len(people))
    load, assigned = np.zeros(len(people)), []
    for row in rows.iter_rows(named=True):
        indices = [classes[label] for label in (row["label"], row["suggested_label"]) if label in classes]
        score = worth[:, indices].mean(axis=1) if indices else worth.mean(axis=1)
        busy = (load >= max_items) | np.isin(people, gave[row[unit]])
        score = np.where(busy, -np.inf, score)
        best = int(score.argmax())
        assigned.append(people[best] if np.isfinite(score[best]) else None)
        load[best] += np.isfinite(score[best])
    return assigned


def class_accuracy(samples: pl.DataFrame, people: list[str]) -> tuple[dict[Any, int], Floats]:
    """Probability that a label of each contributor is correct, by suggested label of the item."""
    has_labels = "suggested_label" in samples.columns
    frame = samples if has_labels else samples.with_columns(suggested_label=pl.lit(""))
    frame = frame.filter(pl.col("contributor").is_in(people) & pl.col("suggested_label").is_not_null())
    names = sorted(frame["suggested_label"].unique().to_list())
    classes = {name: at for at, name in enumerate(names)}
    mean = dict(samples.group_by("contributor").agg(pl.col("p_correct").mean()).iter_rows())
    accuracy = np.array([[mean[name]] * max(len(names), 1) for name in people])
    sums = frame.group_by("contributor", "suggested_label").agg(n=pl.len(), right=pl.col("p_correct").sum())
    for name, label, n, right in sums.iter_rows():
        accuracy[people.index(name), classes[label]] = (right + PRIOR_STRENGTH * mean[name]) / (
            n + PRIOR_STRENGTH
        )
    return classes, accuracy
