"""Who may be accused: never on few comparisons, and rarely by mistake."""

import numpy as np
import pytest
from pair_worlds import world

from anml.core.people.pair_people import judges
from anml.core.people.pair_verdicts import verdicts
from anml.core.people.pairs import fit_pairs
from anml.core.people.verdicts import CONTRADICTS, ENOUGH_ROWS, GUESSING, LESS, RELIABLE, discovered


def judged(kinds, **options):
    first, second, choice, who, _ = world(kinds, **options)
    return verdicts(judges(fit_pairs(first, second, choice, who)))


def test_the_bad_are_named_for_what_they_do():
    words, false = judged(["careful"] * 20 + ["first", "reversed", "taste"], rows=120)
    assert words[20] == GUESSING
    assert words[21] == CONTRADICTS
    assert words[22] not in (GUESSING, CONTRADICTS)
    assert sum(word in (RELIABLE, LESS) for word in words[:20]) >= 16
    assert not {GUESSING, CONTRADICTS} & set(words[:20])
    assert 0 <= false < 0.1


def test_few_comparisons_never_accuse():
    words, _ = judged(["careful"] * 30 + ["first", "reversed"], rows=ENOUGH_ROWS - 1)
    assert not {GUESSING, CONTRADICTS} & set(words)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_honest_is_accused(seed):
    words, _ = judged(["careful"] * 40, rows=25, seed=seed)
    assert not {GUESSING, CONTRADICTS} & set(words)


def test_only_coins_and_nobody_is_trusted():
    words, _ = judged(["coin"] * 10, rows=40)
    assert RELIABLE not in words


def test_a_weak_case_does_not_ride_along():
    assert discovered(np.array([0.9999] * 200 + [0.94])).sum() == 200
    assert not discovered(np.array([0.96])).any()
