"""Fitting on what was kept, drawn or weighed, with every class."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anml import AnmlClassifier
from anml.assessment.assess import assess
from anml.core.errors import UnsupportedError
from anml.core.types import Gate, Recipe, Weighting
from anml.sklearn import estimators
from anml.sklearn.fitting import fit_weighted, over_all_classes, set_random_state

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


def test_parts_of_a_pipeline_are_seeded_too():
    made = set_random_state(make_pipeline(StandardScaler(), HistGradientBoostingClassifier()), 5)
    assert made[-1].random_state == 5
    assert set_random_state(LogisticRegression(random_state=1), 5).random_state == 1


class TestSomeClassesAreNotKept:
    def weighting(self, kept):
        kept = np.asarray(kept)
        return Weighting(kept / kept.sum(), kept, Gate("q_only", ""), Recipe())

    def fitted(self, learner, classes, kept, monkeypatch):
        X, y = load_wine(return_X_y=True)
        X, y = X[y < classes], y[y < classes]
        weighting = self.weighting(np.isin(y, kept))

        def only(x, labels, *rest, **more):
            return replace(assess(x, labels, *rest, **more), weighting=weighting)

        monkeypatch.setattr(estimators, "assess", only)
        return AnmlClassifier(learner, recipe="uniform", random_state=0).fit(X, y), X

    def test_probabilities_and_decisions_are_over_all_classes(self, monkeypatch):
        learner = make_pipeline(StandardScaler(), LogisticRegression())
        model, X = self.fitted(learner, 3, [0, 2], monkeypatch)
        assert model.predict_proba(X).shape == model.decision_function(X).shape == (178, 3)
        assert (model.predict_proba(X)[:, 1] == 0).all()
        best = model.classes_[model.decision_function(X).argmax(axis=1)]
        assert (best == model.predict(X)).all()
        assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()

    def test_one_class_is_predicted_for_everything_and_said(self, monkeypatch):
        with pytest.warns(UserWarning, match="only samples of class '1' were kept, and LogisticRegression"):
            model, X = self.fitted(LogisticRegression(), 2, [1], monkeypatch)
        assert set(model.predict(X)) == {1}
        assert model.predict_proba(X)[0].tolist() == [0, 1]

    def test_one_class_is_no_trouble_for_who_can_learn_it(self, monkeypatch):
        model, X = self.fitted(None, 2, [1], monkeypatch)
        assert set(model.predict(X)) == {1}
        assert model.predict_proba(X).shape == (len(X), 2)

    def test_other_errors_stay(self):
        with pytest.raises(ValueError, match="NaN"):
            fit_weighted(
                LogisticRegression(), np.full((4, 1), np.nan), np.array([0, 1, 0, 1]),
                self.weighting([True] * 4), np.random.default_rng(0),
            )  # fmt: skip


class Recording(ClassifierMixin, BaseEstimator):
    """Remembers what it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.X_, self.y_, self.weight_ = np.unique(y), X, y, sample_weight
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Unweighted(Recording):
    def fit(self, X, y):
        return super().fit(X, y)


def weighted_by(select, w=(0.1, 0.2, 0.3, 0.4), kept=(True, True, False, True)):
    return Weighting(np.array(w), np.array(kept), Gate("q_only", ""), Recipe("guarded", select=select))


X4, Y4 = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])


class TestSelect:
    def test_top_fits_on_what_was_kept(self):
        model = fit_weighted(Recording(), X4, Y4, weighted_by("top"), np.random.default_rng(0))
        np.testing.assert_array_equal(model.X_, X4[[0, 1, 3]])
        assert model.weight_ is None

    @pytest.mark.parametrize("learner", [Recording(), Unweighted()])
    def test_evidence_weighs_what_was_kept_where_the_learner_takes_weights(self, learner):
        weighting = replace(weighted_by("top"), recipe=Recipe("evidence"))
        model = fit_weighted(learner, X4, Y4, weighting, np.random.default_rng(0))
        np.testing.assert_array_equal(model.X_, X4[[0, 1, 3]])
        if isinstance(learner, Unweighted):
            assert model.weight_ is None
        else:
            np.testing.assert_allclose(model.weight_, np.array([0.1, 0.2, 0.4]) * 3 / 0.7)

    def test_equal_weights_are_not_passed_on(self):
        weighting = replace(weighted_by("top", w=(0.25,) * 4), recipe=Recipe("evidence"))
        model = fit_weighted(Recording(), X4, Y4, weighting, np.random.default_rng(0))
        assert model.weight_ is None

    def test_draw_fits_on_as_many_rows_drawn_by_weight(self):
        model = fit_weighted(
            Recording(), X4, Y4, weighted_by("draw", (0, 0, 0, 1.0)), np.random.default_rng(0)
        )
        np.testing.assert_array_equal(model.X_, np.tile(X4[3], (4, 1)))

    def test_weight_fits_on_all_with_weights_of_mean_one(self):
        weighting = weighted_by("weight", kept=(True,) * 4)
        model = fit_weighted(Recording(), X4, Y4, weighting, np.random.default_rng(0))
        np.testing.assert_array_equal(model.X_, X4)
        np.testing.assert_allclose(model.weight_, np.array([0.1, 0.2, 0.3, 0.4]) * 4)

    def test_weights_reach_the_last_step_of_a_pipeline(self):
        pipeline = make_pipeline(StandardScaler(), Recording())
        model = fit_weighted(
            pipeline, X4, Y4, weighted_by("weight", kept=(True,) * 4), np.random.default_rng(0)
        )
        assert model[-1].weight_.mean() == pytest.approx(1)
        with config_context(enable_metadata_routing=True):
            routed = make_pipeline(StandardScaler(), Recording())
            fit_weighted(routed, X4, Y4, weighted_by("weight", kept=(True,) * 4), np.random.default_rng(0))
        np.testing.assert_array_equal(routed[-1].weight_, model[-1].weight_)

    @pytest.mark.parametrize("learner", [Unweighted(), make_pipeline(StandardScaler(), Unweighted())])
    def test_who_takes_no_weights_is_named(self, learner):
        with pytest.raises(UnsupportedError, match=f"{type(learner).__name__} takes no sample_weight"):
            fit_weighted(learner, X4, Y4, weighted_by("weight"), np.random.default_rng(0))


class TestClasses:
    def test_columns_of_classes_not_seen_are_filled(self):
        result = over_all_classes(
            np.array([[0.3, 0.7]]), np.array(["a", "c"]), np.array(["a", "b", "c"]), 0.0
        )
        assert result.tolist() == [[0.3, 0, 0.7]]
        whole = np.array([[1.0]])
        assert over_all_classes(whole, np.array(["a"]), np.array(["a"]), 0.0) is whole


class TestSeeds:
    def test_only_what_is_unset_is_set(self):
        made = set_random_state(make_pipeline(StandardScaler(), LogisticRegression(random_state=1)), 5)
        assert made[-1].random_state == 1
        assert set_random_state(StandardScaler(), 5).get_params() == StandardScaler().get_params()
