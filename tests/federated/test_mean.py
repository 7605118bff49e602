"""The mean: by rows, and without any defence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.federated.rules import mean


def test_mean_counts_rows():
    assert mean([[1.0], [5.0]], rows=[3, 1]).update.tolist() == [2.0]


@settings(max_examples=20)
@given(st.integers(0, 99))
def test_is_numpys_average(seed):
    rng = np.random.default_rng(seed)
    updates, rows = rng.normal(size=(6, 3)), rng.integers(0, 9, 6) + np.eye(6, dtype=int)[0]
    np.testing.assert_allclose(mean(updates).update, updates.mean(axis=0))
    np.testing.assert_allclose(mean(updates, rows).update, np.average(updates, axis=0, weights=rows))


def test_one_client_moves_it_as_far_as_it_likes():
    assert mean([[0.0], [0.0], [3e6]]).update.tolist() == [1e6]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([1, -1], "must not be negative"),
        ([0, 0], "at least one client must have some"),
        ([1, 2, 3], "3 values for 2"),
    ],
)
def test_rows_that_cannot_be_are_refused(rows, says):
    with pytest.raises(InputError, match=says):
        mean([[1.0], [2.0]], rows)


def test_the_precision_of_updates_is_kept():
    assert mean(np.ones((3, 2), dtype=np.float32)).update.dtype == np.float32
