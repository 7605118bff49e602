"""Comparisons as a belief that the rest of the program reads."""

import numpy as np
import pytest

from anml.assessment.preferences import estimate_preferences, leave_one_out_choice


def made(ties=True, rows=60, people=12, seed=0):
    rng = np.random.default_rng(seed)
    scores, who = rng.normal(0, 2, 12), np.repeat(np.arange(people), rows)
    first = rng.integers(12, size=len(who))
    second = (first + rng.integers(1, 12, len(who))) % 12
    better = rng.random(len(who)) < 1 / (1 + np.exp(scores[second] - scores[first]))
    y = np.where(better, 0, 1)
    y[who == 0] = 0  # always the first
    if ties:
        y = np.where((rng.random(len(who)) < 0.1) & (who > 0), 0, y + 1)
    return first, second, y, who, scores


@pytest.mark.parametrize("ties", [True, False])
def test_truth_and_predictions_are_in_the_order_of_the_classes(ties):
    first, second, y, who, scores = made(ties)
    belief, compared = estimate_preferences(first, second, y, (2, 0, 1) if ties else (0, 1), who)
    assert belief.truth.shape == belief.predicted.shape == (len(y), 3 if ties else 2)
    assert belief.truth.sum(axis=1) == pytest.approx(np.ones(len(y)), abs=1e-6)
    clear = np.abs(scores[first] - scores[second]) > 2.5
    right = np.where(scores[first] > scores[second], 0, 1) + int(ties)
    assert (belief.truth.argmax(axis=1) == right)[clear].mean() > 0.9
    assert leave_one_out_choice(compared.fit).sum(axis=1) == pytest.approx(np.ones(len(y)))


def test_who_does_not_look_is_believed_less():
    first, second, y, who, _ = made()
    belief, compared = estimate_preferences(first, second, y, (2, 0, 1), who)
    people = belief.contributors
    assert people.verdict[0] == "no better than guessing"
    assert belief.p_correct[who == 0].mean() < 0.3 < 0.8 < belief.p_correct[who > 0].mean()
    assert people.quality[0] < people.quality[1:].min()
    assert compared.words[0] == "no better than guessing"
    assert 0 < belief.wrong.low <= belief.wrong.mean <= belief.wrong.high < 0.5
