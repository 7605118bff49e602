"""Updates weighed by any recipe, as samples are."""

import numpy as np
import pytest
from liars import liars

from anml.aggregate.agreement import clipped_lengths
from anml.aggregate.weighted import weighted
from anml.core.domain import Signals
from anml.core.errors import AnmlError
from anml.core.weigh import RECIPES, weigh_signals


@pytest.mark.parametrize(
    "recipe", ["krum", "multiplicative", "softmax", "adaptive", "guarded", "uniform", "evidence"]
)
def test_any_recipe_weighs_updates(recipe):
    updates = liars(6)
    r = np.r_[np.full(14, 0.8), np.full(6, 0.2)]
    found = weighted(updates, r=r, recipe=recipe)
    assert np.isclose(found.weights.sum(), 1.0)
    if recipe != "uniform":
        assert found.weights[14:].sum() < 0.05
    assert found.gate.reason


def test_freshness_lowers_a_late_update():
    updates = np.random.default_rng(0).normal(1, 0.01, (5, 20))
    found = weighted(updates, t=[1, 1, 1, 1, 0.5], recipe="uniform")
    assert found.weights[4] == pytest.approx(found.weights[0] / 2)


@pytest.mark.parametrize("recipe", RECIPES)
class TestEveryRecipe:
    def test_weights_are_shares_and_the_update_their_mean(self, recipe):
        updates = liars(4)
        found = weighted(updates, r=np.full(20, 0.5), recipe=recipe)
        assert found.weights.sum() == pytest.approx(1)
        assert (found.weights >= 0).all()
        np.testing.assert_allclose(
            found.update, (found.weights * clipped_lengths(updates)) @ updates, atol=1e-12
        )

    def test_the_order_of_clients_does_not_matter(self, recipe):
        updates, order = liars(4), np.random.default_rng(1).permutation(20)
        one, two = weighted(updates, recipe=recipe), weighted(updates[order], recipe=recipe)
        np.testing.assert_allclose(two.weights, one.weights[order], atol=1e-9)

    def test_the_recipe_is_the_one_of_samples(self, recipe):
        """The same signals through the same recipe: branch and scores are those of `weigh_signals`."""
        found = weighted(liars(4), recipe=recipe)
        noise = float(np.mean(found.by_updates < 0.5))
        signals = Signals.of(found.q, noise=noise, p_correct=found.by_updates)
        expected = weigh_signals(signals, RECIPES[recipe])
        assert found.gate.branch == expected.gate.branch
        np.testing.assert_allclose(found.scores, expected.w, atol=1e-9)


def test_two_clients_are_alike():
    found = weighted([[1.0], [2.0]], recipe="krum")
    np.testing.assert_allclose(found.q, 1)
    np.testing.assert_allclose(found.weights, 0.5)


def test_an_unknown_recipe_is_named():
    with pytest.raises(AnmlError, match="unknown recipe 'kurm'"):
        weighted([[1.0], [2.0]], recipe="kurm")
