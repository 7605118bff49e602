"""Numbers believed in rounds: with features and without, and what follows of contributors."""

import numpy as np
import pytest
from scipy import special

from anml.annotators.rows import SideInformation
from anml.annotators.words import FLAGGED, VERDICTS
from anml.assessment.numbers import _held_out_predictions, estimate_values
from anml.core.profile import PredictorTraining
from anml.core.stats import standardise

SHORT = PredictorTraining(hidden=(8,), max_epochs=15, folds=3, lr=0.02)


def nothing(n):
    return np.zeros((n, 0))


def measured(people=6, items=60, seed=0, shift=0.0):
    """Everybody measures every item; the first is off by `shift`."""
    rng = np.random.default_rng(seed)
    right = np.repeat(rng.normal(0, 3, items), people)
    who, item = np.tile(np.arange(people), items), np.repeat(np.arange(items), people)
    values = right + rng.normal(0, 0.2, len(right)) + np.where(who == 0, shift, 0.0)
    return values, SideInformation(who, items=item), right


@pytest.fixture(scope="module")
def by_items():
    values, side, right = measured(shift=2.0)
    belief, networks = estimate_values(nothing(len(values)), values, side, None, SHORT, 0, None)
    return belief, networks, values, side, right


class TestWithoutFeatures:
    def test_no_network_is_trained(self, by_items):
        assert by_items[1] is None

    def test_who_is_off_is_accused_and_nobody_else(self, by_items):
        verdict = by_items[0].contributors.verdict
        assert verdict[0] in FLAGGED
        assert not set(verdict[1:]) & set(FLAGGED)

    def test_labels_of_the_others_are_believed_and_items_known(self, by_items):
        belief, _, _, side, right = by_items
        assert (belief.p_correct[side.codes == 0] < 0.5).mean() > 0.9
        assert (belief.p_correct[side.codes != 0] > 0.5).mean() > 0.95
        assert np.corrcoef(belief.truth[:, 0], right)[0, 1] > 0.99
        assert (belief.truth[:, 1] >= 0).all()

    def test_parts_of_the_log_odds_add_up(self, by_items):
        belief = by_items[0]
        total = belief.base + belief.credentials + belief.contributor + belief.model
        np.testing.assert_allclose(special.expit(total), belief.p_correct, atol=1e-6)

    def test_the_share_of_wrong_labels_lies_in_its_interval(self, by_items):
        wrong = by_items[0].wrong
        assert wrong.low <= wrong.mean <= wrong.high
        assert wrong.mean == pytest.approx(1 - by_items[0].p_correct.mean(), abs=1e-6)

    def test_contributors_are_summed_up_one_by_one(self, by_items):
        people = by_items[0].contributors
        assert set(people.verdict) <= set(VERDICTS)
        assert (people.reliability_low <= people.reliability).all()
        assert (people.reliability <= people.reliability_high).all()
        assert (people.low <= people.quality).all()
        assert (people.quality <= people.high).all()
        assert people.quality[0] < people.quality[1:].min()
        assert people.false_accusations <= 0.01

    def test_the_same_numbers_give_the_same_belief(self, by_items):
        belief, _, values, side, _ = by_items
        again, _ = estimate_values(nothing(len(values)), values, side, None, SHORT, 0, None)
        np.testing.assert_array_equal(again.p_correct, belief.p_correct)


def test_nobody_known_is_nobody_judged():
    values, side, _ = measured()
    belief, _ = estimate_values(nothing(len(values)), values, side._replace(codes=None), None, SHORT, 0, None)
    assert belief.contributors is None
    assert not belief.contributor.any()


def test_where_half_are_shifted_alike_nobody_is_accused():
    values, side, _ = measured()
    half = np.where(side.codes < 3, values + 9.0, values)
    belief, _ = estimate_values(nothing(len(values)), half, side, None, SHORT, 0, None)
    assert not set(belief.contributors.verdict) & set(FLAGGED)


class TestPredicted:
    def test_without_anything_it_is_the_median_and_a_robust_spread(self):
        values = np.array([1.0, 2.0, 3.0, 4.0, 1000.0])
        mean, spread = _held_out_predictions(nothing(5), values, None, None, 0, None)
        np.testing.assert_array_equal(mean, 3.0)
        # Median of |x - 3| is 1.
        np.testing.assert_allclose(spread, 1.4826)

    def test_predictions_that_were_given_are_taken(self):
        values = np.array([1.0, 2.0, 3.0])
        mean, _ = _held_out_predictions(nothing(3), values, None, None, 0, values + 0.5)
        np.testing.assert_array_equal(mean, values + 0.5)

    def test_equal_values_have_a_spread_above_nothing(self):
        assert (_held_out_predictions(nothing(3), np.full(3, 7.0), None, None, 0, None)[1] > 0).all()


def test_features_tell_which_numbers_are_wrong():
    rng = np.random.default_rng(0)
    x = standardise(rng.normal(size=(120, 3)))
    y = x @ [2.0, -1.0, 0.5] + rng.normal(0, 0.1, 120)
    wrong = np.arange(120) % 10 == 0
    said = []
    belief, networks = estimate_values(
        x,
        np.where(wrong, y + 9, y),
        SideInformation(np.arange(120) % 6),
        None,
        SHORT,
        0,
        lambda *what: said.append(what),
    )
    assert networks is not None
    assert belief.p_correct[wrong].mean() < 0.5 < belief.p_correct[~wrong].mean()
    assert {what for what, _, _ in said} <= {"round 1", "round 2", "round 3"}
    assert belief.predicted.shape == (120,)
