"""Side information: credentials in standard units and what they are worth, and bounded steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special

from anml.annotators.rows import (
    LabelData,
    SideInformation,
    add_stats,
    column_moments,
    credential_design,
    credential_log_odds_fit,
    credential_stats,
    newton,
    polynomial_features,
)


class TestDesign:
    def test_by_hand(self):
        found = credential_design(np.array([[0.0, 0.5], [1.0, 0.5]]))
        # v, r, v v, v r, r r: what is constant says nothing, and v v is the same at either end.
        np.testing.assert_allclose(found, [[-1, 0, 0, 0, 0], [1, 0, 0, 0, 0]], atol=1e-9)

    def test_what_goes_with_the_label_is_taken_off_and_what_goes_with_the_contributor_stays(self):
        rng = np.random.default_rng(0)
        labels, who = np.tile([0, 1], 500), np.repeat(np.arange(10), 100)
        v, r = rng.uniform(size=1_000), rng.uniform(size=10)[who]
        # Free of the label to begin with.
        for label in (0, 1):
            v[labels == label] -= v[labels == label].mean() - 0.5
        tied = credential_design(np.column_stack([v + 0.4 * labels, r]), labels, who, 2)
        free = credential_design(np.column_stack([v + 0.2, r]), labels, who, 2)
        np.testing.assert_allclose(tied, free, atol=0.02)
        # Who has labels of one class only is not compared with others.
        alone = credential_design(r[:, None], who % 2, who, 2)
        np.testing.assert_allclose(alone, credential_design(r[:, None]))

    @given(st.integers(2, 12), st.integers(1, 3), st.integers(0, 99))
    def test_columns_are_in_standard_units(self, n, count, seed):
        found = credential_design(np.random.default_rng(seed).uniform(size=(n, count)))
        assert found.shape == (n, count + count * (count + 1) // 2)
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(found.std(axis=0), 1, atol=1e-9)

    @given(st.integers(0, 99))
    def test_rows_may_come_in_any_order(self, seed):
        rng = np.random.default_rng(seed)
        credentials, order = rng.uniform(size=(9, 2)), rng.permutation(9)
        labels, who = np.arange(9) % 2, np.arange(9) % 3
        straight = credential_design(credentials, labels, who, 2)
        np.testing.assert_allclose(
            credential_design(credentials[order], labels[order], who[order], 2), straight[order], atol=1e-9
        )


class TestNewton:
    def test_a_step_solves_the_equations(self):
        # 2 a = 1, 4 b = -2.
        np.testing.assert_allclose(newton(np.array([1.0, -2.0]), np.diag([2.0, 4.0])), [0.5, -0.5])

    def test_a_long_step_is_made_shorter_and_goes_where_it_went(self):
        np.testing.assert_allclose(newton(np.array([9.0, -3.0]), np.eye(2)), [1.0, -1 / 3])


def test_nothing_is_known_unless_it_is_given():
    assert all(part is None for part in SideInformation())


class TestSlices:
    @given(st.integers(0, 99), st.integers(0, 30))
    def test_credentials_of_two_slices_are_those_of_one(self, seed, cut):
        rng = np.random.default_rng(seed)
        credentials, y, who = rng.uniform(size=(30, 2)), rng.integers(0, 2, 30), rng.integers(0, 4, 30)
        parts = (slice(0, cut), slice(cut, 30))
        first, second = (credential_stats(credentials[part], y[part], who[part], 4, 2) for part in parts)
        columns = polynomial_features(credentials - add_stats(first, second).tied()[y])
        spread = column_moments(columns[parts[0]]).plus(column_moments(columns[parts[1]]))
        np.testing.assert_allclose(
            spread.standard(columns), credential_design(credentials, y, who, 2), atol=1e-9
        )

    @given(st.integers(0, 99), st.integers(2, 50))
    def test_the_same_items_are_few_of_a_table_and_of_its_slices(self, seed, most):
        rng = np.random.default_rng(seed)
        item, n = rng.integers(0, 20, 60), 60
        whole = LabelData(np.zeros((n, 2)), np.zeros(n, int), np.zeros(n, int), 1, item=item)
        chosen = set(whole.thinned(most).tolist())
        assert all(len({int(row) in chosen for row in np.flatnonzero(item == one)}) <= 1 for one in item)
        for low, high in ((0, 10), (10, 20)):
            mine = np.flatnonzero((item >= low) & (item < high))
            if len(mine):
                codes = np.unique(item[mine], return_inverse=True)[1]
                part = LabelData(
                    np.zeros((len(mine), 2)), np.zeros(len(mine), int), np.zeros(len(mine), int), 1,
                    item=codes, place=mine, total=n,
                )  # fmt: skip
                assert set(mine[part.thinned(most)].tolist()) == chosen & set(mine.tolist())
        assert whole.thinned(60) is None


def credited_case(seed, n=40, columns=2, strength=2.0):
    """LabelData whose evidence follows a credential."""
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
        x, usual, odds, weight = credited_case(seed)
        best = optimize.minimize(
            lambda worth: 0.5 * worth @ worth - self.likelihood(worth, x, usual, odds, weight), np.zeros(2)
        )
        lifted, _ = credential_log_odds_fit(x, usual, odds, weight)
        np.testing.assert_allclose(lifted[:, 0], usual[:, 0] + x @ best.x, atol=1e-3)

    @pytest.mark.parametrize("seed", range(3))
    def test_the_gain_is_about_the_integral_over_worths(self, seed):
        x, usual, odds, weight = credited_case(seed, columns=1)
        start = self.likelihood(np.zeros(1), x, usual, odds, weight)

        def density(worth):
            more = self.likelihood(np.array([worth]), x, usual, odds, weight) - start
            return np.exp(more - worth**2 / 2) / np.sqrt(2 * np.pi)

        integral, _ = integrate.quad(density, -8, 8)
        _, gain = credential_log_odds_fit(x, usual, odds, weight)
        assert gain[0] == pytest.approx(np.log(integral), abs=0.15)

    def test_a_credential_that_nothing_supports_is_worth_nothing(self):
        lifted, gain = credential_log_odds_fit(
            np.array([[-1.0], [1.0]]), np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2)
        )
        np.testing.assert_allclose(lifted, 0)
        assert gain[0] == pytest.approx(0)

    def test_a_credential_that_tells_pays_and_noise_does_not(self):
        rng = np.random.default_rng(0)
        x, usual, odds, weight = credited_case(0, columns=1)
        assert credential_log_odds_fit(x, usual, odds, weight)[1][0] > 2
        assert (
            credential_log_odds_fit(rng.normal(size=(40, 1)), usual, rng.normal(size=(40, 1)), weight)[1][0]
            < 1
        )

    @settings(max_examples=10)
    @given(st.integers(0, 99))
    def test_a_credential_may_point_either_way(self, seed):
        x, usual, odds, weight = credited_case(seed)
        one, two = (
            credential_log_odds_fit(x, usual, odds, weight),
            credential_log_odds_fit(-x, usual, odds, weight),
        )
        np.testing.assert_allclose(one[0], two[0], atol=1e-9)
        np.testing.assert_allclose(one[1], two[1], atol=1e-9)

    @settings(max_examples=10)
    @given(st.integers(0, 99))
    def test_rows_of_no_weight_teach_nothing(self, seed):
        x, usual, odds, weight = credited_case(seed)
        more = np.concatenate([odds, -5 * odds])
        found = credential_log_odds_fit(
            np.tile(x, (2, 1)), np.tile(usual, (2, 1)), more, np.r_[weight, 0 * weight]
        )
        np.testing.assert_allclose(
            found[0][:40], credential_log_odds_fit(x, usual, odds, weight)[0], atol=1e-9
        )

    @settings(max_examples=10)
    @given(st.integers(0, 99))
    def test_explanations_are_weighed_each_by_itself(self, seed):
        x, usual, odds, weight = credited_case(seed)
        both = credential_log_odds_fit(x, np.tile(usual, (1, 2)), np.column_stack([odds, -odds]), weight)
        alone = [credential_log_odds_fit(x, usual, part, weight) for part in (odds, -odds)]
        np.testing.assert_allclose(both[0], np.column_stack([part[0] for part in alone]), atol=1e-9)
        np.testing.assert_allclose(both[1], [part[1][0] for part in alone], atol=1e-9)
