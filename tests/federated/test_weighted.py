"""Updates weighed by any recipe, as samples are."""

import numpy as np
import pytest
from liars import liars

from anml.core.errors import AnmlError
from anml.core.types import Signals
from anml.federated.agreement import MAX_NORM_RATIO, clip_factors, median_norm
from anml.federated.weighted import weighted
from anml.weighting.weigh import RECIPES, compute_sample_weights


@pytest.mark.parametrize(
    "recipe", ["krum", "multiplicative", "softmax", "adaptive", "guarded", "uniform", "evidence"]
)
def test_any_recipe_weighs_updates(recipe):
    updates = liars(6)
    r = np.r_[np.full(14, 0.8), np.full(6, 0.2)]
    result = weighted(updates, r=r, recipe=recipe)
    assert np.isclose(result.weights.sum(), 1.0)
    if recipe != "uniform":
        assert result.weights[14:].sum() < 0.05
    assert result.gate.reason


def test_freshness_lowers_a_late_update():
    updates = np.random.default_rng(0).normal(1, 0.01, (5, 20))
    result = weighted(updates, t=[1, 1, 1, 1, 0.5], recipe="uniform")
    assert result.weights[4] == pytest.approx(result.weights[0] / 2)


@pytest.mark.parametrize("recipe", RECIPES)
class TestEveryRecipe:
    def test_weights_are_shares_and_the_update_their_mean(self, recipe):
        updates = liars(4)
        result = weighted(updates, r=np.full(20, 0.5), recipe=recipe)
        assert result.weights.sum() == pytest.approx(1)
        assert (result.weights >= 0).all()
        length = np.linalg.norm(updates, axis=1)
        clipped = clip_factors(length, MAX_NORM_RATIO * median_norm(length, result.weights))
        np.testing.assert_allclose(result.update, (result.weights * clipped) @ updates, atol=1e-12)

    def test_the_order_of_clients_does_not_matter(self, recipe):
        updates, order = liars(4), np.random.default_rng(1).permutation(20)
        one, two = weighted(updates, recipe=recipe), weighted(updates[order], recipe=recipe)
        np.testing.assert_allclose(two.weights, one.weights[order], atol=1e-9)

    def test_the_recipe_is_the_one_of_samples(self, recipe):
        """The same signals through the same recipe: branch and scores are those of `weigh_signals`."""
        result = weighted(liars(4), recipe=recipe)
        noise = float(np.mean(result.by_updates < 0.5))
        signals = Signals.of(result.q, label_error_rate=noise, p_correct=result.by_updates)
        expected = compute_sample_weights(signals, RECIPES[recipe])
        assert result.gate.branch == expected.gate.branch
        np.testing.assert_allclose(result.scores, expected.w, atol=1e-9)


def test_two_clients_are_alike():
    result = weighted([[1.0], [2.0]], recipe="krum")
    np.testing.assert_allclose(result.q, 1)
    np.testing.assert_allclose(result.weights, 0.5)


def test_an_unknown_recipe_is_named():
    with pytest.raises(AnmlError, match="unknown recipe 'kurm'"):
        weighted([[1.0], [2.0]], recipe="kurm")


class TestClientsAsTheyAre:
    def test_rows_count(self):
        updates = np.array([[1.0], [1.0], [1.0], [3.0]])
        result = weighted(updates, recipe="uniform", rows=[10, 10, 20, 40])
        np.testing.assert_allclose(result.weights, [0.125, 0.125, 0.25, 0.5])
        assert result.update == pytest.approx(2.0)

    def test_rows_that_are_only_claimed_buy_no_more_than_ten_clients(self):
        result = weighted(np.ones((5, 3)), recipe="uniform", rows=[10, 10, 10, 10, 10**9])
        assert result.weights[4] == pytest.approx(100 / 140)

    def test_a_shout_is_cut_to_three_times_the_usual(self):
        updates = np.array([[1.0], [1.0], [1.0], [1.0], [50.0]])
        assert weighted(updates, recipe="uniform").update == pytest.approx((4 + 3) / 5)

    def test_what_is_not_too_long_stays_as_it_is(self):
        updates = np.array([[1.0], [2.0], [2.5], [2.0], [1.0]])
        assert weighted(updates, recipe="uniform").update == pytest.approx(updates.mean())

    def test_one_who_is_merely_different_is_kept_and_one_who_pulls_back_is_not(self):
        rng = np.random.default_rng(0)
        updates = rng.normal(1, 0.2, (10, 60))
        updates[9] = rng.normal(1, 8.0, 60) + 2.0
        assert weighted(updates, recipe="evidence").weights[9] > 0
        updates[9] = -updates[0]
        assert weighted(updates, recipe="evidence").weights[9] == 0

    def test_who_is_honest_may_be_asked_of_another_model(self):
        def nobody_but_the_first(agrees, credentials, before):
            p = np.r_[1.0, np.zeros(len(agrees) - 1)]
            return p, np.zeros(len(agrees))

        updates = np.random.default_rng(0).normal(0, 1, (10, 20))
        result = weighted(updates, recipe="evidence", judge=nobody_but_the_first)
        np.testing.assert_array_equal(result.weights, np.r_[1.0, np.zeros(9)])


def test_an_update_may_be_extrapolated_where_clients_pull_in_many_directions():
    """Ten orthogonal updates of length one have a mean of squared length a tenth: 1 / (2 * 0.1)."""
    assert weighted(np.eye(10), recipe="uniform").reach == pytest.approx(5)
    assert weighted(np.ones((10, 3)), recipe="uniform").reach == 1
    assert weighted(np.zeros((10, 3)), recipe="uniform").reach == 1
    # One long update does not change what is usual.
    assert weighted(np.diag([50.0, *[1.0] * 9]), recipe="uniform").reach < 5
