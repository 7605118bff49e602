"""Small tables with answers that can be worked out by hand."""

from typing import Any

import numpy as np
import polars as pl

from anml.io.columns import choose_columns
from anml.io.encode.preparation import FeatureEncoder
from anml.io.plain import normalise_types
from anml.io.prepare import Prepared, prepare
from anml.io.tables import read_table

# What the files in `tests/data` are recognised as.
FILES = {
    "label_studio.json": "label-studio",
    "argilla_nested.json": "argilla",
    "argilla_flat.json": "argilla",
    "toloka.tsv": "toloka",
    "mturk.csv": "mturk",
    "crowd_long.csv": "table",
    "crowd_wide.csv": "table",
    "papers.csv": "table",
}
ROWS = 30


def prepared(source: Any, *, task: str = "auto", now: Any = None, seed: int = 0, **columns: Any) -> Prepared:
    table = read_table(source)
    chosen, _ = choose_columns(table.frame, **columns)
    return prepare(table, chosen, task=task, now=now, seed=seed)


def labelled(**columns: Any) -> pl.DataFrame:
    """A table of the given columns with a feature and two classes."""
    rows = len(next(iter(columns.values())))
    base = {
        "size": [at * 1.25 for at in range(rows)],
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


def table(**columns: Any) -> pl.DataFrame:
    """Thirty rows with a feature and a label, and what a test adds."""
    base: dict[str, Any] = {"size": [at / 7 for at in range(ROWS)], "label": ["a", "b"] * (ROWS // 2)}
    return pl.DataFrame({**base, **columns})


def cycle(*values: Any) -> list[Any]:
    return [values[at % len(values)] for at in range(ROWS)]


def fitted(*values: Any, seed: int = 0, dtype: Any = None) -> tuple[FeatureEncoder, np.ndarray[Any, Any]]:
    frame = normalise_types(pl.DataFrame({"c": pl.Series(values, dtype=dtype, strict=False)}))
    preparation = FeatureEncoder.fit(frame, ["c"], seed)
    return preparation, preparation.transform(frame)


def applied(preparation: FeatureEncoder, *values: Any, dtype: Any = None) -> list[list[float]]:
    frame = normalise_types(pl.DataFrame({"c": pl.Series(values, dtype=dtype, strict=False)}))
    made: list[list[float]] = preparation.transform(frame).tolist()
    return made
