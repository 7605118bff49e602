"""Scores by connected part: the same as one large matrix."""

import numpy as np
import pytest

from anml.annotators.preferences import candidates
from anml.annotators.preferences.candidates import ComparisonGraph
from anml.core.errors import InputError

# Two parts: 0-1-2 and 3-4.
FIRST, SECOND = np.array([0, 1, 3, 2]), np.array([1, 2, 4, 0])


def test_parts_and_places():
    net = ComparisonGraph.of(FIRST, SECOND, 5)
    assert net.part.tolist() == [0, 0, 0, 1, 1]
    assert net.cells == 9 + 4


@pytest.mark.parametrize("features", [None, np.array([[3.0, 1], [1, 0], [2, 2], [5, 1], [0, 0]])])
def test_scores_equal_those_of_one_large_matrix(features):
    net = ComparisonGraph.of(FIRST, SECOND, 5, features)
    precision, pull = np.array([1.0, 2, 3, 0.5]), np.array([0.4, -1, 2, 0.1])
    design = np.zeros((4, 5))
    design[range(4), FIRST], design[range(4), SECOND] = 1, -1
    before = 1.7 * np.eye(5) + 0.6 * net.features @ net.features.T
    whole = np.linalg.inv(design.T @ np.diag(precision) @ design + np.linalg.inv(before))
    total = np.zeros(net.cells)
    net.add(total, precision, FIRST, SECOND, FIRST, SECOND)
    pulled = design.T @ pull
    scores = net.solve(total, pulled, 1.7, 0.6)
    assert scores.mean == pytest.approx(whole @ pulled)
    assert net.variance(scores) == pytest.approx(np.diag(whole))
    one, other = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    found = net.of_pairs(scores.covariance, FIRST[one], SECOND[one], FIRST[other], SECOND[other])
    lines = scores.lines[FIRST] - scores.lines[SECOND]
    assert found + (lines @ lines.T).ravel() == pytest.approx((design @ whole @ design.T).ravel())
    # Also of candidates that nothing compares.
    apart = np.array([0, 4]), np.array([3, 1])
    expected = [whole[i, i] + whole[j, j] - 2 * whole[i, j] for i, j in zip(*apart, strict=True)]
    assert net.gap(scores, *apart) == pytest.approx(expected)


def test_features_are_directions_within_parts():
    """One that is the same for all who are compared says nothing, however far the parts are apart."""
    rng = np.random.default_rng(0)
    apart = np.array([0.0, 0, 0, 9, 9])
    assert ComparisonGraph.of(FIRST, SECOND, 5, apart[:, None]).features.shape == (5, 0)
    both = np.column_stack([apart, 1000 * rng.normal(size=5)])
    assert ComparisonGraph.of(FIRST, SECOND, 5, both).features.shape == (5, 1)
    assert ComparisonGraph.of(FIRST, SECOND, 5, rng.normal(size=(5, 300))).features.shape == (5, 5)


def test_large_parts_are_inverted_alike():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(120, 120))
    matrix = root @ root.T + np.eye(120)
    assert candidates._batched_inverse(matrix[None])[0] == pytest.approx(np.linalg.inv(matrix), abs=1e-8)


def test_too_many_joined_candidates_are_refused(monkeypatch):
    monkeypatch.setattr(candidates, "MAX_EXACT_COMPONENT", 2)
    with pytest.raises(InputError, match=r"3 candidates are compared with one another.*column of groups"):
        ComparisonGraph.of(FIRST, SECOND, 5)
