"""Multi-Krum: the best scores, averaged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.federated.client_krum import krum, multi_krum

LINE = np.array([[0.0], [1.0], [2.0], [3.0], [90.0]])


def test_multi_krum_by_hand():
    result = multi_krum(LINE, malicious=1, keep=2)
    assert result.update.tolist() == [1.5]
    assert result.weights.tolist() == [0, 0.5, 0.5, 0, 0]


@settings(max_examples=20)
@given(st.integers(0, 99), st.integers(1, 9))
def test_averages_the_best_by_krum(seed, keep):
    updates = np.random.default_rng(seed).normal(size=(9, 3))
    scores = krum(updates, 2).scores
    best = np.argsort(-scores, kind="stable")[:keep]
    result = multi_krum(updates, 2, keep)
    np.testing.assert_allclose(result.update, updates[best].mean(axis=0))
    np.testing.assert_allclose(result.scores, scores)


def test_one_is_krum_and_all_is_the_mean():
    updates = np.random.default_rng(0).normal(size=(9, 3))
    np.testing.assert_allclose(multi_krum(updates, 2, keep=1).update, krum(updates, 2).update)
    np.testing.assert_allclose(multi_krum(updates, 2, keep=9).update, updates.mean(axis=0))


def test_so_many_are_kept_as_are_not_malicious():
    assert (multi_krum(LINE, malicious=1).weights > 0).sum() == 4


@pytest.mark.parametrize("keep", [0, 6, -1])
def test_how_many_are_kept_lies_between_one_and_all(keep):
    with pytest.raises(InputError, match=f"keep must lie between 1 and the 5 clients, got {keep}"):
        multi_krum(LINE, 1, keep)
