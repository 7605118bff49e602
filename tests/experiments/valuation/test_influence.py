"""Influence: leaving one out, to first order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from experiments.valuation.influence import influence


def test_influence_is_leaving_one_out_of_a_ridge_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_000, 4))
    y = x @ [1.0, -2.0, 0.5, 0.0] + rng.normal(0, 0.5, 2_000)
    held = rng.normal(size=(50, 4))
    wanted = held @ [1.0, -1.5, 0.5, 0.2]

    def fit(rows):
        return np.linalg.solve(x[rows].T @ x[rows], x[rows].T @ y[rows])

    def loss(weights):
        return float(np.square(held @ weights - wanted).mean() / 2)

    full = fit(np.arange(2_000))
    each = (x @ full - y)[:, None] * x
    target = ((held @ full - wanted)[:, None] * held).mean(axis=0)
    result = influence(each, x.T @ x / 2_000, target, damping=0.0)
    left_out = [loss(fit(np.delete(np.arange(2_000), i))) - loss(full) for i in range(100)]
    assert result[:100] == pytest.approx(np.array(left_out), rel=0.05, abs=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 99), st.floats(0.001, 10))
def test_is_a_product_with_the_inverse_hessian(seed, damping):
    rng = np.random.default_rng(seed)
    gradients, root, target = rng.normal(size=(7, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    hessian = root @ root.T
    slow = [g @ np.linalg.inv(hessian + damping * np.eye(3)) @ target / 7 for g in gradients]
    assert influence(gradients, hessian, target, damping) == pytest.approx(slow)


@settings(max_examples=20)
@given(st.integers(0, 99))
def test_another_basis_of_parameters_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    gradients, root, target = rng.normal(size=(7, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    hessian, turn = root @ root.T + np.eye(3), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    one = influence(gradients, hessian, target)
    assert influence(gradients @ turn, turn.T @ hessian @ turn, target @ turn) == pytest.approx(one)


def test_helping_and_harming_are_opposite_signs():
    result = influence([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], np.eye(2), [1.0, 0.0])
    assert result[0] == -result[1] > 0
    assert result[2] == 0


@pytest.mark.parametrize("damping", [-0.1, np.inf])
def test_damping_lies_above_nothing(damping):
    with pytest.raises(InputError, match=r"damping must lie in \[0, inf\)"):
        influence([[1.0]], [[1.0]], [1.0], damping)
