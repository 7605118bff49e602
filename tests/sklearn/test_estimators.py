"""The scikit-learn estimators: scikit-learn's own checks, pipelines, grid search, routing, files."""

import pickle

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from anml import AnmlClassifier, AnmlRegressor
from anml.core.errors import AnmlError, InputError, UnsupportedError
from anml.core.types import Recipe
from anml.sklearn.mlp import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

SINGLE_PRECISION = {
    "check_sample_weight_equivalence_on_dense_data": "networks train in single precision; the check wants "
    "1e-7, and test_integer_weights_count_as_copies asks for what they promise"
}


# The checks are about what is promised to scikit-learn, not about how long networks train.
SHORT = {"max_epochs": 10, "folds": 2}


def expected_failures(estimator):
    return SINGLE_PRECISION if isinstance(estimator, MLPClassifier | MLPRegressor) else {}


@parametrize_with_checks(
    [
        AnmlClassifier(recipe={"profile": SHORT}),
        AnmlRegressor(recipe={"profile": SHORT}),
        MLPClassifier(),
        MLPRegressor(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def linear():
    return make_pipeline(StandardScaler(), LogisticRegression())


def test_finds_the_bad_contributor(consortium):
    x, y, contributors, x_test, y_test = consortium
    model = AnmlClassifier(random_state=0).fit(x, y, contributor=contributors)
    assert model.contributors_.sort("accuracy")["contributor"][0] == "eve"
    assert model.kept_[contributors == "eve"].mean() < 0.5
    assert model.kept_[contributors != "eve"].mean() > 0.9
    assert model.score(x_test, y_test) > MLPClassifier(random_state=0).fit(x, y).score(x_test, y_test)
    assert model.sample_weight_.shape == model.kept_.shape == y.shape
    assert (model.sample_weight_[~model.kept_] == 0).all()
    assert model.sample_weight_[model.kept_].mean() == pytest.approx(1)
    assert 0.1 < model.label_error_rate_ < 0.4


@pytest.mark.parametrize(
    "inner",
    [linear(), RandomForestClassifier(20), make_pipeline(StandardScaler(), KNeighborsClassifier()), None],
)
def test_wraps_any_estimator(consortium, inner):
    x, y, contributors, x_test, y_test = consortium
    model = AnmlClassifier(inner, random_state=0).fit(x, y, contributor=contributors)
    assert model.score(x_test, y_test) > 0.6
    assert model.predict_proba(x_test).shape == (len(y_test), 3)


def test_credentials_levels_and_ages(consortium):
    x, y, contributors, _, _ = consortium
    recipe = {"name": "softmax", "half_life": "1y", "select": "weight"}
    model = AnmlClassifier(recipe=recipe, random_state=0).fit(
        x, y, contributor=contributors,
        verification=np.where(contributors == "eve", "self-attested", "peer-reviewed"),
        reputation=np.where(contributors == "eve", "poor", "established"),
        age=np.linspace(0, 3, len(y)),
    )  # fmt: skip
    frame = model.contributors_
    assert frame.filter(pl.col("contributor") == "eve")["mean_v"].item() == pytest.approx(0.25)
    assert model.gate_.branch == "blend"
    assert model.sample_weight_[-20:].max() < model.sample_weight_[:20].min()


def test_newcomers_floor(consortium):
    x, y, contributor, _, _ = consortium
    known = {
        "contributor": contributor,
        "verification": np.full(len(y), 0.5),
        "reputation": np.full(len(y), 0.1),
    }
    floored = AnmlClassifier(random_state=0).fit(x, y, **known).contributors_["mean_r"]
    plain = (
        AnmlClassifier(recipe={"newcomer_rows": 0}, random_state=0).fit(x, y, **known).contributors_["mean_r"]
    )
    assert (plain - 0.1).abs().max() < 1e-12
    rows = {name: (contributor == name).sum() for name in ["ann", "bob", "cat", "eve"]}
    expected = [(10 * 0.4 + (count - 10) * 0.1) / count for count in rows.values()]
    np.testing.assert_allclose(floored, expected)


def test_derivation_chain_lowers_what_rests_on_weak_ground(consortium):
    x, y, contributor, _, _ = consortium
    parents = [[] for _ in y]
    parents[1] = [0]
    known = {
        "contributor": contributor,
        "verification": np.full(len(y), 0.5),
        "reputation": np.full(len(y), 0.8),
    }
    recipe = {"name": "multiplicative", "newcomer_rows": 0, "select": "weight"}
    model = AnmlClassifier(recipe=recipe, random_state=0)
    before = model.fit(x, y, **known).sample_weight_
    after = model.fit(x, y, **known, derived_from=parents).sample_weight_
    assert after[1] / after[0] == pytest.approx(before[1] / before[0] * 0.4)


@pytest.mark.parametrize("select", ["top", "draw", "weight"])
def test_ways_of_selecting(consortium, select):
    x, y, contributors, x_test, y_test = consortium
    recipe = Recipe("multiplicative", use=("q",), keep=0.7, select=select)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = AnmlClassifier(inner, recipe=recipe, random_state=0).fit(x, y, contributor=contributors)
    assert model.score(x_test, y_test) > 0.7
    assert model.kept_.all() == (select != "top")


def test_weights_need_an_estimator_that_takes_them(consortium):
    x, y, _, _, _ = consortium
    recipe = Recipe("multiplicative", use=("q",), select="weight")
    with pytest.raises(UnsupportedError, match="KNeighborsClassifier takes no sample_weight"):
        AnmlClassifier(KNeighborsClassifier(), recipe=recipe).fit(x, y)


def test_works_in_a_pipeline(consortium):
    x, y, contributor, x_test, y_test = consortium
    pipeline = make_pipeline(StandardScaler(), AnmlClassifier(random_state=0))
    pipeline.fit(x, y, anmlclassifier__contributor=contributor)
    assert pipeline[-1].contributors_.height == 4
    assert pipeline.score(x_test, y_test) > 0.8


@pytest.mark.parametrize("routing", [False, True])
def test_grid_search_slices_contributors_with_the_rows(consortium, routing):
    x, y, contributors, _, _ = consortium
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(
            AnmlClassifier(linear(), random_state=0),
            {"recipe": ["krum", "guarded"]},
            cv=2,
        )
        search.fit(x, y, contributor=contributors)
        assert search.best_estimator_.contributors_["rows"].sum() == len(y)


def test_routing_through_a_pipeline_in_cross_validation(consortium):
    x, y, contributor, _, _ = consortium
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), AnmlClassifier(LogisticRegression(), random_state=0))
        result = cross_val_score(pipeline, x, y, params={"contributor": contributor}, cv=3)
    assert len(result) == 3


def test_regressor_drops_shifted_labels():
    x, y = load_diabetes(return_X_y=True)
    contributors = np.array(["ann", "bob", "cat", "dan", "eve"])[np.arange(len(y)) % 5]
    shifted = np.where(contributors == "eve", y + 4 * y.std(), y)
    model = AnmlRegressor(Ridge(), random_state=0).fit(x, shifted, contributor=contributors)
    assert model.kept_[contributors == "eve"].mean() < 0.2
    wrong, right = (np.abs(m.predict(x) - y).mean() for m in (Ridge().fit(x, shifted), model))
    assert right < 0.8 * wrong


@pytest.mark.usefixtures("made_anew")
def test_same_seed_same_model_and_clones_and_pickles(consortium):
    x, y, contributors, x_test, _ = consortium
    model = AnmlClassifier(random_state=3).fit(x, y, contributor=contributors)
    again = clone(model).fit(x, y, contributor=contributors)
    np.testing.assert_array_equal(model.sample_weight_, again.sample_weight_)
    np.testing.assert_array_equal(model.predict_proba(x_test), again.predict_proba(x_test))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x_test), model.predict(x_test))


class TestBadInput:
    def data(self):
        return load_wine(return_X_y=True)

    @pytest.mark.parametrize(
        ("known", "message"),
        [
            ({"contributor": ["a"]}, "contributor must be one value per sample"),
            ({"contributor": [None] * 178}, "contributor is missing in 178 rows, the first at position 0"),
            ({"verification": ["peer"] * 178}, "verification level 'peer'"),
            ({"verification": [2.0] * 178}, r"lie in \[0, 1\]"),
            ({"reputation": [np.nan] * 178}, "reputation is missing"),
            ({"age": [-1.0] * 178}, "age must not be negative"),
            ({"derived_from": [[1]] + [[0]] + [[]] * 176}, "derived from itself"),
        ],
    )
    def test_bad_columns(self, known, message):
        with pytest.raises(AnmlError, match=message):
            AnmlClassifier().fit(*self.data(), **known)

    @pytest.mark.parametrize(
        ("knob", "message"),
        [
            ({"recipe": "best"}, "unknown recipe 'best'"),
            ({"recipe": {"profile": "long"}}, "unknown profile 'long'"),
            ({"recipe": {"half_life": "7 moons"}}, "unknown unit of time 'moons'"),
            ({"recipe": {"r_min": 3}}, "r_min must lie in"),
        ],
    )
    def test_bad_knobs(self, knob, message):
        with pytest.raises(AnmlError, match=message):
            AnmlClassifier(**knob).fit(*self.data())

    def test_one_class(self):
        with pytest.raises(InputError, match="only one class"):
            AnmlClassifier().fit(np.eye(5), np.zeros(5))

    def test_all_weights_zero(self):
        with pytest.raises(ValueError, match="at least one non-zero"):
            MLPClassifier().fit(np.eye(4), [0, 1, 0, 1], sample_weight=np.zeros(4))


@pytest.mark.parametrize("parents", [["x"] * 20, [1] * 20, [[0.5]] * 20], ids=["text", "numbers", "halves"])
def test_parents_that_are_no_positions_are_refused(parents):
    x = np.arange(40.0).reshape(20, 2)
    with pytest.raises(InputError, match="derived_from"):
        AnmlClassifier(LogisticRegression()).fit(x, [0, 1] * 10, derived_from=parents)


def test_quantities_too_large_to_tell_a_spread_are_refused():
    x = np.arange(40.0).reshape(20, 2)
    with pytest.raises(InputError, match=r"y has values beyond 1e\+150, as -1e\+308; scale them"):
        AnmlRegressor(Ridge()).fit(x, np.r_[-1e308, np.arange(19.0)])


def test_one_class_is_named_as_the_user_wrote_it():
    with pytest.raises(InputError, match=r"only one class is present, '0.0'; two"):
        AnmlClassifier().fit(np.arange(8.0).reshape(4, 2), np.zeros(4))


class TestCorrectedLabels:
    """Labels that are likelier wrong than right are trained on as what they should be."""

    def test_classes(self):
        X, truth = load_wine(return_X_y=True)
        rng = np.random.default_rng(0)
        contributors = np.arange(len(truth)) % 6
        y = np.where(contributors == 0, rng.integers(0, 3, len(truth)), truth)
        names = np.array(["barbera", "grignolino", "barolo"])
        model = AnmlClassifier(LogisticRegression(max_iter=1000), random_state=0)
        model.fit(StandardScaler().fit_transform(X), names[y], contributor=contributors)
        wrong = y != truth
        assert (model.labels_[model.kept_] == names[y][model.kept_]).all()
        assert (model.labels_[wrong] == names[truth][wrong]).mean() > 0.8
        assert (model.labels_ == names[truth]).mean() > 0.97

    def test_numbers_in_other_units_are_trained_on_as_in_the_others(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(300, 3))
        truth = 20 + 5 * X[:, 0] + rng.normal(0, 0.5, 300)
        contributors = np.arange(300) % 6
        y = np.where(contributors == 0, 1.8 * truth + 32, truth)
        model = AnmlRegressor(Ridge(), random_state=0).fit(X, y, contributor=contributors)
        assert not model.kept_[contributors == 0].any()
        assert np.abs(model.labels_ - truth)[contributors == 0].mean() < 1
        np.testing.assert_array_equal(model.labels_[model.kept_], y[model.kept_])

    def test_rows_whose_numbers_scatter_less_count_for_more(self):
        rng = np.random.default_rng(2)
        X = rng.uniform(-2, 2, (600, 2))
        spread = np.where(X[:, 1] > 0, 4.0, 0.2)
        y = 3 * np.sin(X[:, 0]) + spread * rng.normal(size=600)
        asked = rng.uniform(-2, 2, (400, 2))
        errors = [
            np.abs(model.fit(X, y).predict(asked) - 3 * np.sin(asked[:, 0])).mean()
            for model in (
                AnmlRegressor(DecisionTreeRegressor(max_leaf_nodes=20), random_state=0),
                DecisionTreeRegressor(max_leaf_nodes=20, random_state=0),
            )
        ]
        assert errors[0] < 0.8 * errors[1]

    def test_other_recipes_leave_labels_as_they_are(self):
        X, y = load_wine(return_X_y=True)
        model = AnmlClassifier(KNeighborsClassifier(), recipe="uniform", random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.labels_, y)
