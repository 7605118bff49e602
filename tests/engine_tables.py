"""A table for engines: items with several labels, credentials, times, known labels, predictions beside it."""

from pathlib import Path

import numpy as np
import polars as pl

from anml.core.checks import Floats


def crowd(items: int = 200, per: int = 4, people: int = 12, seed: int = 0) -> tuple[pl.DataFrame, Floats]:
    """Two of the people are bad, the last guesses in the second half of the year; and predictions."""
    rng = np.random.default_rng(seed)
    truth, item = rng.integers(0, 3, items), np.repeat(np.arange(items), per)
    who = np.concatenate([rng.permutation(people)[:per] for _ in range(items)])
    day, n = rng.integers(0, 330, len(item)), len(item)
    skill = np.r_[0.05, 0.35, np.linspace(0.8, 0.97, people - 2)][who]
    skill = np.where((who == people - 1) & (day > 165), 1 / 3, skill)
    right = rng.uniform(size=n) < skill
    y = np.where(right, truth[item], (truth[item] + rng.integers(1, 3, n)) % 3)
    p = np.full((items, 3), 0.15)
    p[np.arange(items), np.where(rng.uniform(size=items) < 0.8, truth, (truth + 1) % 3)] = 0.7
    order = rng.permutation(n)
    frame = pl.DataFrame(
        {
            "task": [f"t{at:04d}" for at in item],
            "label": [f"c{code}" for code in y],
            "contributor": [f"p{code:02d}" for code in who],
            "verification": np.clip(np.where(right, 0.7, 0.4) + rng.normal(0, 0.15, n), 0, 1),
            "reputation": np.clip(skill + rng.normal(0, 0.1, n), 0, 1),
            "when": [f"2025-{1 + each // 28:02d}-{1 + each % 28:02d}" for each in day],
            # Of a few items, which are not in every slice.
            "truth": [f"c{truth[at]}" if at < 3 else None for at in item],
        }
    )[order.tolist()]
    # Some labels are missing.
    gaps = pl.int_range(pl.len()) % 97 == 5
    return frame.with_columns(label=pl.when(~gaps).then("label")), p[item][order]


def written(frame: pl.DataFrame, folder: Path, rows: int) -> Path:
    """The table as Parquet files of so many rows."""
    folder.mkdir(parents=True)
    for at, start in enumerate(range(0, frame.height, rows)):
        frame.slice(start, rows).write_parquet(folder / f"{at}.parquet")
    return folder
