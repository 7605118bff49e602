"""What is believed of labels and contributors: shares and intervals by hand, then what any belief obeys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from anml.core.evidence.belief import (
    LARGE_CAMP,
    Belief,
    Contributor,
    believe_classes,
    log_odds,
    mixed,
    quality_of,
    reason_for_doubt,
    told_by,
)
from anml.core.evidence.classes import RIGHT, SURE, fit_classes
from anml.core.evidence.side import BEFOREHAND, Side
from anml.core.stats import Estimate

USUAL = special.expit(RIGHT[0])
unit = st.floats(0, 1)


class TestLogOdds:
    @given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=10))
    def test_turns_back(self, values):
        np.testing.assert_allclose(special.expit(log_odds(np.array(values))), values, atol=1e-9)

    def test_certainty_is_bounded(self):
        np.testing.assert_allclose(log_odds(np.array([0.0, 0.5, 1.0])), [-2 * SURE, 0, 2 * SURE])

    @given(unit)
    def test_right_mirrors_wrong(self, p):
        assert log_odds(np.array(p)) == pytest.approx(-log_odds(np.array(1 - p)), abs=1e-3)


class TestMixed:
    def test_by_hand(self):
        np.testing.assert_allclose(mixed(np.array([0.25, 0.75]), [np.array([1.0]), np.array([3.0])]), [2.5])

    @given(st.lists(st.lists(unit, min_size=3, max_size=3), min_size=1, max_size=4), st.integers(0, 9))
    def test_lies_between_what_is_mixed(self, parts, seed):
        weights = np.random.default_rng(seed).dirichlet(np.ones(len(parts)))
        arrays = [np.array(part) for part in parts]
        found = mixed(weights, arrays)
        assert (found >= np.min(arrays, axis=0) - 1e-12).all()
        assert (found <= np.max(arrays, axis=0) + 1e-12).all()


class TestQuality:
    def test_by_hand(self):
        # Two rows surely right and one surely wrong, all told: two right and one wrong beside ten usual ones.
        share, low, high, right, wrong = quality_of(
            np.array([1.0, 1.0, 0.0]), np.zeros(3, dtype=int), 1, told=1.0
        )
        assert share[0] == pytest.approx((2 + BEFOREHAND * USUAL) / (3 + BEFOREHAND))
        assert (right[0], wrong[0]) == (2, 1)
        assert low[0] < share[0] < high[0]

    def test_labels_that_cannot_be_checked_say_little(self):
        p, codes = np.zeros(50), np.zeros(50, dtype=int)
        told, untold = (quality_of(p, codes, 1, told)[0][0] for told in (1.0, 0.05))
        assert told < 0.2 < 0.7 < untold

    def test_nobody_seen_is_as_usual(self):
        share, *_ = quality_of(np.array([1.0]), np.array([1]), 2, 1.0)
        assert share[0] == pytest.approx(USUAL)

    @given(st.lists(st.tuples(unit, st.integers(0, 3)), min_size=1, max_size=40), st.floats(0.05, 1))
    def test_counts_add_up_and_bounds_hold_the_share(self, rows, told):
        p, codes = np.array([p for p, _ in rows]), np.array([c for _, c in rows])
        share, low, high, right, wrong = quality_of(p, codes, 4, told)
        np.testing.assert_allclose(right + wrong, told * np.bincount(codes, minlength=4), atol=1e-9)
        assert right.sum() == pytest.approx(told * p.sum())
        assert (low <= share).all()
        assert (share <= high).all()

    @given(st.integers(1, 200), st.integers(1, 200))
    def test_more_right_labels_make_a_better_and_surer_contributor(self, one, other):
        few, many = sorted((one, other))
        found = [quality_of(np.ones(n), np.zeros(n, dtype=int), 1, 1.0) for n in (few, many)]
        assert found[1][0][0] >= found[0][0][0]
        assert found[1][2][0] - found[1][1][0] <= found[0][2][0] - found[0][1][0] + 1e-12


class TestToldBy:
    def test_by_hand(self):
        # Half of the labels are of the commonest class, three quarters are named: half of the way to all.
        y = np.array([0, 0, 1, 2])
        said = np.eye(3)[[0, 0, 1, 0]]
        assert told_by(said, y) == pytest.approx((0.75 - 0.5) / 0.5)

    def test_no_better_than_the_commonest_class_tells_hardly_anything(self):
        y = np.array([0, 0, 0, 1])
        assert told_by(np.eye(2)[[0, 0, 0, 0]], y) == 0.05
        assert told_by(np.eye(2)[[1, 1, 1, 0]], y) == 0.05

    def test_all_named_tells_all(self):
        y = np.array([0, 1, 2])
        assert told_by(np.eye(3)[y], y) == 1.0
        assert told_by(np.zeros((3, 1)), np.zeros(3, dtype=int)) == 0.05


class TestReason:
    @pytest.mark.parametrize(("opposed", "doubtful"), [(0.0, False), (LARGE_CAMP, False), (0.39, True)])
    def test_begins_above_the_large_camp(self, opposed, doubtful):
        assert (reason_for_doubt(opposed) is not None) == doubtful

    def test_names_how_many(self):
        assert "contributors of 42% of the rows contradict the others" in reason_for_doubt(0.42)


def contributor(good, bad):
    ones = np.ones(len(good))
    return Contributor(
        np.tile([1.0, 0, 0], (len(good), 1)), ["trusted"] * len(good), ones, ones, ones, ones,
        np.array(good), np.array(bad), 0.0,
    )  # fmt: skip


class TestReputation:
    def test_rests_on_labels_alone(self):
        found = contributor([90.0], [10.0]).reputation()
        assert found["r"][0] == pytest.approx((90 + BEFOREHAND * USUAL) / (100 + BEFOREHAND))
        assert found["low"][0] < found["r"][0] < found["high"][0]
        assert (found["good"][0], found["bad"][0]) == (90, 10)

    @given(st.lists(st.floats(0, 1000), min_size=2, max_size=8))
    def test_more_good_labels_never_lower_it(self, good):
        good = np.sort(good)
        found = contributor(good, np.full(len(good), 5.0)).reputation()["r"]
        assert (np.diff(found) >= -1e-12).all()


def belief_of(seed=0):
    rng = np.random.default_rng(seed)
    truth, who = rng.integers(0, 2, 300), rng.integers(0, 6, 300)
    y = np.where(who == 0, 1 - truth, truth)
    log_p = np.log(np.where(np.arange(2) == truth[:, None], 0.9, 0.1))
    fits, weights = fit_classes(log_p, y, Side(who))
    return believe_classes(fits, weights, {"network": 1.0}, None), y, who, truth


class TestBelief:
    def test_every_field_is_a_probability_or_adds_up(self):
        found, y, _, _ = belief_of()
        assert ((found.p_correct > 0) & (found.p_correct < 1)).all()
        np.testing.assert_allclose(found.truth.sum(axis=1), 1, atol=1e-6)
        total = found.base + found.credentials + found.contributor + found.model
        np.testing.assert_allclose(special.expit(total), found.p_correct, atol=1e-6)
        assert found.wrong.low <= found.wrong.mean <= found.wrong.high
        assert found.wrong.mean == pytest.approx(1 - found.p_correct.mean())
        assert found.predicted.shape == (len(y), 2)
        assert not found.alone.any()

    def test_a_contributors_part_is_the_same_for_all_of_its_rows(self):
        found, _, who, _ = belief_of()
        for code in np.unique(who):
            assert np.ptp(found.contributor[who == code]) == 0
        assert found.contributor[who == 0][0] < found.contributor[who == 1][0]

    def test_without_credentials_beliefs_are_free_of_them(self):
        found, *_ = belief_of()
        np.testing.assert_allclose(found.r_free, found.p_correct, atol=1e-9)

    def test_credentials_are_taken_out_of_what_is_free_of_them(self):
        found, *_ = belief_of()
        vouched = Belief(**{**found.__dict__, "credentials": np.full(300, 1.5)})
        np.testing.assert_allclose(log_odds(vouched.r_free), log_odds(found.p_correct) - 1.5, atol=1e-6)

    def test_rows_that_rest_on_their_contributor_are_passed_on(self):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 40)
        fits, weights = fit_classes(np.log(np.full((40, 2), 0.5)), y, Side(np.arange(40) % 4))
        alone = np.arange(40) < 3
        np.testing.assert_array_equal(believe_classes(fits, weights, {}, alone).alone, alone)

    def test_the_estimate_of_wrong_labels_is_plain_values(self):
        found, *_ = belief_of()
        assert isinstance(found.wrong, Estimate)
        assert set(found.wrong.to_dict()) == {"mean", "low", "high"}
