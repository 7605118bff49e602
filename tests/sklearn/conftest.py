"""Fixtures that tests of several scikit-learn modules share."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from anml.assessment.assess import assess
from anml.sklearn import estimators


@pytest.fixture
def inputs(monkeypatch):
    """Record the inputs of `assess`; if x has no columns, true labels replace the features."""
    calls = []

    def record(x, y, task, classes, known, policy, **more):
        calls.append((x, y, known))
        stand_in = x if x.shape[1] else np.column_stack([y, np.arange(len(y)) % 3]).astype(float)
        plain = replace(known, predictions=None, truth=None, wrong=None)
        return assess(stand_in, y, task, classes, plain, policy, **more)

    monkeypatch.setattr(estimators, "assess", record)
    return calls


@pytest.fixture(scope="module")
def consortium():
    """Wine with four contributors, one of whom gives every sample a random wrong label."""
    x, y = load_wine(return_X_y=True)
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=0)
    rng = np.random.default_rng(0)
    contributor = np.array(["ann", "bob", "cat", "eve"])[rng.integers(0, 4, len(y))]
    noisy = np.where(contributor == "eve", (y + rng.integers(1, 3, len(y))) % 3, y)
    return x, noisy, contributor, x_test, y_test
