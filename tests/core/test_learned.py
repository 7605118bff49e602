"""Reputation learned from a run: by hand where the model is sure, and honest where it is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.signals.learned import learned_reputation


def test_a_model_that_is_sure_counts_labels():
    odds = np.r_[np.full(50, 20.0), np.full(25, 20.0), np.full(25, -20.0)]
    found = learned_reputation(odds, np.repeat([0, 1], 50))
    np.testing.assert_allclose(found.good, [50, 25], atol=1e-3)
    np.testing.assert_allclose(found.bad, [0, 25], atol=1e-3)
    assert found.low[0] > found.high[1]
    assert found.low[1] < 0.5 < found.high[1]


def test_a_model_that_cannot_tell_is_worth_nothing():
    found = learned_reputation(np.zeros(100), np.repeat([0, 1], 50))
    np.testing.assert_allclose(found.good + found.bad, 0, atol=1e-6)
    assert found.high[0] - found.low[0] > 0.3


def test_worth_lies_between_nothing_and_all_and_grows_with_sureness():
    rng = np.random.default_rng(0)
    right = rng.uniform(size=400) < 0.8
    codes = np.arange(400) % 4
    worth = [
        float((found.good + found.bad).sum())
        for sure in (0.5, 2.0, 8.0)
        for found in [learned_reputation(np.where(right, sure, -sure), codes)]
    ]
    assert 0 <= worth[0] < worth[1] < worth[2] <= 400


def test_few_rows_do_not_convict():
    odds = np.r_[np.full(300, 8.0), np.full(3, -8.0)]
    found = learned_reputation(odds, np.repeat([0, 1, 2, 3], [100, 100, 100, 3]))
    assert found.high[3] > 0.5
    assert found.r[3] < found.r[0]


def test_it_finds_the_true_share_behind_a_model_that_is_often_wrong():
    # The model agrees with four in five right labels and with one in five wrong ones: odds of four to one.
    rng = np.random.default_rng(1)
    true = np.array([0.95, 0.7, 0.4])
    codes = np.repeat([0, 1, 2], 3_000)
    right = rng.uniform(size=9_000) < true[codes]
    agrees = rng.uniform(size=9_000) < np.where(right, 0.8, 0.2)
    found = learned_reputation(np.where(agrees, np.log(4.0), -np.log(4.0)), codes)
    np.testing.assert_allclose(found.r, true, atol=0.05)
    assert ((found.low < true) & (true < found.high)).all()
    # Four in five right is worth far less than seeing.
    assert ((found.good + found.bad) < 1_800).all()


@given(st.lists(st.tuples(st.floats(-30, 30), st.integers(0, 3)), min_size=1, max_size=60))
def test_bounds(pairs):
    odds, codes = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    _, codes = np.unique(codes, return_inverse=True)
    found = learned_reputation(odds, codes)
    assert ((found.low <= found.r + 1e-9) & (found.r <= found.high + 1e-9)).all()
    assert ((found.low >= 0) & (found.high <= 1)).all()
    worth = found.good + found.bad
    assert (worth >= 0).all()
    assert (worth <= np.bincount(codes) + 1e-6).all()


def test_labels_in_another_order_change_nothing():
    rng = np.random.default_rng(2)
    odds, codes = rng.normal(1, 2, 60), np.arange(60) % 3
    order = rng.permutation(60)
    for a, b in zip(
        learned_reputation(odds, codes), learned_reputation(odds[order], codes[order]), strict=True
    ):
        assert a == pytest.approx(b)
