"""Whatever scikit-learn trains: strings, gaps and sparse text, judged by the estimator's own predictions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from anml import AnmlClassifier, AnmlRegressor
from anml.core.errors import AnmlError, InputError

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


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


def test_a_frame_with_words_and_gaps(inputs):
    X, y = patients()
    model = AnmlClassifier(mixed(), random_state=0).fit(X, y, contributor=["ann", "bob"] * 45)
    x, codes, known = inputs[0]
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


def test_the_same_seed_gives_the_same_predictions(inputs):
    X, y = patients()
    for _ in range(2):
        AnmlClassifier(HistGradientBoostingClassifier(max_iter=5), predictor="estimator", random_state=3).fit(
            X[["age"]], y
        )
    np.testing.assert_array_equal(inputs[0][2].predictions, inputs[1][2].predictions)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_gaps_in_numbers(kind, inputs):
    X, y = load_wine(return_X_y=True)
    X[::7, 0] = np.nan
    X = {"array": X, "pandas": pd.DataFrame(X), "polars": pl.DataFrame(X)}[kind]
    if kind == "pandas":
        X.columns = [f"c{at}" for at in range(13)]
    model = AnmlClassifier(HistGradientBoostingClassifier(max_iter=10), random_state=0).fit(X, y)
    assert model.predictor_ == "estimator"
    assert model.score(X, y) > 0.9
    assert inputs[0][2].predictions.shape == (178, 3)


def test_sparse_text_and_texts_themselves(inputs):
    texts = [f"{word} day {at}" for at, word in enumerate(["good", "bad"] * 30)]
    y = np.array([1, 0] * 30)
    X = sparse.coo_matrix(TfidfVectorizer().fit_transform(texts))
    model = AnmlClassifier(MultinomialNB(), random_state=0).fit(X, y)
    assert model.predictor_ == "estimator"
    assert (model.predict(X) == y).all()
    whole = AnmlClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), random_state=0)
    whole.fit(texts, y)
    assert whole.predict(["good", "bad"]).tolist() == [1, 0]
    assert (inputs[1][2].predictions.argmax(axis=1) == y).all()


def test_a_frame_of_numbers_keeps_its_names_and_our_own_networks(inputs):
    X, y = load_wine(return_X_y=True, as_frame=True)
    named = make_pipeline(
        make_column_transformer((StandardScaler(), ["alcohol", "hue"])), LogisticRegression()
    )
    model = AnmlClassifier(named, random_state=0).fit(X, y)
    assert model.predictor_ == "anml"
    assert inputs[0][0].shape == (178, 13)
    assert inputs[0][2].predictions is None
    assert model.score(X, y) > 0.6


def test_regression(inputs):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=80)})
    y = 3 * X["size"].to_numpy()
    X.loc[::9, "size"] = np.nan
    model = AnmlRegressor(HistGradientBoostingRegressor(max_iter=30), random_state=0).fit(X, y)
    assert inputs[0][0].shape == (80, 0)
    assert inputs[0][2].predictions.shape == (80,)
    assert np.corrcoef(inputs[0][2].predictions, y)[0, 1] > 0.7
    assert model.predict(X).shape == (80,)
    AnmlRegressor(Ridge(), predictor="estimator").fit(rng.normal(size=(30, 2)), np.arange(30.0))


def test_predictor_is_one_of_three(inputs):
    X, y = patients()
    with pytest.raises(AnmlError, match="unknown predictor 'mine'; allowed: auto, anml, estimator"):
        AnmlClassifier(mixed(), predictor="mine").fit(X, y)
    with pytest.raises(ValueError, match=r"could not convert string to float|NaN"):
        AnmlClassifier(mixed(), predictor="anml").fit(X, y)
    with pytest.raises(InputError, match="at least two samples are needed"):
        AnmlClassifier(mixed()).fit(X.iloc[:1], y[:1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AnmlClassifier(mixed()).fit(X, y[:-1])
