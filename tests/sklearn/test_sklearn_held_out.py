"""Held-out predictions of any estimator: nobody is predicted by who saw it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from anml.sklearn.held_out import PRIOR, folds_of, held_out, is_numeric


def test_what_counts_as_numbers():
    words, numbers = pd.DataFrame({"a": ["x"]}), pd.DataFrame({"a": [1], "b": [True]})
    assert not any(map(is_numeric, (words, [["x"]], [[np.nan]], [[np.inf]], sparse.eye(2), ["text"])))
    assert not is_numeric(pl.DataFrame({"a": [1, None]}))
    assert all(map(is_numeric, (numbers, [[1, 2.5]], np.eye(2), pl.DataFrame(numbers.to_dict("list")))))


class TestHeldOut:
    def test_items_stay_together_and_classes_are_spread(self):
        codes = np.repeat([0, 1], 30)
        item = np.arange(60) // 2
        fold = folds_of(codes, item, 60, 0)
        assert (fold[::2] == fold[1::2]).all()
        assert np.bincount(fold).tolist() == [12] * 5
        assert all(set(codes[fold == at]) == {0, 1} for at in range(5))
        assert folds_of(codes, np.repeat(["a", "b"], 30), 60, 0).max() == 1

    def test_nothing_is_predicted_by_who_saw_it(self):
        class Remembers(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                self.classes_, self.seen_ = np.unique(y), set(X[:, 0].tolist())
                return self

            def predict_proba(self, X):
                assert not self.seen_ & set(X[:, 0].tolist())
                return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

        item = np.arange(40) // 4
        y = np.arange(40) // 4 % 2
        held_out(Remembers(), item[:, None], y, y, np.array([0, 1]), item, 0)

    def test_a_class_that_a_fold_never_saw_has_its_share_of_the_prior(self):
        y = np.array([0] * 10 + [1] * 10 + [2])
        X = np.concatenate([np.zeros(10), np.ones(10), [9.0]])[:, None]
        result = held_out(LogisticRegression(), X, y, y, np.arange(3), None, 0)
        assert result[-1, 2] == pytest.approx(PRIOR / 21)
        assert result.sum(axis=1) == pytest.approx(1)

    @pytest.mark.parametrize("classes", [2, 3])
    def test_decision_values_and_mere_choices(self, classes):
        class Chooses(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                self.classes_ = np.unique(y)
                return self

            def predict(self, X):
                return X[:, 0].astype(int)

        y = np.arange(60) % classes
        X = np.column_stack([y, y == 0]).astype(float)
        for learner in (LinearSVC(), Chooses()):
            result = held_out(learner, X, y, y, np.arange(classes), None, 0)
            assert result.shape == (60, classes)
            assert result.sum(axis=1) == pytest.approx(1)
            assert (result.argmax(axis=1) == y).all()
            assert result.min() > 0

    def test_one_class_left_to_learn_from(self):
        y = np.array([0, 0, 0, 1])
        result = held_out(LogisticRegression(), np.eye(4), y, y, np.arange(2), np.array([0, 0, 0, 1]), 0)
        assert result[3] == pytest.approx([1 - PRIOR / 4, PRIOR / 4])


class TestLaws:
    @pytest.mark.parametrize("learner", [LogisticRegression(), LinearSVC(), MultinomialNB()])
    def test_rows_of_probabilities_for_every_estimator(self, learner):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 3
        X = np.abs(rng.normal(size=(60, 4))) + 3 * np.eye(4)[y]
        result = held_out(learner, X, y, y, np.arange(3), None, 0)
        np.testing.assert_allclose(result.sum(axis=1), 1)
        assert (result.argmax(axis=1) == y).mean() > 0.8

    def test_a_label_says_nothing_of_its_own_prediction(self):
        """Within one item both labels are held out: changing one changes nothing for the other."""
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
        item = np.arange(40) // 2
        other = y.copy()
        other[1] = 1 - other[1]
        one, two = (
            held_out(LogisticRegression(), X, labels, labels, np.arange(2), item, 0) for labels in (y, other)
        )
        np.testing.assert_allclose(one[0], two[0], atol=1e-9)

    def test_numbers_are_held_out_too(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 2))
        y = X @ [1.0, 2.0]
        result = held_out(Ridge(), X, y, y, None, None, 0)
        assert result.shape == (60,)
        assert np.corrcoef(result, y)[0, 1] > 0.99

    def test_the_same_seed_gives_the_same_folds(self):
        codes = np.arange(50) % 3
        np.testing.assert_array_equal(folds_of(codes, None, 50, 4), folds_of(codes, None, 50, 4))
        assert (folds_of(codes, None, 50, 4) != folds_of(codes, None, 50, 5)).any()

    @pytest.mark.parametrize(("items", "folds"), [(2, 2), (4, 4), (30, 5)])
    def test_fewer_items_have_fewer_folds(self, items, folds):
        assert len(np.unique(folds_of(None, np.arange(30) % items, 30, 0))) == folds
