"""The median of every parameter on its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.federated.rules import median

LINE = np.array([[0.0], [1.0], [2.0], [3.0], [90.0]])


def test_large_values_do_not_overflow():
    huge = np.full((5, 2), 1e38, dtype=np.float32)
    huge[4] = -1e38
    assert np.isfinite(median(huge).update).all()


def test_by_hand():
    assert median(LINE).update.tolist() == [2.0]
    assert median(LINE[:4]).update.tolist() == [1.5]


@settings(max_examples=20)
@given(st.integers(2, 9), st.integers(0, 99))
def test_is_numpys(n, seed):
    updates = np.random.default_rng(seed).normal(size=(n, 7))
    result = median(updates)
    np.testing.assert_allclose(result.update, np.median(updates, axis=0))
    np.testing.assert_allclose(-result.scores, np.linalg.norm(updates - result.update, axis=1))
    assert result.weights.sum() == pytest.approx(1)


def test_a_client_weighs_as_often_as_it_is_in_the_middle():
    # Of three parameters the first client is in the middle of two, the second of one, the third of none.
    result = median([[2.0, 2.0, 1.0], [1.0, 1.0, 2.0], [3.0, 3.0, 3.0]])
    assert result.weights == pytest.approx([2 / 3, 1 / 3, 0])


def test_what_most_leave_at_zero_is_zero():
    """Its weakness, as it says itself."""
    assert median([[5.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]).update.tolist() == [0, 0, 0]


@settings(max_examples=20)
@given(st.integers(0, 99), st.floats(1e3, 1e9))
def test_less_than_half_cannot_move_it_out_of_the_others(seed, far):
    updates = np.random.default_rng(seed).normal(size=(7, 4))
    updates[:3] = far
    result = median(updates).update
    assert (result <= updates[3:].max(axis=0)).all()
