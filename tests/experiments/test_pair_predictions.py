"""Predictions of held-out choices."""

import numpy as np
import pytest

from anml.annotators.preferences.model import fit_pairs
from experiments.pairs import predict
from pair_worlds import world

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fitted():
    first, second, choice, contributor, scores = world(["careful"] * 12 + ["first"], rows=60)
    return fit_pairs(first, second, choice, contributor), scores


def test_probabilities_sum_to_one_and_follow_the_scores(fitted):
    fit, scores = fitted
    best, worst = np.argsort(scores)[[-1, 0]]
    p = predict(fit, np.array([best, worst]), np.array([worst, best]), np.array([0, 0]))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert p[0, 0] > 0.8
    assert p[1, 1] > 0.8


def test_what_a_person_is_like_counts(fitted):
    fit, scores = fitted
    best, worst = np.argsort(scores)[[-1, 0]]
    assert predict(fit, np.array([worst]), np.array([best]), np.array([12]))[0, 0] > 0.7


def test_nobody_known_and_nothing_known_is_as_usual(fitted):
    fit, _ = fitted
    p = predict(fit, np.array([-1]), np.array([-1]), np.array([-1]))
    np.testing.assert_allclose(p[0, 0], p[0, 1], atol=0.1)
