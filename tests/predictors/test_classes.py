"""Predictors of classes: laws for every one of them, then folds, large tables, contributors held out."""

from dataclasses import replace

import numpy as np
import pytest

from anml.core.profile import PredictorTraining
from anml.predictors import classes
from anml.predictors.classes import (
    PREDICTORS,
    SMOOTHING,
    forest_leave_contributor_out,
    label_log_likelihood,
    make_feature_rows,
    network,
    robust_class_gaussians,
)

SHORT = PredictorTraining(hidden=(8,), max_epochs=40, folds=3, lr=0.02)


def table(n=90, count=3, apart=3.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % count
    x = rng.normal(size=(n, 4))
    x[np.arange(n), y] += apart
    return x, y


def made(n=90, count=3, groups=None, seed=0, apart=3.0):
    x, y = table(n, count, apart, seed)
    return make_feature_rows(x, y, count, groups, SHORT, seed)


def by_network(rows, weight):
    return network(rows, weight, None, None)[0]


EVERY = {**PREDICTORS, "network": by_network}


@pytest.mark.parametrize("name", EVERY)
class TestEveryPredictor:
    def test_rows_are_log_probabilities_of_all_classes(self, name):
        rows = made()
        found = EVERY[name](rows, None)
        assert found.shape == (90, 3)
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, atol=1e-6)

    def test_clear_classes_are_named(self, name):
        rows = made(apart=5.0)
        assert (EVERY[name](rows, None).argmax(axis=1) == rows.y).mean() > 0.9

    def test_nobody_is_certain(self, name):
        rows = made(apart=9.0)
        assert np.exp(EVERY[name](rows, None)).min() >= SMOOTHING * rows.prior.min() - 1e-9

    def test_a_row_says_nothing_of_its_own_prediction(self, name):
        """Its label is changed, folds stay: all that moves is the share of classes, by a row."""
        rows = made(apart=1.0)
        other = rows.y.copy()
        other[4] = (other[4] + 1) % 3
        one, two = (np.exp(EVERY[name](replace(rows, y=y), None)[4]) for y in (rows.y, other))
        # Networks stop at one epoch for all, which every label has a part in.
        np.testing.assert_allclose(one, two, atol=0.15 if name == "network" else 1e-3)

    def test_the_same_seed_gives_the_same_predictions(self, name):
        one, two = (EVERY[name](made(), None) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_what_is_not_believed_teaches_little(self, name):
        """A fifth of the labels are wrong and not believed: predictions are as without them."""
        rows = made(150, apart=4.0)
        wrong = np.arange(150) % 5 == 0
        spoilt = replace(rows, y=np.where(wrong, (rows.y + 1) % 3, rows.y))
        found = EVERY[name](spoilt, np.where(wrong, 0.0, 1.0))
        assert (found.argmax(axis=1) == rows.y).mean() > 0.9

    def test_a_fold_with_one_class_left_to_learn_from_is_no_error(self, name):
        x, y = table(12, 2)
        y[:] = 0
        y[0] = 1
        rows = make_feature_rows(x, y, 2, None, SHORT, 0)
        assert np.isfinite(EVERY[name](rows, None)).all()


class TestRows:
    def test_all_rows_of_a_small_table_are_learned_from(self):
        rows = made()
        np.testing.assert_array_equal(rows.training_rows, np.arange(90))
        assert rows.folds == 3
        assert (rows.fold >= 0).all()

    def test_copies_share_a_fold(self):
        groups = np.arange(90) // 2
        rows = made(groups=groups)
        assert (rows.fold[::2] == rows.fold[1::2]).all()

    def test_some_are_spread_over_the_table(self):
        rows = made()
        np.testing.assert_array_equal(rows.some(30), np.arange(0, 90, 3))
        np.testing.assert_array_equal(rows.some(1000), np.arange(90))
        assert len(rows.some(50)) <= 50

    def test_the_prior_is_the_share_of_each_class(self):
        x, _ = table(4)
        rows = make_feature_rows(x, np.array([0, 0, 2, 0]), 3, None, SHORT, 0)
        np.testing.assert_allclose(rows.prior, [0.75, 0, 0.25])


class TestLargeTables:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr(classes, "MAX_TRAINING_ROWS", 60)

    def test_the_rest_is_asked_and_not_learned_from(self):
        rows = made(120)
        assert len(rows.training_rows) == 60
        assert (rows.fold[rows.training_rows] >= 0).all()
        assert (np.delete(rows.fold, rows.training_rows) == -1).all()

    @pytest.mark.parametrize("name", EVERY)
    def test_rows_that_nobody_learned_from_are_predicted_by_all(self, name):
        rows = made(120, apart=5.0)
        rest = np.setdiff1d(np.arange(120), rows.training_rows)
        found = EVERY[name](rows, None)
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, atol=1e-6)
        assert (found[rest].argmax(axis=1) == rows.y[rest]).mean() > 0.9

    def test_a_row_whose_copy_was_learned_from_is_held_out_with_it(self):
        rows = made(120, groups=np.arange(120) // 2)
        pairs = rows.fold.reshape(-1, 2)
        some = (pairs >= 0).any(axis=1)
        assert (pairs[some, 0] == pairs[some, 1]).all()


class TestContributorsHeldOut:
    def test_a_pattern_that_one_contributor_made_is_not_predicted_without_him(self):
        x, y = table(150, 2, apart=4.0)
        who = np.arange(150) % 5
        # One contributor's rows of class 0 carry a mark, and are called 1.
        marked = (who == 0) & (y == 0)
        x[marked, 3] = 8.0
        y = np.where(marked, 1, y)
        rows = make_feature_rows(x, y, 2, None, SHORT, 0)
        own = np.exp(PREDICTORS["forest"](rows, None))[marked, 1].mean()
        without = np.exp(forest_leave_contributor_out(rows, who, None))[marked, 1].mean()
        assert own > 0.6
        assert without < 0.5

    def test_two_contributors_are_held_out_in_turn(self):
        x, y = table(60, 2, apart=5.0)
        rows = make_feature_rows(x, y, 2, None, SHORT, 0)
        found = forest_leave_contributor_out(rows, np.arange(60) // 2 % 2, None)
        assert (found.argmax(axis=1) == y).mean() > 0.9


class TestClouds:
    def test_clouds_are_none_for_categories(self):
        rng = np.random.default_rng(0)
        rows = make_feature_rows(
            rng.integers(0, 3, (90, 4)).astype(float), np.arange(90) % 3, 3, None, SHORT, 0
        )
        assert robust_class_gaussians(rows) is None

    def test_a_constant_column_is_no_category(self):
        x, y = table(90, apart=5.0)
        x = np.column_stack([x, np.ones((90, 6))])
        assert robust_class_gaussians(make_feature_rows(x, y, 3, None, SHORT, 0)) is not None

    def test_overlap_grows_as_classes_come_nearer(self):
        found = [robust_class_gaussians(made(150, apart=apart)) for apart in (6.0, 3.0, 1.0)]
        overlaps = [clouds.overlap for clouds in found]
        assert overlaps == sorted(overlaps)
        assert overlaps[0] < 0.01 < overlaps[2]

    def test_likelihood_falls_where_labels_are_wrong(self):
        rows = made(150, apart=4.0)
        spoilt = replace(rows, y=np.where(np.arange(150) % 4 == 0, (rows.y + 1) % 3, rows.y))
        assert label_log_likelihood(rows, 0.0) > label_log_likelihood(spoilt, 0.0)
        assert label_log_likelihood(spoilt, 0.0) > -150 * np.log(3)
