"""Gradient factors of a fitted scikit-learn model: linear models and MLPs, ours included."""

from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.linear_model._base import LinearModel
from sklearn.neural_network import MLPClassifier as SklearnMLPClassifier
from sklearn.neural_network import MLPRegressor as SklearnMLPRegressor
from sklearn.pipeline import Pipeline

from anml.adapters.sklearn.mlp import MLPClassifier, MLPRegressor
from anml.core.errors import UnsupportedError
from anml.gradients.factors import Dense, Factors, Loss, dense_factors, network_factors


def sklearn_factors(model: Any, x: Any, y: Any) -> Factors:
    """Factors of each sample's loss gradient in a fitted model's parameters.

    Cross-entropy for classifiers, squared error for regressors. A pipeline is followed to its last
    step. Models without linear layers (trees, neighbours) have no such gradients.
    """
    if isinstance(model, Pipeline):
        return sklearn_factors(model[-1], model[:-1].transform(x) if len(model) > 1 else x, y)
    x = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)
    if isinstance(model, MLPClassifier | MLPRegressor):
        return _own(model, x, y)
    if isinstance(model, SklearnMLPClassifier | SklearnMLPRegressor):
        weights, biases = model.coefs_, list(model.intercepts_)
        activation = model.activation
    elif isinstance(model, LogisticRegression | LinearModel) or (
        isinstance(model, SGDClassifier) and model.loss == "log_loss"
    ):
        coef = np.atleast_2d(model.coef_)
        weights, activation = [coef.T], "identity"
        biases = [np.broadcast_to(model.intercept_, coef.shape[0])] if model.fit_intercept else [None]
    else:
        raise UnsupportedError(
            f"{type(model).__name__} has no per-sample gradients that can be read; use a scikit-learn linear "
            "model or MLP, a torch module of linear layers, or the scoring model"
        )
    loss, target = _loss_and_target(model, weights[-1].shape[1], y)
    dense = Dense(
        [_tensor(weight) for weight in weights],
        [None if bias is None else _tensor(bias) for bias in biases],
        activation,
        loss,
    )
    return dense_factors(dense, _tensor(x), target)


def _loss_and_target(model: Any, outputs: int, y: Any) -> tuple[Loss, torch.Tensor]:
    if not hasattr(model, "classes_"):
        return "squared", _tensor(np.asarray(y, dtype=np.float64))
    codes = torch.as_tensor(np.searchsorted(model.classes_, np.asarray(y)))
    return ("logistic" if outputs == 1 else "softmax"), codes


def _own(model: MLPClassifier | MLPRegressor, x: np.ndarray[Any, Any], y: Any) -> Factors:
    inputs = _tensor((x - model.mean_) / model.scale_)
    if isinstance(model, MLPClassifier):
        codes = torch.as_tensor(np.searchsorted(model.classes_, np.asarray(y)))
        return network_factors(model.networks(torch.float64), inputs, codes, "classification")
    scaled = _tensor((np.asarray(y, dtype=np.float64) - model.centre_) / model.spread_)
    return network_factors(model.networks(torch.float64), inputs, scaled, "regression")


def _tensor(array: Any) -> torch.Tensor:
    return torch.tensor(np.asarray(array), dtype=torch.float64)
