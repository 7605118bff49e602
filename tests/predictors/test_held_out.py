"""Held-out predictions: laws for every predictor, and what a row must not have a part in."""

from dataclasses import replace

import numpy as np
import pytest

from anml.predictors.held_out import MAKERS, CrossFitRows, assign_folds, held_out_predictions


def table(n=120, classes=3, apart=3.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    x = rng.normal(size=(n, 4))
    x[np.arange(n), y] += apart
    return x, y


def sample(groups=None, apart=3.0, people=12):
    x, y = table(apart=apart)
    codes = np.arange(len(y)) // (len(y) // people)
    return CrossFitRows(x, y, 3, assign_folds(x, y, codes, None, 0), groups, 8, 0), codes


@pytest.mark.parametrize("name", MAKERS)
class TestEveryPredictor:
    def of(self, name, rows, belief=None):
        return np.exp(held_out_predictions(rows, belief, {name})[name])

    def test_rows_are_probabilities(self, name):
        result = self.of(name, sample()[0])
        assert result.shape == (120, 3)
        np.testing.assert_allclose(result.sum(axis=1), 1, atol=1e-6)

    def test_clear_classes_are_named(self, name):
        rows, _ = sample(apart=5.0)
        assert (self.of(name, rows).argmax(axis=1) == rows.y).mean() > 0.9

    def test_no_prediction_is_surer_than_its_rows_allow(self, name):
        rows, _ = sample(apart=9.0)
        assert self.of(name, rows).min() >= rows.prior.min() / (len(rows.y) + 2) - 1e-9

    def test_labels_of_a_contributor_have_no_part_in_its_predictions(self, name):
        rows, codes = sample()
        turned = replace(rows, y=np.where(codes == 3, np.roll(rows.y, 1), rows.y))
        one, two = (self.of(name, each) for each in (rows, turned))
        # All that moves is the share of classes, which every prediction is mixed with.
        np.testing.assert_allclose(one[codes == 3], two[codes == 3], atol=0.01)

    def test_soft_labels_that_are_certain_are_labels(self, name):
        rows, _ = sample()
        np.testing.assert_allclose(self.of(name, rows), self.of(name, rows, np.eye(3)[rows.y]), atol=1e-12)

    def test_rows_without_weight_teach_nothing(self, name):
        rows, _ = sample()
        wrong = np.arange(120) % 5 == 0
        target = np.eye(3)[np.where(wrong, (rows.y + 1) % 3, rows.y)]
        ignored, learned = (
            self.of(name, rows, target * np.where(wrong, weight, 1.0)[:, None]).argmax(axis=1) == rows.y
            for weight in (1e-9, 1.0)
        )
        assert ignored.mean() > learned.mean() - 0.02


class TestFolds:
    def test_a_contributor_is_in_one_fold(self):
        rows, codes = sample()
        assert all(len(np.unique(rows.fold[codes == k])) == 1 for k in range(12))

    def test_those_alike_are_in_different_folds(self):
        """Contributors of four kinds, of which each labels one kind of rows."""
        x, y = table(n=160, classes=4)
        order = np.argsort(y, kind="stable")
        x, y = x[order], y[order]
        codes = np.arange(160) // 10
        fold = assign_folds(x, y, codes, None, 0)
        for kind in range(4):
            mine = fold[codes // 4 == kind]
            assert len(np.unique(mine)) == 4

    def test_labels_of_an_item_are_in_one_fold(self):
        x, y = table()
        items = np.arange(120) // 3
        fold = assign_folds(x, y, np.arange(120) % 4, items, 0)
        assert all(len(np.unique(fold[items == k])) == 1 for k in range(40))

    def test_a_contributor_with_most_rows_is_not_held_out(self):
        x, y = table()
        fold = assign_folds(x, y, (np.arange(120) > 70).astype(int), None, 0)
        assert len(np.unique(fold[:70])) == 5

    def test_a_copy_is_held_out_with_its_original(self):
        groups = np.arange(120)
        groups[60] = 0
        rows, _ = sample(groups=groups)
        assert (rows.held[:, 0] == rows.held[:, 60]).all()
        assert rows.held[rows.fold[0], 60]
