"""Among whom neighbours are sought: one law for every search, and all of them against all pairs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from anml.core.errors import InputError, UnknownNameError
from anml.gradients.factors import explicit
from anml.gradients.neighbours import SEARCHES, Search, scores


def as_factors(points):
    gradients = torch.as_tensor(np.asarray(points), dtype=torch.float64)
    return explicit(gradients, torch.zeros(len(gradients), dtype=torch.float64))


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


@pytest.mark.parametrize("among", SEARCHES)
class TestEverySearch:
    def found(self, points, among, **more):
        settings_ = {"minibatch": 128, "references": 200, **more}
        return scores(as_factors(points), Search(among, **settings_))

    def test_every_sample_has_a_score_above_nothing(self, among):
        found = self.found(cloud(), among)
        assert found.shape == (300,)
        assert (found > 0).all()

    def test_what_lies_far_out_scores_highest(self, among):
        found = self.found(cloud(), among)
        assert set(np.argsort(-found)[:8]) <= set(range(10))

    def test_ranks_are_nearly_those_of_all_pairs(self, among):
        points = cloud()
        assert spearmanr(self.found(points, among), slow(points, 10)).statistic > 0.8

    def test_no_search_finds_a_nearer_neighbour_than_there_is(self, among):
        points = cloud()
        assert (self.found(points, among, k=5) >= slow(points, 5) - 1e-9).all()

    def test_the_same_seed_gives_the_same_scores(self, among):
        one, two = (self.found(cloud(), among, seed=3) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_another_unit_is_its_square(self, among):
        points = cloud(120)
        np.testing.assert_allclose(self.found(3 * points, among), 9 * self.found(points, among), rtol=1e-9)

    def test_a_shift_of_all_changes_nothing(self, among):
        points = cloud(120)
        np.testing.assert_allclose(self.found(points + 5, among), self.found(points, among), rtol=1e-6)

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_few_samples_are_no_error(self, among, n):
        found = self.found(np.arange(float(n))[:, None], among)
        assert found.shape == (n,)
        assert np.isfinite(found).all()

    def test_copies_have_nothing_between_them(self, among):
        np.testing.assert_allclose(self.found(np.ones((80, 3)), among), 0, atol=1e-9)


class TestExact:
    @given(st.integers(2, 60), st.integers(1, 20), st.integers(0, 99))
    @settings(max_examples=20)
    def test_all_is_the_sum_over_all_pairs(self, n, k, seed):
        points = np.random.default_rng(seed).normal(size=(n, 3))
        found = scores(as_factors(points), Search("all", k=k))
        np.testing.assert_allclose(found, slow(points, min(k, n - 1)), rtol=1e-9)

    def test_everybody_as_reference_or_in_one_minibatch_is_all(self):
        points = cloud(100)
        exact = scores(as_factors(points), Search("all"))
        for search in (Search("references", references=100), Search("minibatch", minibatch=100)):
            np.testing.assert_allclose(scores(as_factors(points), search), exact, rtol=1e-9)

    def test_all_cells_are_all_samples(self):
        points = cloud(200)
        found = scores(as_factors(points), Search("approximate", probes=1000))
        np.testing.assert_allclose(found, slow(points, 10), rtol=1e-9)

    def test_more_cells_come_nearer(self):
        points = cloud(400, d=8)
        exact = slow(points, 10)
        off = [
            np.abs(scores(as_factors(points), Search("approximate", probes=p)) - exact).mean()
            for p in (1, 4, 20)
        ]
        assert off[0] >= off[1] >= off[2]

    def test_minibatches_are_of_nearly_equal_size(self):
        """Three hundred in minibatches of 128 are two of 150, and not two of 128 and one of 44."""
        points = cloud(300)
        order = np.random.default_rng(0).permutation(300)
        expected = np.zeros(300)
        for rows in np.array_split(order, 2):
            expected[rows] = slow(points[rows], 10)
        np.testing.assert_allclose(scores(as_factors(points), Search("minibatch", minibatch=128)), expected)

    def test_the_classic_rule_counts_the_malicious(self):
        points = cloud(50)
        found = scores(as_factors(points), Search("all", k=None, malicious=0.2))
        np.testing.assert_allclose(found, slow(points, 50 - 10 - 2))


@pytest.mark.parametrize(
    ("settings_", "says"),
    [
        ({"among": "friends"}, "unknown among 'friends'"),
        ({"references": 0}, "references must be at least 1, got 0"),
        ({"probes": 0}, "probes must be at least 1, got 0"),
        ({"minibatch": 1}, "minibatch must be at least 2, got 1"),
        ({"minibatch": 2.5}, "minibatch must be a whole number"),
        ({"references": True}, "references must be a whole number"),
    ],
)
def test_what_is_wrong_is_said(settings_, says):
    with pytest.raises((InputError, UnknownNameError), match=says):
        Search(**settings_)
