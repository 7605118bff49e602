"""A made-up consortium on real data: handwritten digits, labelled by contributors of known quality."""

from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class DemoContributor(NamedTuple):
    """One contributor: share of the rows, share of wrong labels, and what their papers say."""

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
    """Return a contributed table with wrong labels in it, and a test table with right ones."""
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    shares = np.array([member.share for member in MEMBERS])
    who = rng.choice(len(MEMBERS), size=len(y_train), p=shares / shares.sum())
    wrong = rng.uniform(size=len(y_train)) < np.array([member.wrong for member in MEMBERS])[who]
    labels = np.where(wrong, (y_train + rng.integers(1, 10, len(y_train))) % 10, y_train)
    newest = datetime(2026, 1, 1)
    days = rng.integers(0, 6 * 365, len(y_train))
    pixels = {f"pixel_{i:02d}": x_train[:, i].astype(int) for i in range(64)}
    contributed = pl.DataFrame(
        {
            **pixels,
            "label": [f"digit {digit}" for digit in labels],
            "contributor": [MEMBERS[i].name for i in who],
            "verification": [MEMBERS[i].verification for i in who],
            "reputation": [MEMBERS[i].reputation for i in who],
            "labeled_at": [(newest - timedelta(days=int(d))).date() for d in days],
        }
    )
    test = pl.DataFrame(
        {
            **{f"pixel_{i:02d}": x_test[:, i].astype(int) for i in range(64)},
            "label": [f"digit {digit}" for digit in y_test],
        }
    )
    return contributed, test
