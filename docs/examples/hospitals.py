"""Simulate hospitals.parquet, 800 stays at four hospitals, and adjudicated.parquet, 300 that a panel checked.

South misses readmissions to other hospitals: most of its readmissions are recorded as none.
"""

from datetime import date, timedelta

import numpy as np
import polars as pl

rng = np.random.default_rng(7)
HOSPITALS = {"north": 0.03, "east": 0.04, "south": 0.75, "west": 0.03}


def stays(count: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Return stays with features at discharge, their hospitals, and readmissions."""
    age = rng.normal(66, 12, count).clip(18, 98).round()
    diabetes = rng.uniform(size=count) < 0.3
    creatinine = rng.gamma(6, 0.18, count) + 0.5 * diabetes
    earlier = rng.poisson(1.2, count)
    risk = 0.12 * (age - 66) + 2.2 * (creatinine - 1.2) + 1.4 * (earlier - 1.2) + 1.2 * diabetes
    back = risk + rng.logistic(0, 0.35, count) > 0.3
    where = rng.choice(list(HOSPITALS), count)
    frame = pl.DataFrame(
        {
            "stay_id": rng.choice(90_000, count, replace=False) + 10_000,
            "hospital": where.tolist(),
            "discharged": [date(2024, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 700, count)],
            "age": age,
            "diabetes": diabetes,
            "creatinine": [None if gap else round(float(c), 2)
                           for c, gap in zip(creatinine, rng.uniform(size=count) < 0.1, strict=True)],
            "earlier_stays": earlier,
            "ward": rng.choice(["medicine", "surgery", "cardiology"], count).tolist(),
        }
    )  # fmt: skip
    return frame, where, back


def as_words(back: np.ndarray) -> pl.Series:
    """Return the label column of the registry."""
    return pl.Series("readmitted", np.where(back, "yes", "no").tolist())


frame, where, back = stays(800)
missed = back & (rng.uniform(size=800) < [HOSPITALS[name] for name in where])
frame.with_columns(as_words(back & ~missed)).write_parquet("hospitals.parquet")
checked, _, right = stays(300)
checked.with_columns(as_words(right)).write_parquet("adjudicated.parquet")
print(f"800 stays at {len(HOSPITALS)} hospitals, and 300 that a panel checked")
