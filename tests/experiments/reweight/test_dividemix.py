"""DivideMix: two heaps of losses, sharpened targets, a mixture."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_networks import made_blobs

from experiments.reweight.dividemix import _beta, _sharpen, dividemix, p_correct
from experiments.reweight.training import Schedule

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blobs():
    return made_blobs()


def test_p_correct_separates_two_heaps():
    rng = np.random.default_rng(0)
    losses = np.concatenate([rng.normal(0.1, 0.02, 80), rng.normal(2.0, 0.1, 20)])[None]
    result = p_correct(losses, 0)[0]
    assert (result[:80] > 0.9).all()
    assert (result[80:] < 0.1).all()
    assert p_correct(np.ones((1, 5)), 0).tolist() == [[1.0] * 5]


@given(st.lists(st.floats(1e-6, 1), min_size=2, max_size=5))
def test_sharpened_targets_stay_distributions_and_keep_their_order(values):
    p = torch.tensor(values, dtype=torch.float64)
    p = p / p.sum()
    result = _sharpen(p)
    assert float(result.sum()) == pytest.approx(1)
    assert float(result.max()) >= float(p.max()) - 1e-9
    assert (result.argsort(stable=True) == p.argsort(stable=True)).all()


def test_sharpening_by_hand():
    # Squares of 0.6 and 0.4, scaled: 0.36 / 0.52.
    assert _sharpen(torch.tensor([0.6, 0.4])).tolist() == pytest.approx([0.36 / 0.52, 0.16 / 0.52])


def test_mixing_is_by_beta_four_four():
    generator = torch.Generator().manual_seed(0)
    drawn = np.array([_beta(generator) for _ in range(4_000)])
    assert drawn.mean() == pytest.approx(0.5, abs=0.01)
    assert drawn.var() == pytest.approx(16 / (64 * 9), abs=0.003)


@settings(max_examples=10)
@given(st.integers(0, 99), st.floats(0.1, 10), st.floats(0, 5))
def test_the_unit_of_losses_does_not_matter(seed, factor, shift):
    rng = np.random.default_rng(seed)
    losses = np.concatenate([rng.normal(0.1, 0.02, 40), rng.normal(2.0, 0.1, 10)])[None]
    np.testing.assert_allclose(p_correct(losses, 0), p_correct(factor * losses + shift, 0), atol=1e-6)


def test_higher_losses_are_never_cleaner_between_two_heaps():
    rng = np.random.default_rng(0)
    losses = np.sort(np.concatenate([rng.normal(0.1, 0.02, 40), rng.normal(2.0, 0.1, 40)]))[None]
    assert (np.diff(p_correct(losses, 0)[0]) <= 1e-6).all()


def test_before_rows_are_divided_all_are_clean(blobs):
    short = dividemix(blobs[0], blobs[1], 3, Schedule(hidden=(8,), epochs=1, batch=60))
    assert (short.weights == 1).all()
    assert len(short.networks.flat) == 2
