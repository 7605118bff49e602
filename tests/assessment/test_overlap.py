"""Overlap of rows: by hand for pairs, then for sites, specialists and isolated contributors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.assessment.overlap import (
    N_NEIGHBOURS,
    effective_opponents,
    find_neighbours,
    local_accuracy_ratio,
    plausible_in_own_region,
    self_neighbour_rate,
)
from anml.core.profile import PredictorTraining
from anml.predictors.classes import make_feature_rows

SHORT = PredictorTraining(max_epochs=20, folds=2)


def made(x, y):
    return make_feature_rows(np.asarray(x, dtype=float), np.asarray(y), int(np.max(y)) + 1, None, SHORT, 0)


def people(n: int, count: int, apart: float, seed: int = 0):
    """Rows of contributors whose centres lie so far apart, labelled by the first column."""
    rng = np.random.default_rng(seed)
    who = np.arange(n) % count
    x = rng.normal(size=(n, 4))
    x[:, 1] += apart * who
    return made(x, (x[:, 0] > 0).astype(int)), who


class TestRightNearby:
    def test_by_hand(self):
        """Two places, two people in each: in the second labels are believed by half."""
        who, place = np.tile([0, 1, 2, 3], 40), np.tile([0, 0, 1, 1], 40)
        x = np.random.default_rng(0).normal(size=(160, 2)) + 100 * place[:, None]
        p = np.where(place == 0, 1.0, 0.5)
        found = local_accuracy_ratio(find_neighbours(x), who, p, np.array([1.0, 1.0, 0.0, 0.0]))
        # 400 labels nearby, half of them believed, beside a hundred that are as usual.
        np.testing.assert_allclose(found, [1.0, 1.0, 0.6, 0.6], atol=0.01)

    def test_one_liar_among_many_changes_nothing_for_anybody(self):
        rows, who = people(600, 6, 0.0)
        honest = 1.0 * (np.arange(6) > 0)
        found = local_accuracy_ratio(find_neighbours(rows.x), who, honest[who], honest)
        assert found.min() > 0.95

    def test_nobody_else_near_says_nothing(self):
        who = np.repeat([0, 1], 40)
        x = np.random.default_rng(0).normal(size=(80, 2)) + 100 * who[:, None]
        assert local_accuracy_ratio(find_neighbours(x), who, np.full(80, 0.3), np.ones(2)).tolist() == [
            1.0,
            1.0,
        ]


class TestOwnRegion:
    def test_by_hand(self):
        """Two contributors on two far points: all neighbours are one's own, so 1 for both."""
        rng = np.random.default_rng(0)
        who = np.repeat([0, 1], 40)
        x = rng.normal(size=(80, 2)) + 100 * who[:, None]
        assert self_neighbour_rate(find_neighbours(x), who).tolist() == [1.0, 1.0]

    def test_dealt_at_random_it_is_about_zero(self):
        rows, who = people(600, 6, 0.0)
        assert self_neighbour_rate(find_neighbours(rows.x), who).max() < 0.1

    @pytest.mark.parametrize(("apart", "low", "high"), [(0.3, 0.0, 0.2), (1.5, 0.2, 0.7), (20.0, 0.95, 1.0)])
    def test_it_grows_with_the_distance(self, apart, low, high):
        rows, who = people(600, 4, apart)
        assert low <= self_neighbour_rate(find_neighbours(rows.x), who).mean() <= high

    def test_a_large_contributor_has_no_region_by_its_size(self):
        """Nine tenths of all rows are one's: so are nine tenths of the neighbours, and that is chance."""
        rng = np.random.default_rng(1)
        who = (rng.uniform(size=500) < 0.1).astype(int)
        assert self_neighbour_rate(find_neighbours(rng.normal(size=(500, 3))), who).max() < 0.1

    def test_copies_of_a_row_are_no_neighbours(self):
        """Each row stands eleven times, under one name: without its copies its neighbours are anybody's."""
        rng = np.random.default_rng(2)
        x = np.repeat(rng.normal(size=(60, 3)), N_NEIGHBOURS + 1, axis=0)
        groups = np.repeat(np.arange(60), N_NEIGHBOURS + 1)
        who = groups % 5
        assert self_neighbour_rate(find_neighbours(x), who).min() > 0.9
        assert self_neighbour_rate(find_neighbours(x, groups), who).max() < 0.5

    @settings(max_examples=15)
    @given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 10**6))
    def test_it_lies_between_zero_and_one(self, n, count, seed):
        rng = np.random.default_rng(seed)
        who = rng.integers(0, count, n)
        found = self_neighbour_rate(find_neighbours(rng.normal(size=(n, 2))), who)
        assert len(found) == who.max() + 1
        assert ((found >= 0) & (found <= 1)).all()


class TestVoicesAgainst:
    def test_by_hand(self):
        """One says 0 on a spot where two others say 1, and on the other spot six say 1 to his 0."""
        spots = np.repeat([0.0, 50.0], [30, 70])
        who = np.concatenate([np.repeat([0, 1, 2], 10), np.repeat([3, 4, 5, 6, 7, 8, 9], 10)])
        x = np.column_stack([spots, np.random.default_rng(0).normal(size=100)])
        y = np.where(np.isin(who, [0, 3]), 0, 1)
        found = effective_opponents(find_neighbours(x), who, y, np.ones(100, dtype=int))
        assert found[0] == pytest.approx(2, abs=0.3)
        assert 4 < found[3] <= 6
        # Of all others nothing is disbelieved, and nobody speaks against them.
        assert np.isinf(np.delete(found, [0, 3])).all()

    def test_whom_nobody_near_contradicts_is_contradicted_from_afar(self):
        who, y = np.repeat([0, 1], 40), np.repeat([0, 1], 40)
        x = np.random.default_rng(1).normal(size=(80, 2)) + 100 * who[:, None]
        assert np.isinf(effective_opponents(find_neighbours(x), who, y, np.ones(80, dtype=int))).all()


class TestUsualThere:
    def test_labels_of_others_are_not_asked(self):
        rows, who = people(200, 2, 20.0)
        assert (plausible_in_own_region(rows, who, np.array([False, False]), 0.9)).all()
        some = plausible_in_own_region(rows, who, np.array([True, False]), 0.4)
        assert some[who == 1].all()
        assert not some[who == 0].all()

    def test_what_is_common_at_a_site_is_usual_and_a_slip_is_not(self):
        """One site has a label turned round; another gives one of two labels whatever is there."""
        rng = np.random.default_rng(3)
        who = np.repeat([0, 1], 150)
        y = rng.integers(0, 2, 300)
        x = rng.normal(size=(300, 3)) + 500 * who[:, None] + 60 * y[:, None]
        y[who == 1] = rng.uniform(size=150) < 0.3
        clear = np.array([3])
        y[clear] = 1 - y[clear]
        found = plausible_in_own_region(made(x, y), who, np.array([True, True]), 0.9)
        assert not found[clear].any()
        assert np.mean(found[who == 1]) > 0.9

    def test_the_same_seed_gives_the_same(self):
        rows, who = people(120, 2, 20.0)
        apart = np.array([True, True])
        np.testing.assert_array_equal(
            plausible_in_own_region(rows, who, apart, 0.9), plausible_in_own_region(rows, who, apart, 0.9)
        )

    def test_whoever_has_rows_in_one_part_only_is_asked_too(self):
        """Of few rows some parts hold none: nothing is predicted there, and nothing fails."""
        rows = made(np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2)
        few = np.flatnonzero(rows.fold == rows.fold.max())[:4]
        assert len(np.unique(rows.y[few])) == 2
        who = np.isin(np.arange(60), few).astype(np.int64)
        found = plausible_in_own_region(rows, who, np.array([False, True]), 0.9)
        assert found[who == 0].all()
        assert found.dtype == bool
