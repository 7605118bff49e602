"""Scores by connected part: the same as one large matrix."""

import numpy as np
import pytest

from anml.core.errors import InputError
from anml.core.people import candidates
from anml.core.people.candidates import Net

# Two parts: 0-1-2 and 3-4.
FIRST, SECOND = np.array([0, 1, 3, 2]), np.array([1, 2, 4, 0])


def test_parts_and_places():
    net = Net.of(FIRST, SECOND, 5)
    assert net.part.tolist() == [0, 0, 0, 1, 1]
    assert net.cells == 9 + 4


def test_scores_equal_those_of_one_large_matrix():
    net, precision, pull = Net.of(FIRST, SECOND, 5), np.array([1.0, 2, 3, 0.5]), np.array([0.4, -1, 2, 0.1])
    design = np.zeros((4, 5))
    design[range(4), FIRST], design[range(4), SECOND] = 1, -1
    whole = np.linalg.inv(design.T @ np.diag(precision) @ design + np.eye(5) / 1.7)
    total = np.zeros(net.cells)
    net.add(total, precision, FIRST, SECOND, FIRST, SECOND)
    pulled = design.T @ pull
    scores, covariance = net.solve(total, pulled, 1.7)
    assert scores == pytest.approx(whole @ pulled)
    assert net.variance(covariance) == pytest.approx(np.diag(whole))
    every = design @ whole @ design.T
    one, other = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    found = net.of_pairs(covariance, FIRST[one], SECOND[one], FIRST[other], SECOND[other])
    assert found == pytest.approx(every.ravel())


def test_large_parts_are_inverted_alike():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(120, 120))
    matrix = root @ root.T + np.eye(120)
    assert candidates._inverted(matrix[None])[0] == pytest.approx(np.linalg.inv(matrix), abs=1e-8)


def test_too_many_joined_candidates_are_refused(monkeypatch):
    monkeypatch.setattr(candidates, "MOST_JOINED", 2)
    with pytest.raises(InputError, match=r"3 candidates are compared with one another.*column of groups"):
        Net.of(FIRST, SECOND, 5)
