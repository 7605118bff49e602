"""Bulyan: step by step from the paper, and by hand."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.federated.rules import bulyan
from anml.federated.updates import column_blocks, squared_distances


def test_bulyan_by_hand():
    # Krum with 4, then 3, 2, 1 neighbours, each winner taken out: of 0..6, 90, chosen are 3, 2, 1, 0, 4.
    updates = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [90.0]])
    result = bulyan(updates, malicious=1)
    assert (result.scores > 0).sum() == 5
    assert result.scores[6] == 0
    chosen = np.sort(updates[result.scores > 0].ravel())
    middle = np.median(chosen)
    nearest = chosen[np.argsort(np.abs(chosen - middle), kind="stable")[:3]]
    assert result.update[0] == pytest.approx(nearest.mean())


@pytest.fixture(scope="module")
def subset():
    return np.random.default_rng(3).normal(size=(15, 40))


def test_bulyan_as_printed(subset):
    """Step by step from the paper, without the sorting that makes ours fast."""
    f, left, chosen = 3, list(range(15)), []
    while len(chosen) < 15 - 2 * f:
        apart = squared_distances(subset[left])
        keep = max(len(left) - f - 2, 1)
        scores = [np.sort(np.delete(apart[i], i))[:keep].sum() for i in range(len(left))]
        chosen.append(left.pop(int(np.argmin(scores))))
    part = subset[sorted(chosen)]
    beta, middle = len(chosen) - 2 * f, np.median(part, axis=0)
    order = np.argsort(np.abs(part - middle), axis=0, kind="stable")[:beta]
    assert bulyan(subset, f).update == pytest.approx(np.take_along_axis(part, order, axis=0).mean(axis=0))


def slow(updates, f):
    """The paper's two steps, with plain loops and a plain sort; ties by the sum of distances to all."""
    n = len(updates)
    apart = np.square(updates[:, None] - updates[None]).sum(axis=2)
    left, chosen = list(range(n)), []
    while len(chosen) < n - 2 * f:
        count = max(len(left) - f - 2, 1)

        def score(at, left=left, count=count):
            others = sorted(apart[at, to] for to in left if to != at)
            return sum(others[:count]) if len(left) > 2 else sum(others)

        best = min(score(at) for at in left)
        level = [at for at in left if score(at) <= best * (1 + 1e-9)]
        winner = min(level, key=lambda at: apart[at].sum())
        chosen.append(winner)
        left.remove(winner)
    keep = len(chosen) - 2 * f
    result = []
    for values in updates[sorted(chosen)].T:
        middle = np.median(values)
        result.append(np.mean(sorted(values, key=lambda value: (abs(value - middle), value))[:keep]))
    return np.array(result), chosen


@settings(max_examples=20)
@given(st.sampled_from([(7, 1), (11, 2), (12, 1), (15, 3), (9, 0)]), st.integers(0, 999))
def test_is_the_papers_two_steps(shape, seed):
    n, f = shape
    updates = np.random.default_rng(seed).normal(size=(n, 5))
    result = bulyan(updates, f)
    expected, chosen = slow(updates, f)
    np.testing.assert_allclose(result.update, expected, rtol=1e-9)
    assert set(np.flatnonzero(result.weights)) == set(chosen)
    np.testing.assert_array_equal(np.argsort(-result.scores, kind="stable")[: len(chosen)], chosen)


def test_blocks_of_columns_leave_no_trace(monkeypatch):
    updates = np.random.default_rng(0).normal(size=(11, 40))
    whole = bulyan(updates, 2).update
    monkeypatch.setattr("anml.federated.updates.BLOCK", 7)
    module = sys.modules["anml.federated.rules"]
    monkeypatch.setattr(module, "column_blocks", lambda updates: column_blocks(updates, 7))
    np.testing.assert_array_equal(bulyan(updates, 2).update, whole)


def test_it_needs_many_clients():
    with pytest.raises(InputError, match=r"Bulyan needs n >= 4 f \+ 3, got f = 2 for n = 10"):
        bulyan(np.zeros((10, 2)), 2)
