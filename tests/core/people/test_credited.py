"""What credentials are worth among several explanations: against optimisers and integrals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special

from anml.core.people.credited import credited


def problem(seed, n=40, columns=2, strength=2.0):
    """Rows whose evidence follows a credential."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    odds = strength * x[:, :1] + rng.normal(size=(n, 1))
    return x, np.full((n, 1), 0.3), odds, np.ones(n)


class TestCredited:
    def likelihood(self, worth, x, usual, odds, weight):
        z = usual[:, 0] + x @ worth
        return weight @ np.logaddexp(special.log_expit(z) + odds[:, 0], special.log_expit(-z))

    @pytest.mark.parametrize("seed", range(4))
    def test_worths_are_the_likeliest_under_their_prior(self, seed):
        x, usual, odds, weight = problem(seed)
        best = optimize.minimize(
            lambda worth: 0.5 * worth @ worth - self.likelihood(worth, x, usual, odds, weight), np.zeros(2)
        )
        lifted, _ = credited(x, usual, odds, weight)
        np.testing.assert_allclose(lifted[:, 0], usual[:, 0] + x @ best.x, atol=1e-3)

    @pytest.mark.parametrize("seed", range(3))
    def test_the_gain_is_about_the_integral_over_worths(self, seed):
        x, usual, odds, weight = problem(seed, columns=1)
        start = self.likelihood(np.zeros(1), x, usual, odds, weight)

        def density(worth):
            more = self.likelihood(np.array([worth]), x, usual, odds, weight) - start
            return np.exp(more - worth**2 / 2) / np.sqrt(2 * np.pi)

        integral, _ = integrate.quad(density, -8, 8)
        _, gain = credited(x, usual, odds, weight)
        assert gain[0] == pytest.approx(np.log(integral), abs=0.15)

    def test_a_credential_that_nothing_supports_is_worth_nothing(self):
        lifted, gain = credited(np.array([[-1.0], [1.0]]), np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2))
        np.testing.assert_allclose(lifted, 0)
        assert gain[0] == pytest.approx(0)

    def test_a_credential_that_tells_pays_and_noise_does_not(self):
        rng = np.random.default_rng(0)
        x, usual, odds, weight = problem(0, columns=1)
        assert credited(x, usual, odds, weight)[1][0] > 2
        assert credited(rng.normal(size=(40, 1)), usual, rng.normal(size=(40, 1)), weight)[1][0] < 1

    @settings(max_examples=10)
    @given(st.integers(0, 99))
    def test_a_credential_may_point_either_way(self, seed):
        x, usual, odds, weight = problem(seed)
        one, two = credited(x, usual, odds, weight), credited(-x, usual, odds, weight)
        np.testing.assert_allclose(one[0], two[0], atol=1e-9)
        np.testing.assert_allclose(one[1], two[1], atol=1e-9)

    @settings(max_examples=10)
    @given(st.integers(0, 99))
    def test_rows_of_no_weight_teach_nothing(self, seed):
        x, usual, odds, weight = problem(seed)
        more = np.concatenate([odds, -5 * odds])
        found = credited(np.tile(x, (2, 1)), np.tile(usual, (2, 1)), more, np.r_[weight, 0 * weight])
        np.testing.assert_allclose(found[0][:40], credited(x, usual, odds, weight)[0], atol=1e-9)

    @settings(max_examples=10)
    @given(st.integers(0, 99))
    def test_explanations_are_weighed_each_by_itself(self, seed):
        x, usual, odds, weight = problem(seed)
        both = credited(x, np.tile(usual, (1, 2)), np.column_stack([odds, -odds]), weight)
        alone = [credited(x, usual, part, weight) for part in (odds, -odds)]
        np.testing.assert_allclose(both[0], np.column_stack([part[0] for part in alone]), atol=1e-9)
        np.testing.assert_allclose(both[1], [part[1][0] for part in alone], atol=1e-9)
