"""TRAK: by hand, over models, and against its formula in loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.valuation.influence import trak


def test_trak_by_hand_and_over_models():
    one = trak([[[2.0]], [[4.0]]], [[0.5], [0.3]], [[[1.0]], [[1.0]]])
    # 1 * 2 / 4 and 1 * 4 / 16 are averaged, and so is the doubt: 0.375 * 0.4.
    assert one == pytest.approx(np.array([[0.15]]))


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(4, 8), st.integers(0, 99))
def test_is_its_formula(models, n, seed):
    rng = np.random.default_rng(seed)
    phi, doubt, aims = (
        rng.normal(size=(models, n, 3)),
        rng.uniform(size=(models, n)),
        rng.normal(size=(models, 2, 3)),
    )
    slow = np.zeros((2, n))
    for model in range(models):
        inverse = np.linalg.inv(phi[model].T @ phi[model])
        slow += aims[model] @ inverse @ phi[model].T / models
    assert trak(phi, doubt, aims) == pytest.approx(slow * doubt.mean(axis=0), rel=1e-6)


def test_what_the_model_is_sure_of_does_not_count():
    result = trak(np.random.default_rng(0).normal(size=(1, 4, 2)), [[0.0, 1.0, 1.0, 1.0]], np.ones((1, 1, 2)))
    assert result[0, 0] == 0
    assert (result[0, 1:] != 0).all()


def test_the_scale_of_projections_cancels():
    rng = np.random.default_rng(0)
    phi, doubt, aims = rng.normal(size=(1, 5, 2)), rng.uniform(size=(1, 5)), rng.normal(size=(1, 3, 2))
    assert trak(7 * phi, doubt, 7 * aims) == pytest.approx(trak(phi, doubt, aims))


def test_a_ridge_makes_more_directions_than_samples_possible():
    assert np.isfinite(trak(np.ones((1, 2, 5)), np.ones((1, 2)), np.ones((1, 1, 5)), ridge=1.0)).all()
