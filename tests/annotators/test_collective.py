"""Errors that a crowd makes together: the power by hand, what known items teach, what the truth is then."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.annotators.collective import (
    COLLECTIVE_ERROR_RATIO,
    EXPONENT_GRID,
    CollectiveErrorPosterior,
    collective_error_stats,
    fit_collective_error,
    temper_probabilities,
)
from anml.annotators.rows import add_stats

NOTHING = np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
# A crowd that is nine tenths sure of everything, with several labels of each item, three tenths wrong.
SURE = np.tile([0.9, 0.1], (500, 1))
SEVERAL = np.array([1000.0, 1000.0, 300.0])


def certain(power: float) -> CollectiveErrorPosterior:
    return CollectiveErrorPosterior(np.array([power]), np.ones(1), np.zeros(1))


class TestPower:
    def test_with_nothing_known_the_crowd_errs_at_a_share_of_what_single_people_get_wrong(self):
        found = fit_collective_error(collective_error_stats(SEVERAL, SURE, *NOTHING), 2)
        usual = found.powers[found.weight.argmax()]
        # 0.9 (1 - 0.1) + 0.1 * 0.1 = 0.82 is 0.9 raised to log(0.82 / 0.18) / log(9) = 0.69.
        assert pytest.approx(0.1) == COLLECTIVE_ERROR_RATIO * 0.3
        assert usual == pytest.approx(0.69, abs=0.15)
        assert found.mean == pytest.approx(0.1, abs=0.04)

    def test_it_is_not_sure_of_that(self):
        found = fit_collective_error(collective_error_stats(SEVERAL, SURE, *NOTHING), 2)
        assert found.weight.max() < 0.5
        assert found.powers.min() < 0.4
        assert found.powers.max() > 1

    def test_of_items_with_one_label_single_errors_are_the_usual(self):
        found = fit_collective_error(collective_error_stats(np.array([1000.0, 0.0, 0.0]), SURE, *NOTHING), 2)
        assert found.weight[found.powers == 1] > 0.88
        assert found.mean < 0.02

    def test_many_known_items_decide(self):
        said = np.tile([0.99, 0.01], (2000, 1))
        truth = (np.arange(2000) % 5 == 0).astype(np.int64)
        found = fit_collective_error(
            collective_error_stats(np.array([1000.0, 0.0, 0.0]), said, said, truth), 2
        )
        # Right in four of five: 0.99 ** a / (0.99 ** a + 0.01 ** a) = 0.8 for a = log(4) / log(99) = 0.30.
        assert found.weight @ found.powers == pytest.approx(np.log(4) / np.log(99), abs=0.02)
        assert found.truth(said)[0, 0] == pytest.approx(0.8, abs=0.01)

    def test_doubt_that_was_there_is_no_error_of_all(self):
        # A tenth of the items that are nine tenths sure is wrong, as was expected of them.
        known = np.tile([0.9, 0.1], (300, 1))
        truth = (np.arange(300) % 10 == 0).astype(np.int64)
        found = fit_collective_error(collective_error_stats(SEVERAL, SURE, known, truth), 2)
        assert found.weight @ found.powers == pytest.approx(1.0, abs=0.1)

    def test_known_items_of_which_nothing_is_said_teach_nothing(self):
        unclear = collective_error_stats(SEVERAL, SURE, np.full((9, 2), 0.5), np.ones(9, dtype=np.int64))
        before = fit_collective_error(collective_error_stats(SEVERAL, SURE, *NOTHING), 2)
        np.testing.assert_allclose(fit_collective_error(unclear, 2).weight, before.weight)

    @given(st.floats(0, 1), st.floats(0.5, 0.999), st.integers(2, 6))
    def test_the_rate_is_never_negative_nor_more_than_all(self, wrong, sure, classes):
        said = np.full((20, classes), (1 - sure) / (classes - 1))
        said[:, 0] = sure
        nothing = np.zeros((0, classes)), np.zeros(0, dtype=np.int64)
        found = fit_collective_error(
            collective_error_stats(np.array([20, 20, 20 * wrong]), said, *nothing), classes
        )
        assert found.weight.sum() == pytest.approx(1)
        assert ((found.rates >= 0) & (found.rates <= 1)).all()

    def test_adds_up_over_slices(self):
        rng = np.random.default_rng(0)
        said, truth = rng.dirichlet([1, 1, 1], 40), rng.integers(0, 3, 40)
        single = np.array([40.0, 30.0, 9.0])
        whole = collective_error_stats(single, said, said, truth)
        parts = [
            collective_error_stats(single / 2, said[i], said[i], truth[i])
            for i in (slice(0, 15), slice(15, 40))
        ]
        for one, other in zip(whole, add_stats(*parts), strict=True):
            np.testing.assert_allclose(one, other)


class TestTruth:
    def test_by_hand(self):
        # Half the log-odds of nine to one are those of three to one.
        found = certain(0.5).truth(np.array([[0.9, 0.1], [0.5, 0.5], [1.0, 0.0]]))
        np.testing.assert_allclose(found, [[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]], atol=1e-5)

    def test_powers_are_averaged(self):
        both = CollectiveErrorPosterior(np.array([0.5, 1.0]), np.array([0.5, 0.5]), np.zeros(2))
        np.testing.assert_allclose(both.truth(np.array([[0.9, 0.1]])), [[0.825, 0.175]])

    @given(st.floats(EXPONENT_GRID[0], 1), st.integers(2, 6), st.integers(0, 99))
    def test_probabilities_sum_to_one_and_get_no_surer(self, power, classes, seed):
        said = np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), 6)
        found = certain(power).truth(said)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert (found.max(axis=1) <= said.max(axis=1) + 1e-9).all()
        assert (found.argmax(axis=1) == said.argmax(axis=1)).all()

    def test_as_it_was_said(self):
        said = np.random.default_rng(0).dirichlet([1, 1, 1], 5)
        np.testing.assert_allclose(temper_probabilities(np.log(said), 1.0), said)

    def test_one_class_is_what_it_is(self):
        np.testing.assert_array_equal(certain(0.5).truth(np.ones((3, 1))), 1)

    def test_share_of_right_labels(self):
        # Of eight tenths a tenth is wrong together; of the rest a twentieth hits, one of two other classes.
        one = CollectiveErrorPosterior(np.ones(1), np.ones(1), np.array([0.1]))
        assert one.share(0.8, 3) == pytest.approx(0.8 * 0.9 + 0.2 * 0.05)
