"""Verdicts on annotators of comparisons: no flags on few comparisons, and few false flags."""

import numpy as np
import pytest

from anml.annotators.preferences.model import fit_pairs
from anml.annotators.preferences.verdicts import annotator_estimates, verdicts_for
from anml.annotators.verdicts import MIN_ROWS_TO_FLAG, bayesian_fdr_set
from anml.annotators.words import CONTRADICTS, GUESSING, LESS_RELIABLE, RELIABLE
from pair_worlds import world

KINDS = ["careful"] * 16 + ["coin", "first", "reversed", "taste"]


@pytest.fixture(scope="module")
def made():
    first, second, choice, who, scores = world(KINDS, rows=100, seed=5)
    return fit_pairs(first, second, choice, who), first, second, scores


def test_reliability_orders_people_as_they_are(made):
    people = annotator_estimates(made[0])
    assert people.kappa[:16].min() > 0.5
    assert np.abs(people.kappa[16:18]).max() < 0.3
    assert people.kappa[18] < -0.5
    assert (people.low <= people.kappa + 1e-9).all()
    assert (people.kappa <= people.high + 1e-9).all()
    assert people.rows.tolist() == [100] * 20


def test_a_taste_of_ones_own_is_no_guess(made):
    people = annotator_estimates(made[0])
    assert people.taste[19] > 0.8
    assert people.guess[19] < 0.1
    assert people.guess[17] > 0.95
    assert people.side[17] > 2


def judged(kinds, **options):
    first, second, choice, who, _ = world(kinds, **options)
    return verdicts_for(annotator_estimates(fit_pairs(first, second, choice, who)))


def test_the_bad_are_named_for_what_they_do():
    words, false = judged(["careful"] * 20 + ["first", "reversed", "taste"], rows=120)
    assert words[20] == GUESSING
    assert words[21] == CONTRADICTS
    assert words[22] not in (GUESSING, CONTRADICTS)
    assert sum(word in (RELIABLE, LESS_RELIABLE) for word in words[:20]) >= 16
    assert not {GUESSING, CONTRADICTS} & set(words[:20])
    assert 0 <= false < 0.1


def test_few_comparisons_never_accuse():
    words, _ = judged(["careful"] * 30 + ["first", "reversed"], rows=MIN_ROWS_TO_FLAG - 1)
    assert not {GUESSING, CONTRADICTS} & set(words)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_honest_is_accused(seed):
    words, _ = judged(["careful"] * 40, rows=25, seed=seed)
    assert not {GUESSING, CONTRADICTS} & set(words)


def test_only_coins_and_nobody_is_trusted():
    words, _ = judged(["coin"] * 10, rows=40)
    assert RELIABLE not in words


def test_a_weak_case_does_not_ride_along():
    assert bayesian_fdr_set(np.array([0.9999] * 200 + [0.94])).sum() == 200
    assert not bayesian_fdr_set(np.array([0.96])).any()
