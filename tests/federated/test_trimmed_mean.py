"""The trimmed mean of every parameter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anml.core.errors import InputError
from anml.federated.rules import trimmed_mean

LINE = np.array([[0.0], [1.0], [2.0], [3.0], [90.0]])


@pytest.fixture(scope="module")
def subset():
    return np.random.default_rng(3).normal(size=(15, 40))


def test_trimmed_mean_as_scipy(subset):
    assert trimmed_mean(subset, 3).update == pytest.approx(stats.trim_mean(subset, 0.2, axis=0))


def test_by_hand():
    result = trimmed_mean(LINE, malicious=1)
    assert result.update.tolist() == [2.0]
    assert result.scores.tolist() == [0, 1, 1, 1, 0]


@settings(max_examples=20)
@given(st.integers(3, 11), st.integers(0, 99))
def test_from_none_to_nearly_all_it_goes_from_mean_to_median(n, seed):
    updates = np.random.default_rng(seed).normal(size=(n, 5))
    np.testing.assert_allclose(trimmed_mean(updates, 0).update, updates.mean(axis=0))
    np.testing.assert_allclose(trimmed_mean(updates, (n - 1) // 2).update, np.median(updates, axis=0))


@settings(max_examples=20)
@given(st.integers(0, 99))
def test_the_share_of_parameters_in_which_a_client_stays(seed):
    updates = np.random.default_rng(seed).normal(size=(7, 6))
    order = updates.argsort(axis=0).argsort(axis=0)
    stays = ((order >= 2) & (order < 5)).mean(axis=1)
    np.testing.assert_allclose(trimmed_mean(updates, 2).scores, stays)


def test_as_many_as_half_cannot_be_trimmed():
    with pytest.raises(InputError, match=r"the trimmed mean needs 2 f < n, got f = 2 for n = 4"):
        trimmed_mean(LINE[:4], 2)
