"""Small tables with answers that can be worked out by hand."""

from typing import Any

import numpy as np
import polars as pl

from anml.intake.columns import choose_columns
from anml.intake.prepare import Prepared, prepare
from anml.intake.tables import read_table


def prepared(source: Any, *, task: str = "auto", now: Any = None, seed: int = 0, **columns: Any) -> Prepared:
    table = read_table(source)
    chosen, _ = choose_columns(table.frame, **columns)
    return prepare(table, chosen, task=task, now=now, seed=seed)


def labelled(**columns: Any) -> pl.DataFrame:
    """A table of the given columns with a feature and two classes."""
    rows = len(next(iter(columns.values())))
    base = {
        "size": [float(at) for at in range(rows)],
        "label": ["a" if at % 2 else "b" for at in range(rows)],
    }
    return pl.DataFrame({**base, **columns})


def mixed_table(rows: int = 60, seed: int = 0) -> pl.DataFrame:
    """One column of every kind, with gaps."""
    random = np.random.default_rng(seed)
    words = ["rain", "sun", "storm", "cold", "warm", "today", "again", "finally", "wind", "snow"]
    texts = [" ".join(random.choice(words, size=5)) + f" day {at}" for at in range(rows)]
    gap = random.random(rows) < 0.1
    size = np.where(gap, np.nan, random.normal(3, 2, rows))
    return pl.DataFrame(
        {
            "size": pl.Series(size).fill_nan(None),
            "count": random.integers(0, 9, rows),
            "colour": pl.Series(random.choice(["red", "green", "blue"], size=rows)).set(pl.Series(gap), None),
            "ripe": random.random(rows) < 0.5,
            "seen": [f"2024-0{1 + at % 9}-1{at % 10}" for at in range(rows)],
            "words": texts,
            "annotator": [f"w{at % 4}" for at in range(rows)],
            "label": random.choice(["yes", "no"], size=rows),
        }
    )
