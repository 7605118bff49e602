"""Our network as scikit-learn estimators: weights, scaling, seeds."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError

from anml.sklearn.mlp import MLPClassifier, MLPRegressor


def test_integer_weights_count_as_copies():
    x, y = load_wine(return_X_y=True)
    x, y = x[::3], y[::3]
    weight = np.arange(len(y)) % 3
    weighted = MLPClassifier(epochs=50, random_state=0).fit(x, y, sample_weight=weight)
    copied = MLPClassifier(epochs=50, random_state=0).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(x), copied.predict_proba(x), atol=1e-3)


def test_weights_of_one_change_nothing():
    x, y = load_wine(return_X_y=True)
    plain = MLPClassifier(epochs=20, random_state=0).fit(x, y)
    ones = MLPClassifier(epochs=20, random_state=0).fit(x, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(plain.parameters_, ones.parameters_)


def wine():
    x, y = load_wine(return_X_y=True)
    return x[::3], y[::3]


@pytest.mark.parametrize("make", [MLPClassifier, MLPRegressor])
class TestBoth:
    def test_another_unit_of_features_changes_nothing(self, make):
        x, y = wine()
        model = make(hidden=(8,), epochs=20, random_state=0)
        one = model.fit(x, y).predict(x)
        two = model.fit(1000 * x + 7, y).predict(1000 * x + 7)
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-3)

    def test_samples_of_no_weight_are_not_there(self, make):
        x, y = wine()
        keep = np.arange(len(y)) % 2 == 0
        model = make(hidden=(8,), epochs=20, random_state=0)
        masked = model.fit(x, y, sample_weight=keep.astype(float)).predict(x)
        np.testing.assert_allclose(masked, model.fit(x[keep], y[keep]).predict(x), rtol=1e-3, atol=1e-3)

    def test_the_same_seed_gives_the_same_network_and_another_seed_another(self, make):
        x, y = wine()
        one, two, other = (
            make(hidden=(8,), epochs=5, random_state=seed).fit(x, y).parameters_ for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(one, two)
        assert (one != other).any()

    def test_a_rows_answer_does_not_depend_on_its_company(self, make):
        x, y = wine()
        model = make(hidden=(8,), epochs=5, random_state=0).fit(x, y)
        whole = model.predict(x)
        alone = np.concatenate([model.predict(x[at : at + 1]) for at in range(len(x))])
        np.testing.assert_allclose(whole, alone, rtol=1e-12)

    def test_constant_features_are_no_error(self, make):
        x, y = wine()
        x[:, 0] = 5.0
        assert np.isfinite(make(hidden=(8,), epochs=5, random_state=0).fit(x, y).predict(x)).all()

    def test_before_it_is_fitted_it_says_so(self, make):
        with pytest.raises(NotFittedError):
            make().predict([[1.0]])

    def test_negative_weights_are_refused(self, make):
        x, y = wine()
        with pytest.raises(ValueError, match="Negative values"):
            make().fit(x, y, sample_weight=-np.ones(len(y)))


class TestClassifier:
    def test_probabilities_sum_to_one_and_name_the_prediction(self):
        x, y = wine()
        names = np.array(["a", "b", "c"])[y]
        model = MLPClassifier(hidden=(8,), epochs=30, random_state=0).fit(x, names)
        p = model.predict_proba(x)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(x))

    def test_one_class_is_one_column(self):
        model = MLPClassifier(hidden=(4,), epochs=3, random_state=0).fit(np.eye(4), ["x"] * 4)
        assert model.predict_proba(np.eye(4)).shape == (4, 1)
        assert set(model.predict(np.eye(4))) == {"x"}


class TestRegressor:
    def test_another_unit_of_numbers_is_another_unit_of_predictions(self):
        x, _ = wine()
        y = x[:, 0] - 2 * x[:, 1]
        model = MLPRegressor(hidden=(8,), epochs=20, random_state=0)
        one = model.fit(x, y).predict(x)
        np.testing.assert_allclose(model.fit(x, 50 * y + 3).predict(x), 50 * one + 3, rtol=1e-3, atol=0.05)

    def test_equal_numbers_are_predicted(self):
        model = MLPRegressor(hidden=(4,), epochs=300, lr=0.02, random_state=0)
        model.fit(np.eye(5), np.full(5, 7.0))
        np.testing.assert_allclose(model.predict(np.eye(5)), 7.0, atol=0.2)
