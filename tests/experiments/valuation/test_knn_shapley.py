"""Nearest-neighbour Shapley: by hand, against all coalitions, and its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from experiments.valuation.data_shapley import shapley
from experiments.valuation.knn_shapley import knn_shapley


def test_three_rows_by_hand():
    """Nearest to farthest: right, wrong, right; k = 1. s3 = 1/3, s2 = 1/3 - 1/2, s1 = s2 + 1."""
    result = knn_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.0]], [1], k=1)
    assert result == pytest.approx([5 / 6, -1 / 6, 1 / 3])


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_it_is_the_shapley_value_of_its_game(seed, k):
    rng = np.random.default_rng(seed)
    x, y, at, aim = (
        rng.normal(size=(7, 2)),
        rng.integers(0, 3, 7),
        rng.normal(size=(3, 2)),
        rng.integers(0, 3, 3),
    )

    def worth(coalitions):
        results = []
        for subset in coalitions:
            rows = np.flatnonzero(subset)
            order = [rows[np.argsort(np.square(x[rows] - each).sum(axis=1))][:k] for each in at]
            results.append(
                np.mean([(y[near] == label).sum() / k for near, label in zip(order, aim, strict=True)])
            )
        return np.array(results)

    assert knn_shapley(x, y, at, aim, k) == pytest.approx(shapley(worth, 7).value, abs=1e-12)


def test_the_order_of_rows_leaves_no_trace_and_values_sum_to_the_worth_of_all():
    rng = np.random.default_rng(1)
    x, y, at, aim = (
        rng.normal(size=(50, 3)),
        rng.integers(0, 2, 50),
        rng.normal(size=(9, 3)),
        rng.integers(0, 2, 9),
    )
    result, order = knn_shapley(x, y, at, aim), rng.permutation(50)
    assert knn_shapley(x[order], y[order], at, aim) == pytest.approx(result[order])
    nearest = np.argsort(np.square(at[:, None] - x).sum(axis=2), axis=1)[:, :5]
    assert result.sum() == pytest.approx(float((y[nearest] == aim[:, None]).mean()))


def test_a_wrong_label_is_worth_less():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 2))
    y = (x[:, 0] > 0).astype(int)
    wrong = np.arange(200) < 40
    result = knn_shapley(x, np.where(wrong, 1 - y, y), x[100:], y[100:])
    assert result[wrong].mean() < 0 < result[~wrong].mean()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x": [[1.0, 2.0]]}, "same features"),
        ({"y": [0, 1]}, "one label a row"),
        ({"x": [[np.nan]]}, "finite"),
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"target_y": []}, "one label a row"),
    ],
)
def test_what_is_wrong_is_said(change, says):
    given_ = {"x": [[1.0]], "y": [0], "target_x": [[1.0]], "target_y": [0], "k": 1, **change}
    with pytest.raises(InputError, match=says):
        knn_shapley(**given_)
