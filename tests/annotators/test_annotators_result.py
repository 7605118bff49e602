"""Estimates of labels and contributors: log-odds, means over hypotheses, reputation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from people_cases import believed, sharp
from scipy import special

from anml.annotators.params import MAX_LOGIT
from anml.annotators.result import ContributorEstimates, average_over_hypotheses, clipped_logit
from anml.annotators.rows import SideInformation
from anml.core.stats import Estimate

unit = st.floats(0, 1)


class TestLogOdds:
    @given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=10))
    def test_turns_back(self, values):
        np.testing.assert_allclose(special.expit(clipped_logit(np.array(values))), values, atol=1e-9)

    def test_certainty_is_bounded(self):
        np.testing.assert_allclose(
            clipped_logit(np.array([0.0, 0.5, 1.0])), [-2 * MAX_LOGIT, 0, 2 * MAX_LOGIT]
        )

    @given(unit)
    def test_right_mirrors_wrong(self, p):
        assert clipped_logit(np.array(p)) == pytest.approx(-clipped_logit(np.array(1 - p)), abs=1e-3)


class TestMixed:
    def test_by_hand(self):
        np.testing.assert_allclose(
            average_over_hypotheses(np.array([0.25, 0.75]), [np.array([1.0]), np.array([3.0])]), [2.5]
        )

    @given(st.lists(st.lists(unit, min_size=3, max_size=3), min_size=1, max_size=4), st.integers(0, 9))
    def test_lies_between_what_is_mixed(self, parts, seed):
        weights = np.random.default_rng(seed).dirichlet(np.ones(len(parts)))
        arrays = [np.array(part) for part in parts]
        found = average_over_hypotheses(weights, arrays)
        assert (found >= np.min(arrays, axis=0) - 1e-12).all()
        assert (found <= np.max(arrays, axis=0) + 1e-12).all()


def contributor(good, bad):
    ones = np.ones(len(good))
    return ContributorEstimates(
        ["reliable"] * len(good), ones, ones, ones, ones, ones, ones, ones, np.array(good), np.array(bad),
        np.zeros(len(good), dtype=int), 0.0,
    )  # fmt: skip


class TestReputation:
    def test_by_hand(self):
        # Nine right and one wrong beside one of each beforehand.
        found = contributor([9.0], [1.0]).reputation()
        assert found["r"][0] == pytest.approx(10 / 12)
        assert found["low"][0] < found["r"][0] < found["high"][0]
        assert (found["good"][0], found["bad"][0]) == (9, 1)

    @given(st.lists(st.floats(0, 1000), min_size=2, max_size=8))
    def test_more_good_labels_never_lower_it(self, good):
        good = np.sort(good)
        found = contributor(good, np.full(len(good), 5.0)).reputation()["r"]
        assert (np.diff(found) >= -1e-12).all()


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    truth, who = rng.integers(0, 2, 300), rng.integers(0, 6, 300)
    y = np.where(who == 0, 1 - truth, truth)
    return believed(sharp(truth, 2, 0.9), y, SideInformation(who)), who


class TestBelief:
    def test_every_field_is_a_probability_or_adds_up(self, case):
        found, _ = case
        assert ((found.p_correct > 0) & (found.p_correct < 1)).all()
        np.testing.assert_allclose(found.truth.sum(axis=1), 1, atol=1e-6)
        total = found.base + found.credentials + found.contributor + found.model
        np.testing.assert_allclose(special.expit(total), found.p_correct, atol=1e-6)
        assert found.wrong.low <= found.wrong.mean <= found.wrong.high
        assert found.wrong.mean == pytest.approx(1 - found.p_correct.mean())
        assert found.predicted.shape == (300, 2)
        assert not found.alone.any()
        assert not found.evenly

    def test_a_contributors_part_is_the_same_for_all_of_its_rows(self, case):
        found, who = case
        for code in np.unique(who):
            assert np.ptp(found.contributor[who == code]) == 0
        assert found.contributor[who == 0][0] < found.contributor[who == 1][0]

    def test_the_estimate_of_wrong_labels_is_plain_values(self, case):
        assert isinstance(case[0].wrong, Estimate)
        assert set(case[0].wrong.to_dict()) == {"mean", "low", "high"}
