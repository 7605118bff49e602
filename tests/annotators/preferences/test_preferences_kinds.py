"""Batches of people: of like size, whole, and judged without their own word."""

import numpy as np
import pytest

from anml.annotators.preferences.candidates import ComparisonGraph
from anml.annotators.preferences.kinds import ANNOTATOR_TYPES, make_batches
from anml.annotators.preferences.model import bradley_terry
from pair_worlds import world


def test_shares_beforehand_sum_to_one():
    assert sum(kind.share for kind in ANNOTATOR_TYPES.values()) == pytest.approx(1.0)


def test_without_ones_own_word_scores_are_those_of_the_others():
    first, second, choice, who, _ = world(["careful"] * 5, rows=12, candidates=6)
    net = ComparisonGraph.of(first, second, 6)
    params, scores = bradley_terry(net, first, second, choice)
    (batch,) = make_batches(first, second, choice, who, params, scores)
    assert batch.used.sum() == len(who)
    mine, pull = (part[0] for part in batch.known(net))
    uncertain = batch.leave_out(net, scores)[0]
    # By hand for the first person: the precision of all less that of its own comparisons.
    own = batch.rows[0][batch.used[0]]
    design = np.zeros((len(own), 6))
    design[np.arange(len(own)), first[own]] += 1
    design[np.arange(len(own)), second[own]] -= 1
    whole = scores.covariance.reshape(6, 6)
    known = np.diag(np.diag(mine)[: len(own)])
    left = np.linalg.inv(np.linalg.inv(whole) - design.T @ known @ design)
    assert batch.left[0] == pytest.approx(np.diag(uncertain))
    assert uncertain[: len(own), : len(own)] == pytest.approx(design @ left @ design.T, abs=1e-6)
    pulled = np.linalg.inv(whole) @ scores.mean - design.T @ pull[: len(own)]
    assert batch.d[0][: len(own)] == pytest.approx(design @ left @ pulled, abs=1e-6)
