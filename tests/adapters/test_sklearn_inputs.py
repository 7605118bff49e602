"""Whatever scikit-learn trains: strings, gaps and sparse text, judged by the estimator's own predictions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from anml import AnmlClassifier, AnmlRegressor
from anml.adapters.sklearn import estimators
from anml.adapters.sklearn.fitting import fit_weighted, seeded
from anml.adapters.sklearn.held_out import PRIOR, folds_of, held_out, is_numeric
from anml.adapters.sklearn.storage import load_model, save_model
from anml.assess.assess import assess
from anml.core.domain import Gate, Recipe, Weighting
from anml.core.errors import AnmlError, InputError


@pytest.fixture
def seen(monkeypatch):
    """What `assess` is called with; where x has no columns, the right labels stand in for features."""
    calls = []

    def record(x, y, task, classes, known, policy, **more):
        calls.append((x, y, known))
        stand_in = x if x.shape[1] else np.column_stack([y, np.arange(len(y)) % 3]).astype(float)
        plain = replace(known, predictions=None, truth=None, wrong=None)
        return assess(stand_in, y, task, classes, plain, policy, **more)

    monkeypatch.setattr(estimators, "assess", record)
    return calls


def patients(rows=90, seed=0):
    """A frame with words, numbers and gaps, under an index of its own."""
    rng = np.random.default_rng(seed)
    sick = rng.integers(0, 2, rows)
    age = np.where(rng.uniform(size=rows) < 0.1, np.nan, 40 + 20 * sick + 5 * rng.normal(size=rows))
    ward = np.where(rng.uniform(size=rows) < 0.1, None, np.array(["east", "west"])[sick])
    frame = pd.DataFrame({"age": age, "ward": ward}, index=[f"p{at}" for at in range(rows)])
    return frame, np.array(["well", "ill"])[sick]


def mixed():
    """A pipeline that asks for columns by name."""
    return make_pipeline(
        make_column_transformer(
            (SimpleImputer(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["ward"]),
        ),
        LogisticRegression(),
    )  # fmt: skip


def test_a_frame_with_words_and_gaps(seen):
    X, y = patients()
    model = AnmlClassifier(mixed(), random_state=0).fit(X, y, contributor=["ann", "bob"] * 45)
    x, codes, known = seen[0]
    assert model.predictor_ == "estimator"
    assert x.shape == (90, 0)
    assert known.predictions.shape == (90, 2)
    assert known.predictions.sum(axis=1) == pytest.approx(1)
    # Held-out predictions in the order of the rows, whatever their index.
    assert (known.predictions.argmax(axis=1) == codes).mean() > 0.9
    assert set(model.predict(X.iloc[:5])) <= {"ill", "well"}
    assert model.predict_proba(X).shape == (90, 2)
    assert model.feature_names_in_.tolist() == ["age", "ward"]
    shuffled = X.sample(frac=1.0, random_state=0)
    assert (model.predict(shuffled) == pd.Series(model.predict(X), X.index)[shuffled.index]).all()


def test_the_same_seed_gives_the_same_predictions(seen):
    X, y = patients()
    for _ in range(2):
        AnmlClassifier(HistGradientBoostingClassifier(max_iter=5), predictor="estimator", random_state=3).fit(
            X[["age"]], y
        )
    np.testing.assert_array_equal(seen[0][2].predictions, seen[1][2].predictions)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_gaps_in_numbers(kind, seen):
    X, y = load_wine(return_X_y=True)
    X[::7, 0] = np.nan
    X = {"array": X, "pandas": pd.DataFrame(X), "polars": pl.DataFrame(X)}[kind]
    if kind == "pandas":
        X.columns = [f"c{at}" for at in range(13)]
    model = AnmlClassifier(HistGradientBoostingClassifier(max_iter=10), random_state=0).fit(X, y)
    assert model.predictor_ == "estimator"
    assert model.score(X, y) > 0.9
    assert seen[0][2].predictions.shape == (178, 3)


def test_sparse_text_and_texts_themselves(seen):
    texts = [f"{word} day {at}" for at, word in enumerate(["good", "bad"] * 30)]
    y = np.array([1, 0] * 30)
    X = sparse.coo_matrix(TfidfVectorizer().fit_transform(texts))
    model = AnmlClassifier(MultinomialNB(), random_state=0).fit(X, y)
    assert model.predictor_ == "estimator"
    assert (model.predict(X) == y).all()
    whole = AnmlClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), random_state=0)
    whole.fit(texts, y)
    assert whole.predict(["good", "bad"]).tolist() == [1, 0]
    assert (seen[1][2].predictions.argmax(axis=1) == y).all()


def test_a_frame_of_numbers_keeps_its_names_and_our_own_networks(seen):
    X, y = load_wine(return_X_y=True, as_frame=True)
    named = make_pipeline(
        make_column_transformer((StandardScaler(), ["alcohol", "hue"])), LogisticRegression()
    )
    model = AnmlClassifier(named, random_state=0).fit(X, y)
    assert model.predictor_ == "anml"
    assert seen[0][0].shape == (178, 13)
    assert seen[0][2].predictions is None
    assert model.score(X, y) > 0.6


def test_regression(seen):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=80)})
    y = 3 * X["size"].to_numpy()
    X.loc[::9, "size"] = np.nan
    model = AnmlRegressor(HistGradientBoostingRegressor(max_iter=30), random_state=0).fit(X, y)
    assert seen[0][0].shape == (80, 0)
    assert seen[0][2].predictions.shape == (80,)
    assert np.corrcoef(seen[0][2].predictions, y)[0, 1] > 0.7
    assert model.predict(X).shape == (80,)
    AnmlRegressor(Ridge(), predictor="estimator").fit(rng.normal(size=(30, 2)), np.arange(30.0))


def test_predictor_is_one_of_three(seen):
    X, y = patients()
    with pytest.raises(AnmlError, match="unknown predictor 'mine'; allowed: auto, anml, estimator"):
        AnmlClassifier(mixed(), predictor="mine").fit(X, y)
    with pytest.raises(ValueError, match=r"could not convert string to float|NaN"):
        AnmlClassifier(mixed(), predictor="anml").fit(X, y)
    with pytest.raises(InputError, match="at least two samples are needed"):
        AnmlClassifier(mixed()).fit(X.iloc[:1], y[:1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AnmlClassifier(mixed()).fit(X, y[:-1])


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
        found = held_out(LogisticRegression(), X, y, y, np.arange(3), None, 0)
        assert found[-1, 2] == pytest.approx(PRIOR / 21)
        assert found.sum(axis=1) == pytest.approx(1)

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
            found = held_out(learner, X, y, y, np.arange(classes), None, 0)
            assert found.shape == (60, classes)
            assert found.sum(axis=1) == pytest.approx(1)
            assert (found.argmax(axis=1) == y).all()
            assert found.min() > 0

    def test_one_class_left_to_learn_from(self):
        y = np.array([0, 0, 0, 1])
        found = held_out(LogisticRegression(), np.eye(4), y, y, np.arange(2), np.array([0, 0, 0, 1]), 0)
        assert found[3] == pytest.approx([1 - PRIOR / 4, PRIOR / 4])


def test_parts_of_a_pipeline_are_seeded_too():
    made = seeded(make_pipeline(StandardScaler(), HistGradientBoostingClassifier()), 5)
    assert made[-1].random_state == 5
    assert seeded(LogisticRegression(random_state=1), 5).random_state == 1


class TestSomeClassesAreNotKept:
    def weighting(self, kept):
        kept = np.asarray(kept)
        return Weighting(kept / kept.sum(), kept, Gate("krum", ""), Recipe())

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


class TestKnown:
    def fit(self, known, y=None, model=AnmlClassifier, **more):
        X, classes = load_wine(return_X_y=True)
        y = np.array(["red", "white", "blue"])[classes] if y is None else y
        return model(LogisticRegression(solver="newton-cholesky") if model is AnmlClassifier else Ridge(),
                     recipe="uniform", random_state=0).fit(X, y, known=known, **more), y  # fmt: skip

    def test_right_labels(self, seen):
        _, y = self.fit(["red", "blue", "pink"] + [None] * 175)
        _, codes, known = seen[0]
        assert y[0] == "red"
        assert known.truth.tolist()[:4] == [1, 0, -1, -1]
        assert known.wrong.tolist()[:4] == [False, True, True, False]
        assert known.verification[:4].tolist() == [0.92, 0.07, 0.07, 0.25]
        assert codes[0] == 1

    @pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
    def test_gaps_of_any_kind(self, gap, seen):
        self.fit(pd.Series(["red", gap] + [gap] * 176, dtype=object))
        assert seen[0][2].truth.tolist() == [1] + [-1] * 177

    def test_marks(self, seen):
        mark = np.arange(178) < 100
        self.fit(mark)
        _, codes, known = seen[0]
        assert known.truth.tolist() == np.where(mark, codes, -1).tolist()
        assert (known.wrong == ~mark).all()
        self.fit([True, False] + [None] * 176)
        assert seen[1][2].wrong.sum() == 1

    def test_numbered_classes_as_floats_with_gaps(self, seen):
        y = load_wine().target
        self.fit(np.r_[y[:3].astype(float), [np.nan] * 175], y)
        assert seen[0][2].truth.tolist()[:4] == [0, 0, 0, -1]

    def test_numbers(self, seen):
        y = np.arange(178.0)
        self.fit([0.0, 5.0] + [None] * 176, y, AnmlRegressor)
        np.testing.assert_array_equal(seen[0][2].truth[:3], [0.0, 5.0, np.nan])
        self.fit([True, False] + [None] * 176, y, AnmlRegressor)
        assert seen[1][2].wrong.tolist()[:3] == [False, True, False]

    def test_an_item_has_one_right_label_and_v_that_was_given_stays(self, seen):
        self.fit(["red"] + [None] * 177, item=np.arange(178) // 2, verification=[0.5] * 178)
        assert seen[0][2].truth.tolist()[:3] == [1, 1, -1]
        assert set(seen[0][2].verification) == {0.5}

    @pytest.mark.parametrize(
        ("known", "said"),
        [
            (["red"], "known must be one value per sample: 178 expected, got 1"),
            (
                ["pink"] * 178,
                r"known must hold labels \('blue', 'red', 'white'\), or true and false, got 'pink'",
            ),
        ],
    )
    def test_bad_values(self, known, said):
        with pytest.raises(InputError, match=said):
            self.fit(known)

    def test_bad_numbers(self):
        with pytest.raises(InputError, match="known must be numbers"):
            self.fit(["x"] + [None] * 177, np.arange(178.0), AnmlRegressor)


def test_a_loaded_model_keeps_what_it_learned_of_contributors(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = AnmlClassifier(random_state=0).fit(X, y, contributor=["ann", "bob"] * 89)
    save_model(model, tmp_path / "with")
    again = load_model(tmp_path / "with")
    assert again.reputation_.equals(model.reputation_)
    assert again.predictor_ == "anml"
    save_model(AnmlClassifier(random_state=0).fit(X, y), tmp_path / "without")
    assert load_model(tmp_path / "without").reputation_ is None
