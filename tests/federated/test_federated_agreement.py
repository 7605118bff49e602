"""Agreement of clients: geometric median, lengths, and distance of each client."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from anml.federated.agreement import agreement, clip_factors, geometric_median, sketch_and_clip

pytestmark = pytest.mark.slow

seeds = st.integers(0, 999)


class TestGeometricMedian:
    @settings(max_examples=10)
    @given(seeds)
    def test_has_the_least_sum_of_distances(self, seed):
        points = np.random.default_rng(seed).normal(size=(9, 3))

        def total(centre):
            return np.linalg.norm(points - centre, axis=1).sum()

        best = optimize.minimize(
            total, points.mean(axis=0), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}
        )
        assert total(geometric_median(points)) <= best.fun * (1 + 1e-4)

    def test_of_three_in_a_row_is_the_middle_one(self):
        np.testing.assert_allclose(
            geometric_median(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]])), [1, 0], atol=1e-6
        )

    @settings(max_examples=20)
    @given(seeds, st.floats(10, 1e6))
    def test_less_than_half_cannot_move_it_far(self, seed, far):
        points = np.random.default_rng(seed).normal(size=(9, 3))
        moved = points.copy()
        moved[:4] = far
        assert np.linalg.norm(geometric_median(moved)) < 20

    @settings(max_examples=20)
    @given(seeds, st.floats(0.01, 100), st.floats(-50, 50))
    def test_follows_another_unit_and_origin(self, seed, factor, shift):
        points = np.random.default_rng(seed).normal(size=(7, 2))
        np.testing.assert_allclose(
            geometric_median(factor * points + shift), factor * geometric_median(points) + shift,
            atol=1e-4 * factor,
        )  # fmt: skip

    def test_equal_points_are_their_own_middle(self):
        np.testing.assert_array_equal(geometric_median(np.full((4, 2), 3.0)), [3, 3])


class TestLengths:
    @settings(max_examples=20)
    @given(seeds)
    def test_none_is_longer_than_the_median_and_none_is_made_longer(self, seed):
        updates = np.random.default_rng(seed).normal(size=(7, 3)) * np.arange(1, 8)[:, None]
        length = np.linalg.norm(updates, axis=1)
        factor = clip_factors(length, float(np.median(length)))
        lengths = np.linalg.norm(updates * factor[:, None], axis=1)
        assert lengths.max() <= np.median(np.linalg.norm(updates, axis=1)) * (1 + 1e-9)
        assert (factor <= 1).all()

    def test_where_most_do_not_move_nothing_is_cut(self):
        assert clip_factors(np.array([0.0, 0.0, 9.0]), 0.0).tolist() == [1, 1, 1]

    def test_both_forms_are_compared_by(self):
        updates = np.array([[1.0, 0.0], [0.0, 2.0], [30.0, 0.0]])
        cut, whole = sketch_and_clip(updates, np.random.default_rng(0))
        np.testing.assert_array_equal(whole, updates)
        np.testing.assert_allclose(np.linalg.norm(cut, axis=1), [1, 2, 2])


class TestAgreement:
    @settings(max_examples=20)
    @given(seeds)
    def test_cosines_are_those_with_the_others_middle_and_the_median_client_is_at_nought(self, seed):
        rows = np.random.default_rng(seed).normal(1, 0.5, size=(9, 4))
        result = agreement(rows, rows)
        centre = geometric_median(rows)
        share = 1 / np.linalg.norm(rows - centre, axis=1)
        others = np.array([centre - w * row for w, row in zip(share / share.sum(), rows, strict=True)])
        cosine = [
            row @ rest / (np.linalg.norm(row) * np.linalg.norm(rest))
            for row, rest in zip(rows, others, strict=True)
        ]
        np.testing.assert_allclose(result[:, 0], cosine, atol=1e-9)
        assert np.median(result[:, 1]) == pytest.approx(0, abs=1e-9)

    @settings(max_examples=20)
    @given(seeds)
    def test_farther_away_never_agrees_more(self, seed):
        rows = np.random.default_rng(seed).normal(1, 0.5, size=(9, 4))
        apart = np.linalg.norm(rows - geometric_median(rows), axis=1)
        near = agreement(rows, rows)[:, 1]
        assert (np.diff(near[np.argsort(apart)]) <= 1e-9).all()

    @settings(max_examples=20)
    @given(seeds, st.floats(0.01, 100))
    def test_the_scale_of_updates_does_not_matter(self, seed, factor):
        rows = np.random.default_rng(seed).normal(1, 0.5, size=(9, 4))
        np.testing.assert_allclose(agreement(rows, rows), agreement(factor * rows, factor * rows), atol=1e-4)

    def test_updates_of_nothing_are_no_error(self):
        result = agreement(np.zeros((4, 3)), np.zeros((4, 3)))
        assert np.isfinite(result).all()
        assert not result.any()

    def test_equal_updates_all_agree(self):
        result = agreement(np.ones((5, 3)), np.ones((5, 3)))
        np.testing.assert_allclose(result[:, 0], 1)
        assert np.ptp(result[:, 1]) == 0
