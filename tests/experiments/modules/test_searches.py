"""Approximate neighbours: the same laws for minibatches, cells and random references, against all pairs."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from anml.gradients.factors import materialised_factors
from anml.gradients.sample_krum_torch import krum_scores
from experiments.modules.searches import cell_scores, minibatch_scores


def as_factors(points):
    gradients = torch.as_tensor(np.asarray(points), dtype=torch.float64)
    return materialised_factors(gradients, torch.zeros(len(gradients), dtype=torch.float64))


def slow(points, k):
    apart = np.square(points[:, None] - points[None]).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.sort(apart, axis=1)[:, :k].sum(axis=1)


def cloud(n=300, d=6, seed=0):
    """Points of one cloud, and a few far from it."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    points[:10] += 12 * rng.normal(size=(10, d))
    return points


SEARCHES = {
    "references": lambda points, k=10, seed=0: krum_scores(as_factors(points), k, 200, seed),
    "minibatch": lambda points, k=10, seed=0: minibatch_scores(as_factors(points), k, 128, seed),
    "cells": lambda points, k=10, seed=0: cell_scores(as_factors(points), k, seed=seed),
}


@pytest.mark.parametrize("result", SEARCHES.values(), ids=SEARCHES)
class TestEverySearch:
    def test_points_far_out_score_highest(self, result):
        assert (result(cloud()) > 0).all()
        assert set(np.argsort(-result(cloud()))[:8]) <= set(range(10))

    def test_ranks_are_nearly_those_of_all_pairs(self, result):
        assert spearmanr(result(cloud()), slow(cloud(), 10)).statistic > 0.8

    def test_no_search_finds_a_nearer_neighbour_than_there_is(self, result):
        assert (result(cloud(), 5) >= slow(cloud(), 5) - 1e-9).all()

    def test_the_same_seed_gives_the_same_scores(self, result):
        np.testing.assert_array_equal(result(cloud(), seed=3), result(cloud(), seed=3))

    def test_scale_enters_squared_and_a_shift_does_not(self, result):
        points = cloud(120)
        np.testing.assert_allclose(result(3 * points), 9 * result(points), rtol=1e-9)
        np.testing.assert_allclose(result(points + 5), result(points), rtol=1e-6)

    @pytest.mark.parametrize("n", [5, 80])
    def test_equal_points_score_zero(self, result, n):
        np.testing.assert_allclose(result(np.ones((n, 3)), k=3), 0, atol=1e-9)


def test_one_minibatch_or_all_cells_are_all_samples():
    points = cloud(200)
    for each in (minibatch_scores(as_factors(points), 10, 200), cell_scores(as_factors(points), 10, 1_000)):
        np.testing.assert_allclose(each, slow(points, 10), rtol=1e-9)


def test_more_cells_come_nearer():
    points = cloud(400, d=8)
    off = [np.abs(cell_scores(as_factors(points), 10, p) - slow(points, 10)).mean() for p in (1, 4, 20)]
    assert off[0] >= off[1] >= off[2]


def test_minibatches_are_of_nearly_equal_size():
    """Three hundred in minibatches of 128 are two of 150, and not two of 128 and one of 44."""
    points, expected = cloud(300), np.zeros(300)
    for rows in np.array_split(np.random.default_rng(0).permutation(300), 2):
        expected[rows] = slow(points[rows], 10)
    np.testing.assert_allclose(minibatch_scores(as_factors(points), 10, 128), expected)
