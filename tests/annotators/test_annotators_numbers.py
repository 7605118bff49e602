"""Numeric labels: shifted, noisy and careless contributors are seen, honest ones are not convicted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.annotators.numbers import BINS, _bins, _densities, _leave_one_out_items, _robust_line, fit_numbers
from anml.annotators.rows import SideInformation

CONTRIBUTORS, EACH = 15, 20
HONEST, BLIND, DEVIANT = range(3)


def contributed(seed=0, contributors=CONTRIBUTORS, each=EACH):
    """Predictions, honest numbers of spread 0.5, and who gave them."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(contributors), each)
    predicted = rng.normal(size=len(codes))
    return predicted, predicted + rng.normal(0, 0.5, len(codes)), codes, rng


def fitted(values, predicted, codes=None, spread=0.5, **known):
    return fit_numbers(values, predicted, np.full(len(values), spread), SideInformation(codes, **known))


class TestByHand:
    def test_bins_hold_their_middles(self):
        """Of all bins the densest for a narrow distribution is the one that holds its middle."""
        middles = [-60.0, -1.0, 0.01, 0.5, 20.0]
        densest = _densities((middle, 0.001, 100.0, 1.0) for middle in middles).argmax(axis=0)
        np.testing.assert_array_equal(_bins(np.array(middles)), densest)
        assert _bins(np.array([-1e9, 1e9])).tolist() == [0, BINS - 1]

    def test_student(self):
        # Cauchy at the bins of 0 and 1: 1 / (pi (1 + z^2)).
        found = _densities([(0.0, 1.0, 1.0, 1.0)])[_bins(np.array([0.0, 1.0])), 0]
        np.testing.assert_allclose(found, -np.log([np.pi, 2 * np.pi]), atol=0.02)

    def test_skew_keeps_the_probability(self):
        edges = np.sinh((np.arange(BINS + 1) * 2 / BINS - 1) * 5.5453) / 2
        found = np.exp(_densities([(0.3, 1.0, 8.0, 2.0), (0.3, 1.0, 8.0, 1.0)])).T @ np.diff(edges)
        np.testing.assert_allclose(found, 1, atol=0.01)

    def test_two_labels_of_an_item(self):
        """All variance is within items, and 0.05 is left to know: others weigh 0.99 against 1 / 0.05."""
        off = np.array([1.0, -1.0, 1.0, -1.0])
        side = SideInformation(np.array([0, 1, 0, 1]), None, np.array([0, 0, 1, 1]))
        expected, scatter, right, doubt = _leave_one_out_items(
            off, np.zeros(4), np.ones(4), np.ones(4), side, True
        )
        np.testing.assert_allclose(expected, -off * 0.99 / 20.99)
        np.testing.assert_allclose(scatter, np.sqrt(1 + 1 / 20.99))
        np.testing.assert_allclose(right, 0)
        np.testing.assert_allclose(doubt, 1 / np.sqrt(2 * 0.99 + 20))

    def test_nobody_confirms_himself(self):
        off = np.array([1.0, -1.0, 1.0, -1.0])
        side = SideInformation(np.array([0, 0, 1, 1]), None, np.array([0, 0, 1, 1]))
        expected, scatter, _, _ = _leave_one_out_items(off, np.zeros(4), np.ones(4), np.ones(4), side, True)
        np.testing.assert_allclose(expected, 0)
        np.testing.assert_allclose(scatter, 1)

    def test_variance_within_items_and_about_known_values(self):
        off, one = np.array([1.0, -1.0, 2.0, 2.0]), np.ones(4)
        side = SideInformation(np.arange(4), None, np.array([0, 0, 1, 1]))
        # Squares about means: 2 of 2 degrees of freedom; in all 10 of 4. The prediction knows the rest.
        _, _, _, doubt = _leave_one_out_items(off, np.zeros(4), one, one, side, True)
        np.testing.assert_allclose(doubt, 1 / np.sqrt(2 * 0.99 / 0.4 + 1 / 0.6))
        # About 0 and 2: 2 of 4.
        known = side._replace(truth=np.array([0.0, np.nan, 2, np.nan]))
        expected, scatter, right, doubt = _leave_one_out_items(off, np.zeros(4), one, one, known, True)
        np.testing.assert_allclose(scatter, np.sqrt(0.5 / 2.5))
        np.testing.assert_allclose([expected, right], [[0, 0, 2, 2]] * 2, atol=1e-9)
        np.testing.assert_array_equal(doubt, 0)


class TestStraight:
    def test_a_constant_is_put_straight(self):
        predicted, values, _, _ = contributed()
        centre, spread = _robust_line(values + 3, predicted, np.full(300, 9.0), np.ones(300))
        np.testing.assert_allclose(centre - predicted, 3, atol=0.25)
        assert 0.35 < np.median(spread) < 0.55

    def test_two_in_five_far_off_do_not_move_it(self):
        predicted, values, _, _ = contributed()
        values[::5] += 50
        values[1::5] += 50
        centre, _ = _robust_line(values, predicted, np.full(300, 0.5), np.ones(300))
        assert np.abs(centre - predicted).max() < 0.5

    def test_a_timid_prediction_is_made_bolder(self):
        predicted, values, _, _ = contributed()
        centre, _ = _robust_line(values, predicted / 2, np.full(300, 0.5), np.ones(300))
        assert np.polyfit(predicted, centre, 1)[0] == pytest.approx(1, abs=0.1)


class TestContributors:
    @pytest.mark.parametrize(
        ("kind", "type_"),
        [
            ("shifted", DEVIANT),
            ("noisy", DEVIANT),
            ("other unit", DEVIANT),
            ("sign", DEVIANT),
            ("random", BLIND),
        ],
    )
    def test_all_bad_ones_are_found_and_nobody_else(self, kind, type_):
        predicted, values, codes, rng = contributed()
        changed = {
            "shifted": values + 1,
            "noisy": values + rng.normal(0, 2, len(values)),
            "other unit": 2.54 * (values + 2) - 2,
            "sign": -2 * values,
            "random": rng.permutation(values),
        }[kind]
        bad = codes < 3
        found = fitted(np.where(bad, changed, values), predicted, codes)
        assert ((found.p_correct < 0.5) == bad).all()
        assert (found.types[:3].argmax(axis=1) == type_).all() or kind == "sign"
        # Numbers in other units are judged in the others' units: their name stands for the factor.
        # Twenty numbers need not tell a factor from a constant that is added.
        named = np.array([bool(name) for name in found.habits or [""] * CONTRIBUTORS])
        assert not named.any() or kind in ("other unit", "sign")
        assert not named[3:].any()
        assert ((found.log_bayes_factor[:3] > 2) | named[:3]).all()
        assert (found.log_bayes_factor[3:] < 0).all()

    @pytest.mark.parametrize("seed", range(3))
    def test_honest_ones_are_all_believed(self, seed):
        predicted, values, codes, _ = contributed(seed)
        found = fitted(values, predicted, codes)
        assert found.p_correct.min() > 0.9
        assert found.rate < 0.01

    def test_noise_that_features_explain_convicts_nobody(self):
        predicted, _, codes, rng = contributed()
        spread = np.geomspace(0.2, 4, CONTRIBUTORS)[codes]
        found = fit_numbers(
            predicted + spread * rng.normal(size=300), predicted, spread, SideInformation(codes)
        )
        assert (found.types[:, HONEST] > 0.9).all()

    def test_where_everybody_differs_nobody_is_convicted(self):
        predicted, values, codes, rng = contributed()
        found = fitted(values + rng.normal(0, 0.4, CONTRIBUTORS)[codes], predicted, codes)
        assert (found.types[:, HONEST] > 0.5).all()

    def test_who_has_items_of_one_sort_alone_is_not_taken_for_not_looking(self):
        """Numbers of each lie close together, and predictions do not know why."""
        rng = np.random.default_rng(0)
        right = np.sort(rng.normal(0, 2, 300))
        predicted = 0.7 * right + rng.normal(0, 0.9, 300)
        found = fitted(right + rng.normal(0, 0.3, 300), predicted, np.arange(300) // 20, 1.0)
        assert (found.types[:, HONEST] > 0.5).all()

    def test_two_rows_do_not_convict(self):
        predicted, values, codes, _ = contributed()
        codes[:2] = CONTRIBUTORS
        values[:2] = predicted[:2] + 0.9
        assert fitted(values, predicted, codes).types[-1, HONEST] > 0.5

    def test_nobody_is_convicted_for_being_precise(self):
        predicted, values, codes, _ = contributed()
        found = fitted(np.where(codes == 0, predicted + 0.1 * (values - predicted), values), predicted, codes)
        assert found.types[0, HONEST] > 0.9
        assert found.scale[0] < 0.7

    def test_bias_and_scale_are_in_natural_spreads(self):
        predicted, values, codes, rng = contributed(each=100)
        values = np.where(codes == 0, values + 1.5, values)
        values = np.where(codes == 1, predicted + rng.normal(0, 2, len(codes)), values)
        found = fitted(values, predicted, codes)
        assert found.bias[0] - np.median(found.bias) == pytest.approx(3, abs=0.6)
        assert found.scale[1] / np.median(found.scale) == pytest.approx(4, rel=0.25)

    @pytest.mark.slow
    def test_credentials_help_where_numbers_alone_say_little(self):
        rng = np.random.default_rng(2)
        codes = np.repeat(np.arange(60), 6)
        bad = codes < 20
        values = rng.normal(size=360) * np.where(bad, 2.0, 1.0)
        signals = np.clip(rng.normal(np.where(bad, 0.35, 0.65), 0.15), 0, 1)[:, None]
        with_them = fitted(values, np.zeros(360), codes, 1.0, credentials=signals)
        without = fitted(values, np.zeros(360), codes, 1.0)
        right = [((f.types[:, HONEST] < 0.5) == (np.arange(60) < 20)).mean() for f in (with_them, without)]
        assert right[0] >= right[1] + 0.05


class TestSingleLabels:
    def test_odd_labels_of_honest_contributors_are_found(self):
        predicted, values, codes, _ = contributed(each=40)
        odd = np.zeros(len(values), dtype=bool)
        odd[::15] = True
        found = fitted(np.where(odd, values + 4, values), predicted, codes)
        assert (found.p_correct[odd] < 0.5).mean() > 0.9
        assert (found.p_correct[~odd] < 0.5).mean() < 0.01
        assert found.rate == pytest.approx(1 / 15, abs=0.03)

    @pytest.mark.parametrize("tails", [3, 5, 10])
    def test_honest_tails_are_not_odd(self, tails):
        rng = np.random.default_rng(0)
        found = fitted(rng.standard_t(tails, 500), np.zeros(500), spread=1.0)
        assert (found.p_correct < 0.5).mean() <= 0.002

    def test_lopsided_noise_is_not_odd(self):
        rng = np.random.default_rng(0)
        found = fitted(rng.exponential(1, 500), np.ones(500), spread=1.0)
        assert (found.p_correct < 0.5).mean() <= 0.002


class TestKnown:
    def test_other_labels_of_an_item_tell(self):
        """One of six is shifted by half a natural spread, which only others of the item can show."""
        rng = np.random.default_rng(0)
        items, codes = np.repeat(np.arange(200), 3), np.tile([[0, 1, 2], [3, 4, 5]], (100, 1)).ravel()
        codes = rng.permuted(np.tile(np.arange(6), (200, 1)), axis=1)[:, :3].ravel()
        right = rng.normal(size=200)[items]
        values = right + rng.normal(0, 0.2, 600) + 0.5 * (codes == 0)
        found = fitted(values, np.zeros(600), codes, 1.0, items=items)
        assert (found.types[:, HONEST] < 0.5).tolist() == [True] + [False] * 5
        assert np.corrcoef(found.consensus, right)[0, 1] > 0.97
        assert np.median(found.doubt) < 0.3

    def test_a_known_value_is_the_right_one(self):
        predicted, values, codes, _ = contributed()
        truth = np.where(np.arange(300) % 3 == 0, values, np.nan)
        found = fitted(values, predicted, codes, truth=truth)
        np.testing.assert_allclose(found.consensus[::3], values[::3])
        np.testing.assert_array_equal(found.doubt[::3], 0)

    def test_known_values_convict_who_is_off_by_less_than_the_natural_spread(self):
        predicted, values, codes, _ = contributed()
        given = np.where(codes == 0, values + 0.3, values + 0.02 * np.sin(np.arange(300)))
        assert fitted(given, predicted, codes).types[0, HONEST] > 0.5
        assert fitted(given, predicted, codes, truth=values).types[0, HONEST] < 0.5


class TestLaws:
    @settings(max_examples=4, deadline=None)
    @given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.integers(0, 99))
    def test_another_unit_for_all_changes_nothing(self, shift, factor, seed):
        predicted, values, codes, _ = contributed(seed, 6, 12)
        values = np.where(codes == 0, values + 2, values)
        before = fitted(values, predicted, codes)
        after = fitted(shift + factor * values, shift + factor * predicted, codes, 0.5 * factor)
        np.testing.assert_allclose(before.p_correct, after.p_correct, atol=0.02)
        np.testing.assert_allclose(shift + factor * before.consensus, after.consensus, atol=0.02 * factor)

    @settings(max_examples=4, deadline=None)
    @given(st.integers(0, 99))
    def test_order_and_names_do_not_matter(self, seed):
        predicted, values, codes, rng = contributed(seed, 6, 12)
        values = np.where(codes == 0, values + 2, values)
        order, names = rng.permutation(len(values)), rng.permutation(6)
        before = fitted(values, predicted, codes)
        after = fitted(values[order], predicted[order], names[codes[order]])
        np.testing.assert_allclose(before.p_correct[order], after.p_correct, atol=1e-6)
        np.testing.assert_allclose(before.types, after.types[names], atol=1e-6)

    @settings(max_examples=10, deadline=None)
    @given(
        st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, -3.5, 1e6]), min_size=1, max_size=12),
        st.integers(1, 4),
        st.booleans(),
        st.booleans(),
    )
    def test_any_numbers_give_probabilities(self, numbers, contributors, items, credentials):
        values = np.array(numbers)
        rows = np.arange(len(values))
        side = SideInformation(
            rows % contributors,
            np.full((len(values), 2), 0.5) if credentials else None,
            rows // 2 if items else None,
        )
        for predicted in (np.zeros(len(values)), values):
            found = fit_numbers(values, predicted, np.full(len(values), 1e-9), side)
            assert ((found.p_correct >= 0) & (found.p_correct <= 1)).all()
            np.testing.assert_allclose(found.types.sum(axis=1), 1)
            assert np.isfinite(found.consensus).all()
            assert np.isfinite(found.evidence)


class TestDegenerate:
    @pytest.mark.parametrize("codes", [None, np.zeros(40, dtype=np.int64), np.arange(40) % 4])
    def test_all_equal_values_are_all_believed(self, codes):
        found = fitted(np.full(40, 7.0), np.full(40, 7.0), codes, 1e-9)
        assert (found.p_correct > 0.5).all()
        np.testing.assert_allclose(found.consensus, 7)

    def test_one_contributor_is_believed(self):
        predicted, values, codes, _ = contributed()
        assert (fitted(values, predicted, np.zeros_like(codes)).p_correct > 0.5).all()

    def test_two_rows_are_believed(self):
        assert (fitted(np.array([1.0, 2.0]), np.array([1.5, 1.5]), np.array([0, 1])).p_correct > 0.5).all()

    def test_ratings_are_numbers_too(self):
        predicted, values, codes, _ = contributed()
        ratings = np.clip(np.round(3 + values), 1, 5)
        assert fitted(ratings, 3 + predicted, codes, 0.6).p_correct.min() > 0.5
        always = np.where(codes == 0, 3.0, ratings)
        assert fitted(always, 3 + predicted, codes, 0.6).types[1:, HONEST].min() > 0.5
