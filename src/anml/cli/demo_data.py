"""Simulated labels: digits labelled by contributors with known error rates."""

from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from anml.core.checks import Array


class DemoContributor(NamedTuple):
    """A simulated contributor: share of the rows, label error rate, v and r levels."""

    name: str
    share: float
    wrong: float
    verification: str
    reputation: str


MEMBERS = [
    DemoContributor("lab-oslo", 0.14, 0.01, "reproduced", "top"),
    DemoContributor("lab-kyoto", 0.13, 0.02, "peer-reviewed", "established"),
    DemoContributor("clinic-lima", 0.11, 0.03, "peer-reviewed", "established"),
    DemoContributor("clinic-accra", 0.10, 0.03, "institution", "established"),
    DemoContributor("student-ana", 0.07, 0.03, "self-attested", "new"),
    DemoContributor("student-ben", 0.06, 0.04, "self-attested", "new"),
    DemoContributor("newcomer-zoe", 0.006, 0.0, "self-attested", "new"),
    DemoContributor("crowd-17", 0.09, 0.20, "self-attested", "new"),
    DemoContributor("vendor-alpha", 0.08, 0.35, "institution", "established"),
    DemoContributor("vendor-beta", 0.09, 0.90, "self-attested", "poor"),
    DemoContributor("click-farm-1", 0.07, 0.90, "self-attested", "new"),
    DemoContributor("click-farm-2", 0.054, 0.90, "institution", "established"),
]


def demo_tables(seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a table with wrong labels, and a test table with correct labels."""
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    shares, errors = np.array([(member.share, member.wrong) for member in MEMBERS]).T
    code = rng.choice(len(MEMBERS), size=len(y_train), p=shares / shares.sum())
    wrong = rng.uniform(size=len(y_train)) < errors[code]
    labels = np.where(wrong, (y_train + rng.integers(1, 10, len(y_train))) % 10, y_train)
    members = [MEMBERS[i] for i in code]
    days = rng.integers(0, 6 * 365, len(y_train))
    metadata: dict[str, list[Any]] = {"contributor": [each.name for each in members]}
    metadata |= {name: [getattr(each, name) for each in members] for name in ("verification", "reputation")}
    metadata["labeled_at"] = [date(2026, 1, 1) - timedelta(days=int(d)) for d in days]
    return _digits(x_train, labels).hstack(pl.DataFrame(metadata)), _digits(x_test, y_test)


def _digits(x: Array, labels: Array) -> pl.DataFrame:
    pixels = {f"pixel_{i:02d}": x[:, i].astype(int) for i in range(64)}
    return pl.DataFrame({**pixels, "label": [f"digit {digit}" for digit in labels]})
