"""Gradients of fitted scikit-learn models: against the same network in torch."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from anml.adapters.sklearn import mlp as own
from anml.adapters.sklearn.sources import sklearn_factors
from anml.core.errors import UnknownNameError, UnsupportedError
from anml.gradients.factors import Dense, dense_factors
from formed_gradients import assert_same_distances, explicit_gradients, stack

SMALL_REGRESSOR = MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=9000, random_state=0)


class TestSklearnModels:
    def assert_matches_module(self, model, x, y, weights, biases, activation, loss):
        widths = [weights[0].shape[0], *(w.shape[1] for w in weights)]
        module = stack(widths, activation).double()
        with torch.no_grad():
            for layer, w, b in zip(
                [m for m in module if isinstance(m, nn.Linear)], weights, biases, strict=True
            ):
                layer.weight.copy_(torch.tensor(w.T))
                layer.bias.copy_(torch.tensor(b))
        factors = sklearn_factors(model, x, y)
        assert_same_distances(
            factors, explicit_gradients(module, torch.tensor(x), torch.tensor(y), loss), 1e-4
        )

    def data(self, classes):
        rng = np.random.default_rng(1)
        x = rng.normal(size=(40, 4))
        return (
            x,
            np.argmax(x[:, :classes] + rng.normal(size=(40, classes)), axis=1),
            x @ [1.0, 2.0, 0.0, -1.0],
        )

    def test_logistic_regression(self):
        x, y, _ = self.data(3)
        model = LogisticRegression().fit(x, y)
        self.assert_matches_module(
            model, x, y, [model.coef_.T], [model.intercept_], nn.ReLU, nn.functional.cross_entropy
        )

    @pytest.mark.parametrize("model", [LogisticRegression(), SGDClassifier(loss="log_loss", random_state=0)])
    def test_binary_logistic(self, model):
        x, y, _ = self.data(2)
        model.fit(x, y)

        def bce(out, target):
            return nn.functional.binary_cross_entropy_with_logits(out[:, 0], target.double())

        self.assert_matches_module(model, x, y, [model.coef_.T], [model.intercept_], nn.ReLU, bce)

    @pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
    def test_mlp_classifier(self, activation):
        x, y, _ = self.data(3)
        model = MLPClassifier(
            (6, 5), activation=activation, solver="lbfgs", alpha=0.1, max_iter=9000, random_state=0
        ).fit(x, y)
        kind = {"relu": nn.ReLU, "tanh": nn.Tanh, "logistic": nn.Sigmoid, "identity": nn.Identity}[activation]
        self.assert_matches_module(
            model, x, y, model.coefs_, model.intercepts_, kind, nn.functional.cross_entropy
        )

    @pytest.mark.parametrize("model", [LinearRegression(), Ridge(), SMALL_REGRESSOR])
    def test_regressors(self, model):
        x, _, y = self.data(2)
        y = y + np.random.default_rng(0).normal(size=len(y))
        model.fit(x, y)
        linear = not hasattr(model, "coefs_")
        weights = [np.atleast_2d(model.coef_).T] if linear else model.coefs_
        biases = [np.atleast_1d(model.intercept_)] if linear else model.intercepts_

        def squared(out, target):
            return (out[:, 0] - target).square().mean()

        self.assert_matches_module(model, x, y, weights, biases, nn.ReLU, squared)

    def test_pipelines_are_followed(self):
        x, y, _ = self.data(3)
        pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
        direct = sklearn_factors(pipeline[-1], pipeline[0].transform(x), y)
        torch.testing.assert_close(sklearn_factors(pipeline, x, y).norms(), direct.norms())

    @pytest.mark.parametrize("model", [own.MLPClassifier(epochs=5), own.MLPRegressor(epochs=5)])
    def test_our_own_estimators(self, model):
        x, codes, values = self.data(3)
        y = codes if isinstance(model, own.MLPClassifier) else values
        assert len(sklearn_factors(model.fit(x, y), x, y).layers) == 3

    def test_no_intercept_means_no_bias(self):
        x, _, y = self.data(2)
        assert not sklearn_factors(Ridge(fit_intercept=False).fit(x, y), x, y).layers[0].bias

    def test_trees_have_no_gradients(self):
        x, y, _ = self.data(2)
        with pytest.raises(UnsupportedError, match="DecisionTreeClassifier has no per-sample gradients"):
            sklearn_factors(DecisionTreeClassifier().fit(x, y), x, y)

    def test_unknown_activation(self):
        dense = Dense([torch.ones(2, 2)], [None], "sine", "softmax")
        with pytest.raises(UnknownNameError, match="activation 'sine'"):
            dense_factors(dense, torch.ones(1, 2), torch.tensor([0]))
