"""Rows that the ways of training are tried on."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def blobs():
    """Three classes that are easy to tell, a quarter of the labels wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    x = rng.normal(size=(240, 4)) + 3 * np.eye(4)[y]
    wrong = rng.uniform(size=240) < 0.25
    given = np.where(wrong, (y + rng.integers(1, 3, 240)) % 3, y)
    clean = rng.integers(0, 3, 30)
    return x, given, y, wrong, rng.normal(size=(30, 4)) + 3 * np.eye(4)[clean], clean
