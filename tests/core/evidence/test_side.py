"""Side information: credentials in standard units, bounded steps, and what credentials are worth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special

from anml.core.evidence.side import Side, credited, design, newton


class TestDesign:
    def test_by_hand(self):
        found = design(np.array([[0.0, 0.5], [1.0, 0.5]]), 2)
        # v, r, v v, v r, r r: what is constant says nothing.
        np.testing.assert_allclose(found, [[-1, 0, -1, -1, 0], [1, 0, 1, 1, 0]])

    def test_what_goes_with_the_label_is_taken_off_and_what_goes_with_the_contributor_stays(self):
        rng = np.random.default_rng(0)
        labels, who = np.tile([0, 1], 500), np.repeat(np.arange(10), 100)
        v, r = rng.uniform(size=1_000), rng.uniform(size=10)[who]
        # Free of the label to begin with.
        for label in (0, 1):
            v[labels == label] -= v[labels == label].mean() - 0.5
        tied = design(np.column_stack([v + 0.4 * labels, r]), 1_000, labels, who)
        free = design(np.column_stack([v + 0.2, r]), 1_000, labels, who)
        np.testing.assert_allclose(tied, free, atol=0.02)
        # Who has labels of one class only is not compared with others.
        alone = design(r[:, None], 1_000, who % 2, who)
        np.testing.assert_allclose(alone, design(r[:, None], 1_000))

    def test_no_credentials_are_no_columns(self):
        assert design(None, 3).shape == (3, 0)

    @given(st.integers(2, 12), st.integers(1, 3), st.integers(0, 99))
    def test_columns_are_in_standard_units(self, n, count, seed):
        found = design(np.random.default_rng(seed).uniform(size=(n, count)), n)
        assert found.shape == (n, count + count * (count + 1) // 2)
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(found.std(axis=0), 1, atol=1e-9)

    @given(st.integers(0, 99))
    def test_rows_may_come_in_any_order(self, seed):
        rng = np.random.default_rng(seed)
        credentials, order = rng.uniform(size=(9, 2)), rng.permutation(9)
        np.testing.assert_allclose(design(credentials[order], 9), design(credentials, 9)[order])


class TestNewton:
    def test_a_step_solves_the_equations(self):
        # 2 a = 1, 4 b = -2.
        np.testing.assert_allclose(newton(np.array([1.0, -2.0]), np.diag([2.0, 4.0])), [0.5, -0.5])

    def test_a_long_step_is_cut(self):
        np.testing.assert_allclose(newton(np.array([9.0, -9.0]), np.eye(2)), [1.0, -1.0])


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


def test_nothing_is_known_unless_it_is_given():
    assert all(part is None for part in Side())
