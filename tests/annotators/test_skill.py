"""Accuracy posterior: statistics, comparable rows and intervals by hand; invariants of the posterior."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.annotators.collective import NO_COLLECTIVE_ERROR, CollectiveErrorPosterior
from anml.annotators.params import CELL_PSEUDO_COUNT
from anml.annotators.rows import add_stats as added_up
from anml.annotators.skill import (
    ACCURACY_GRID,
    CLARITY_BINS,
    AccuracyPosterior,
    AccuracyStats,
    accuracy_posterior,
    accuracy_stats,
    adjust_for_collective_error,
    beta_pmf,
    hpd_interval,
    peer_accuracy_on_comparable_rows,
)

seeds = st.integers(0, 10_000)
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


def told(rights, wrongs, sure=1 - 1e-9):
    """AccuracyStats of contributors of whom it is seen how many labels are right, the truth half and half."""
    seen, y, who = [], [], []
    for k, (right, wrong) in enumerate(zip(rights, wrongs, strict=True)):
        for place in range(right + wrong):
            truth = place % 2
            seen.append([1 - sure, sure] if truth else [sure, 1 - sure])
            y.append(truth if place < right else 1 - truth)
            who.append(k)
    seen = np.array(seen)
    return accuracy_stats(seen, seen, np.array(y), np.array(who), len(rights), SWAP)


def worth(tally, ordinary=None, vouched=None):
    people = len(tally.rows)
    one, nothing = np.ones(people), np.zeros(people)
    return accuracy_posterior(
        tally, one if ordinary is None else ordinary, nothing if vouched is None else vouched
    )


class TestTally:
    def test_by_hand(self):
        seen, truth = np.array([[0.7, 0.3], [0.5, 0.5]]), np.array([[0.9, 0.1], [0.5, 0.5]])
        found = accuracy_stats(seen, truth, np.array([0, 1]), np.array([0, 1]), 2, SWAP)
        # Right with .7; wrong if it is the other class, which always goes there: .3.
        np.testing.assert_allclose(found.logs[0], np.log(ACCURACY_GRID * 0.7 + (1 - ACCURACY_GRID) * 0.3))
        # A row that nothing tells about says nothing.
        np.testing.assert_allclose(found.logs[1], np.log(0.5))
        # .7 is between .6 and .8, .5 below .6.
        np.testing.assert_array_equal(found.rows, [[0, 1, 0, 0, 0], [1, 0, 0, 0, 0]])
        np.testing.assert_allclose(found.right, [[0, 0.9, 0, 0, 0], [0.5, 0, 0, 0, 0]])
        np.testing.assert_array_equal(found.given, [[1, 0], [0, 1]])
        np.testing.assert_allclose(found.share, [1.4, 0.6])
        assert found.rows.shape[1] == len(CLARITY_BINS) + 1

    @given(seeds, st.integers(1, 19))
    def test_adds_up_over_slices(self, seed, cut):
        rng = np.random.default_rng(seed)
        seen, truth = rng.dirichlet(np.ones(3), 20), rng.dirichlet(np.ones(3), 20)
        y, who = rng.integers(0, 3, 20), rng.integers(0, 4, 20)
        to = (1 - np.eye(3)) / 2
        whole = accuracy_stats(seen, truth, y, who, 4, to)
        one, two = (
            accuracy_stats(seen[part], truth[part], y[part], who[part], 4, to)
            for part in (slice(0, cut), slice(cut, 20))
        )
        for name, added in added_up(one, two)._asdict().items():
            np.testing.assert_allclose(added, getattr(whole, name), atol=1e-9)


class TestComparable:
    ROWS, RIGHT = np.array([[10.0], [10.0], [20.0]]), np.array([[9.0], [8.0], [10.0]])

    def test_by_hand(self):
        # All together 27 of 40 are right, which counts as ten rows beside those of the two others.
        found = peer_accuracy_on_comparable_rows(self.ROWS, self.RIGHT, np.ones(3))
        np.testing.assert_allclose(found, [(18 + 6.75) / 40, (19 + 6.75) / 40, (17 + 6.75) / 30])

    def test_who_is_not_ordinary_is_no_measure_for_others(self):
        found = peer_accuracy_on_comparable_rows(self.ROWS, self.RIGHT, np.array([1.0, 1.0, 0.0]))
        np.testing.assert_allclose(found, [(8 + 8.5) / 20, (9 + 8.5) / 20, (17 + 8.5) / 30])

    def test_others_are_compared_on_rows_that_are_as_hard(self):
        """One has the hard rows alone, where everybody is right half of the time."""
        rows = np.array([[200.0, 0.0], [200.0, 1000.0], [200.0, 1000.0]])
        found = peer_accuracy_on_comparable_rows(rows, rows * [0.5, 0.95], np.ones(3))
        assert found[0] == pytest.approx(0.5, abs=0.02)
        assert found[1] > 0.8

    @given(seeds)
    def test_is_a_share_and_people_may_come_in_any_order(self, seed):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 30, (6, 5)).astype(float)
        right, ordinary, order = rows * rng.uniform(size=(6, 5)), rng.uniform(size=6), rng.permutation(6)
        found = peer_accuracy_on_comparable_rows(rows, right, ordinary)
        assert ((found >= 0.01) & (found <= 0.99)).all()
        np.testing.assert_allclose(
            peer_accuracy_on_comparable_rows(rows[order], right[order], ordinary[order]), found[order]
        )


class TestGrid:
    def test_beta_has_its_mean(self):
        found = beta_pmf(np.array([8.0, 30.0]), np.array([2.0, 10.0]))
        np.testing.assert_allclose(found.sum(axis=1), 1)
        np.testing.assert_allclose(found @ ACCURACY_GRID, [0.8, 0.75], atol=1e-3)

    def test_a_flat_beta_is_flat(self):
        np.testing.assert_allclose(beta_pmf(np.ones(1), np.ones(1)), 1 / len(ACCURACY_GRID))


class TestInterval:
    def test_by_hand(self):
        at = np.zeros((3, 200))
        at[0, 40] = 1.0
        at[1, [100, 101]] = 0.5
        at[2] = 1 / 200
        low, high = hpd_interval(at)
        np.testing.assert_allclose(low[:2], [0.2, 0.5])
        np.testing.assert_allclose(high[:2], [0.205, 0.51])
        # Of a flat posterior any 190 cells are 95%.
        assert high[2] - low[2] == pytest.approx(0.95)

    def test_a_twentieth_is_left_out_at_the_thinner_end(self):
        at = np.zeros((1, 200))
        at[0, 0], at[0, 150:160] = 0.04, 0.096
        np.testing.assert_allclose(np.ravel(hpd_interval(at)), [0.75, 0.8])

    @given(seeds)
    def test_is_the_shortest_that_holds_so_much(self, seed):
        rng = np.random.default_rng(seed)
        posterior = beta_pmf(rng.uniform(1, 60, 3), rng.uniform(1, 60, 3))
        low, high = hpd_interval(posterior)
        for k in range(3):
            first, last = round(low[k] * 200), round(high[k] * 200)
            assert posterior[k, first:last].sum() >= 0.95 - 1e-9
            narrower = np.convolve(posterior[k], np.ones(last - first - 1), "valid")
            assert narrower.max() < 0.95


class TestWorth:
    def test_many_rows_speak_for_themselves(self):
        tally = told([380, 390, 200, 385, 390], [20, 10, 200, 15, 10])
        found = worth(tally)
        assert np.abs(found.right @ ACCURACY_GRID - [0.95, 0.975, 0.5, 0.9625, 0.975]).max() < 0.02
        np.testing.assert_array_equal(found.rows, 400)

    def test_few_rows_leave_it_to_the_population(self):
        found = worth(told([3] + [95] * 8, [1] + [5] * 8))
        mean = found.right @ ACCURACY_GRID
        assert 0.75 < mean[0] < mean[1:].min()

    def test_guessed_is_what_the_same_labels_would_get_at_random(self):
        # Half of the items are of either class; who says either half of the time gets half, as who says one.
        tally = told([50, 50], [50, 50])
        assert worth(tally).guessed == pytest.approx(0.5)
        always = tally._replace(given=np.array([[100.0, 0.0], [50.0, 50.0]]), share=np.array([180.0, 20.0]))
        share = np.array([0.9, 0.1])
        np.testing.assert_allclose(
            worth(always).guessed,
            [
                (90 + CELL_PSEUDO_COUNT * (share @ share)) / (100 + CELL_PSEUDO_COUNT),
                (50 + CELL_PSEUDO_COUNT * (share @ share)) / (100 + CELL_PSEUDO_COUNT),
            ],
        )

    def test_who_guesses_is_no_measure_for_others(self):
        found = worth(told([95, 96, 94, 95, 50, 50], [5, 4, 6, 5, 50, 50]))
        assert found.expected[:4].min() > 0.85

    def test_somebody_better_than_all_others_is_the_best(self):
        found = worth(told([340] * 11 + [400], [60] * 11 + [0]))
        mean = found.right @ ACCURACY_GRID
        assert mean.argmax() == 11
        assert mean[11] > 0.97

    def test_what_vouches_for_somebody_helps(self):
        tally = told([9, 95, 95, 95], [5, 5, 5, 5])
        alone, helped = (
            (worth(tally, vouched=np.array([odds, 0, 0, 0])).right @ ACCURACY_GRID)[0] for odds in (0.0, 3.0)
        )
        assert helped >= alone

    @given(seeds)
    def test_posteriors_are_distributions_and_people_may_come_in_any_order(self, seed):
        rng = np.random.default_rng(seed)
        rights, wrongs = rng.integers(0, 30, 5), rng.integers(1, 15, 5)
        tally, order = told(rights, wrongs), rng.permutation(5)
        found = worth(tally)
        for part in (found.right, found.prior, found.alone):
            np.testing.assert_allclose(part.sum(axis=1), 1)
        same = AccuracyStats(
            *(part[order] for part in tally[:4]), tally.share, tally.known[order], tally.confused[order]
        )
        np.testing.assert_allclose(worth(same).right, found.right[order], atol=1e-9)

    @given(st.integers(0, 40), st.integers(0, 20), seeds)
    def test_one_more_label_seen_to_be_right_never_makes_anybody_worse(self, right, wrong, seed):
        others = np.random.default_rng(seed).integers(5, 40, 6)
        rights, wrongs = [right + 1, *others], [wrong + 1, *(others // 5)]
        before = worth(told(rights, wrongs)).right[0] @ ACCURACY_GRID
        after = worth(told([rights[0] + 1, *rights[1:]], wrongs)).right[0] @ ACCURACY_GRID
        # Others are compared with a little more by it: by less than what a label weighs.
        assert after >= before - 0.002


def at_rate(rate):
    """A crowd that errs together at this rate."""
    return CollectiveErrorPosterior(np.ones(1), np.ones(1), np.array([rate]))


class TestStanding:
    def found(self):
        right = np.zeros((1, 200))
        right[0, 179] = 1.0
        return AccuracyPosterior(
            right, np.array([0.9]), np.array([0.5]), np.array([50.0]), right, right, np.zeros(1), right
        )

    def test_a_crowd_that_is_never_wrong_together_changes_nothing(self):
        stands = adjust_for_collective_error(self.found(), NO_COLLECTIVE_ERROR, 2)
        np.testing.assert_allclose(stands.posterior(), self.found().right, atol=1e-6)
        assert stands.below(np.array([0.89])) == pytest.approx(0)
        assert stands.below(np.array([0.91])) == pytest.approx(1)

    def test_who_follows_a_crowd_that_errs_is_wrong_as_often(self):
        # Right where the crowd is, 9 of 10 times; and where it is wrong, by chance, of two classes.
        stands = adjust_for_collective_error(self.found(), at_rate(0.1), 2)
        at = ACCURACY_GRID[179]
        mean = float((stands.posterior() @ ACCURACY_GRID)[0])
        assert mean == pytest.approx(0.9 * at + 0.1 * (1 - at), abs=0.004)
        np.testing.assert_allclose(stands.expected, 0.9 * 0.9 + 0.1 * 0.1, atol=2e-3)

    def test_of_these_very_rows_the_crowd_gets_as_many_wrong_as_chance_has_it(self):
        # Of fifty rows a tenth, give or take the root of 0.1 * 0.9 / 50; each of them is off by as much.
        usual, these = (
            adjust_for_collective_error(self.found(), at_rate(0.1), 2, these=each) for each in (False, True)
        )
        means = [(stands.weight * stands.right).sum() for stands in (usual, these)]
        assert means[0] == pytest.approx(means[1])
        spread = (these.weight * np.square(these.right - means[1])).sum()
        slope = 2 * ACCURACY_GRID[179] - 1
        assert spread == pytest.approx(slope**2 * 0.1 * 0.9 / 50)

    @given(st.floats(0, 1), st.booleans(), st.integers(2, 6))
    def test_is_a_distribution(self, rate, these, classes):
        stands = adjust_for_collective_error(self.found(), at_rate(rate), classes, these)
        assert stands.posterior().sum() == pytest.approx(1)
        assert stands.below(np.array([1.1])) == pytest.approx(1)
        assert stands.below(np.array([0.0])) == 0
