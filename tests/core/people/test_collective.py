"""Errors that a crowd makes together: the rate by hand, and what it does to the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.people.collective import ITEMS, TOGETHER, Collective, collective_error, known_errors

NOTHING = known_errors(np.zeros((0, 2)), np.zeros(0, dtype=np.int64))


class TestRate:
    def test_with_nothing_known_it_is_a_share_of_what_single_people_get_wrong(self):
        found = collective_error(0.3, NOTHING)
        assert found.mean == pytest.approx(TOGETHER * 0.3)
        assert found.wrong + found.right == pytest.approx(ITEMS)

    def test_known_items_are_counted_where_the_crowd_is_clear(self):
        # Three clear, of which one is wrong where 0.08 were expected; one unclear, which says nothing.
        said = np.array([[0.95, 0.05], [0.02, 0.98], [0.99, 0.01], [0.6, 0.4]])
        found = collective_error(0.3, known_errors(said, np.array([0, 1, 1, 1])))
        assert found.wrong == pytest.approx(ITEMS * TOGETHER * 0.3 + 1 - 0.08)
        assert found.right == pytest.approx(ITEMS * (1 - TOGETHER * 0.3) + 2.08)

    def test_doubt_that_was_there_is_no_error_of_all(self):
        # One of ten is wrong, as was expected of items that are nine tenths sure.
        said = np.tile([0.901, 0.099], (10, 1))
        found = collective_error(0.3, known_errors(said, np.array([1] + [0] * 9)))
        assert found.wrong == pytest.approx(ITEMS * TOGETHER * 0.3, abs=0.02)

    def test_many_known_items_decide(self):
        said = np.tile([0.99, 0.01], (1000, 1))
        truth = (np.arange(1000) % 5 == 0).astype(np.int64)
        assert collective_error(0.01, known_errors(said, truth)).mean == pytest.approx(0.19, abs=0.01)

    def test_known_items_that_are_all_unclear_say_nothing(self):
        unclear = known_errors(np.full((9, 2), 0.5), np.ones(9, dtype=np.int64))
        assert collective_error(0.2, unclear) == collective_error(0.2, NOTHING)

    @given(st.floats(0, 1))
    def test_is_never_nothing_and_never_most(self, single):
        assert 0 < collective_error(single, NOTHING).mean <= 0.5


class TestTruth:
    def test_by_hand(self):
        # One in ten is wrong together, in three classes.
        found = Collective(1.0, 9.0).truth(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))
        np.testing.assert_allclose(found, [[0.9, 0.05, 0.05], [0.475, 0.475, 0.05]])

    @given(st.floats(0.1, 20), st.floats(1, 200), st.integers(2, 6), st.integers(0, 99))
    def test_probabilities_sum_to_one_and_get_no_surer(self, wrong, right, classes, seed):
        said = np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), 6)
        found = Collective(wrong, right).truth(said)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        if right >= wrong * (classes - 1):
            assert (found.max(axis=1) <= said.max(axis=1) + 1e-12).all()

    def test_one_class_is_what_it_is(self):
        np.testing.assert_array_equal(Collective(1.0, 9.0).truth(np.ones((3, 1))), 1)


class TestQuadrature:
    def test_keeps_the_mean_and_weighs_alike(self):
        rates, weights = Collective(6.0, 94.0).quadrature(41)
        assert weights.sum() == pytest.approx(1)
        assert rates @ weights == pytest.approx(0.06, abs=1e-3)
        assert (np.diff(rates) > 0).all()

    def test_the_middle_of_nine_is_the_median(self):
        rates, _ = Collective(5.0, 5.0).quadrature()
        assert rates[4] == pytest.approx(0.5)
        np.testing.assert_allclose(rates + rates[::-1], 1)
