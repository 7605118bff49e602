"""Kappa by hand, its interval by simulation, and the number of independent judges."""

import numpy as np
import pytest

from anml.annotators.agreement import (
    MAX_LABELS,
    effective_number,
    kappa_draws,
    labels_to_decide,
    pair_counts,
    pair_counts_within,
)

NOMINAL = 1.0 - np.eye(2)


def test_pairs_are_counted_by_hand():
    reference = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    assert pair_counts(np.array([0, 0, 1]), reference).tolist() == [[1.5, 0.5], [0.0, 1.0]]
    # Labels 0, 0, 1 of one item: of its six ordered pairs two agree, each of weight 1/6.
    assert pair_counts_within(np.array([[2.0, 1.0]])) == pytest.approx(np.array([[2, 2], [2, 0]]) / 6)


def test_the_mean_of_many_pairs_is_cohens_kappa():
    # Observed agreement .8 and expected agreement .5 make kappa .6.
    draws = kappa_draws(np.array([[4_000.0, 1_000], [1_000, 4_000]]), NOMINAL, np.random.default_rng(0))
    assert draws.mean() == pytest.approx(0.6, abs=0.005)
    # With linear weights the far error counts twice: 1 - (.2 / 2 / (4 / 9)).
    table = np.array([[800.0, 200, 0], [0, 1_000, 0], [0, 200, 800]]) / 3
    distance = np.abs(np.subtract.outer(np.arange(3), np.arange(3))) / 2
    p = table / table.sum()
    expected = 1 - (p * distance).sum() / (np.outer(p.sum(1), p.sum(0)) * distance).sum()
    assert kappa_draws(table, distance, np.random.default_rng(0)).mean() == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("n", "wrong"), [(25, 0.1), (80, 0.25), (300, 0.5)])
def test_the_interval_covers_kappa(n, wrong):
    rng, covered = np.random.default_rng(1), 0
    for _ in range(200):
        truth = rng.integers(0, 2, n)
        given = np.where(rng.random(n) < wrong, 1 - truth, truth)
        low, high = np.quantile(
            kappa_draws(pair_counts(given, np.eye(2)[truth]), NOMINAL, rng, 1_000), (0.025, 0.975)
        )
        covered += low <= 1 - 2 * wrong <= high
    assert covered >= 180


def test_perfect_agreement_on_few_items_is_not_certain():
    draws = kappa_draws(np.diag([4.0, 4.0]), NOMINAL, np.random.default_rng(0))
    low, high = np.quantile(draws, (0.025, 0.975))
    assert low < 0.9 < high
    assert labels_to_decide(draws, 8, 0.6) >= 0


def test_the_labels_that_decide_are_enough():
    rng = np.random.default_rng(0)
    table = np.array([[45.0, 10], [10, 45]])
    draws = kappa_draws(table, NOMINAL, rng)
    more = labels_to_decide(draws, 110, 0.5)
    assert 0 < more < MAX_LABELS
    again = kappa_draws(table * (110 + more) / 110, NOMINAL, rng)
    assert abs(np.quantile(again, 0.025) - 0.5) < 0.03
    assert labels_to_decide(again, 110 + more, 0.4) == 0
    assert labels_to_decide(draws, 110, float(draws.mean())) == MAX_LABELS


def test_judges_with_the_same_errors_count_as_one():
    rng = np.random.default_rng(0)
    own, shared = (rng.random((3_000, 4)) < 0.2).astype(float), (rng.random((3_000, 1)) < 0.2).astype(float)
    assert effective_number(own) == pytest.approx(4, abs=0.2)
    assert effective_number(np.repeat(shared, 4, axis=1)) == pytest.approx(1)
    two = np.hstack([shared, shared, own[:, :2]])
    assert effective_number(two) == pytest.approx(16 / 6, abs=0.15)
    two[rng.random(two.shape) < 0.3] = np.nan
    assert effective_number(two) == pytest.approx(16 / 6, abs=0.25)
