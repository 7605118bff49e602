"""Factor products against explicit gradients from torch.func, for networks of every depth."""

from itertools import pairwise

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
from anml.gradients.factors import Dense, Factors, dense_factors, network_factors
from anml.gradients.mlp import Shape, initialise
from anml.gradients.modules import module_factors

SMALL_REGRESSOR = MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=9000, random_state=0)
HIDDEN = [(), (8,), (8, 6), (9, 7, 5)]


def explicit_gradients(module: nn.Module, x: torch.Tensor, y: torch.Tensor, loss) -> torch.Tensor:
    """Gradients formed one by one, in double precision."""
    params = {name: p.detach() for name, p in module.named_parameters()}

    def one(p, sample, target):
        out = torch.func.functional_call(module, p, (sample.unsqueeze(0),))
        return loss(out, target.unsqueeze(0))

    found = torch.func.vmap(torch.func.grad(one), in_dims=(None, 0, 0))(params, x, y)
    return torch.cat([g.flatten(1) for g in found.values()], dim=1)


def distances(factors: Factors) -> torch.Tensor:
    norms = factors.norms()
    return norms.unsqueeze(1) + norms - 2 * factors.products(factors)


def assert_same_distances(factors: Factors, gradients: torch.Tensor, tolerance: float) -> None:
    expected = torch.cdist(gradients.double(), gradients.double()).square()
    off = ~torch.eye(len(gradients), dtype=torch.bool)
    # Equal gradients are 0 apart up to what double precision loses of their lengths.
    nothing = 1e-11 * float(gradients.double().square().sum(dim=1).max().clamp_min(0.1))
    relative = (distances(factors).double() - expected)[off].abs() / expected[off].clamp_min(nothing)
    assert float(relative.max()) < tolerance


def stack(widths: list[int], activation=nn.ReLU) -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layers += [nn.Linear(fan_in, fan_out), activation()]
    return nn.Sequential(*layers[:-1])


def some_data(n: int = 30, d: int = 5, classes: int = 3):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(n, d)), dtype=torch.float32)
    return x, torch.tensor(rng.integers(0, classes, n)), torch.tensor(rng.normal(size=n), dtype=torch.float32)


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda h: f"{len(h) + 1} layers")
@pytest.mark.parametrize("task", ["classification", "regression"])
class TestOwnNetworks:
    def test_distances_equal_explicit_gradients(self, hidden, task):
        x, codes, values = some_data()
        outputs, y = (3, codes) if task == "classification" else (1, values)
        networks = initialise(Shape(5, hidden, outputs), [3])
        module = stack([5, *hidden, outputs])
        with torch.no_grad():
            linears = [layer for layer in module if isinstance(layer, nn.Linear)]
            for layer, (weight, bias) in zip(linears, networks.layers(), strict=True):
                layer.weight.copy_(weight[0].T)
                layer.bias.copy_(bias[0, 0])

        def squared(out, target):
            return (out[:, 0] - target).square().mean()

        loss = nn.functional.cross_entropy if task == "classification" else squared
        gradients = explicit_gradients(module.double(), x.double(), y if outputs == 3 else y.double(), loss)
        assert_same_distances(network_factors(networks, x, y, task), gradients, 1e-4)

    def test_a_users_module_is_read_from_its_layers(self, hidden, task):
        x, codes, values = some_data()
        outputs, y, loss = (3, codes, "softmax") if task == "classification" else (1, values, "squared")
        module = stack([5, *hidden, outputs], nn.Tanh)
        read = module_factors(module, x, y, loss)
        assert len(read.layers) == len(hidden) + 1
        formed = module_factors(nn.Sequential(module, _Scale()), x, y, loss)
        torch.testing.assert_close(distances(read), distances(formed), rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(read.loss, formed.loss)


class _Scale(nn.Module):
    """A parameter that is not a linear layer's, whose own gradient is nothing: it forces torch.func."""

    def __init__(self):
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + 0 * self.nothing


class TestModules:
    def test_convolutions_go_through_torch_func(self):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 6 * 6, 3))
        x, y = torch.randn(10, 1, 8, 8), torch.arange(10) % 3
        factors = module_factors(module, x, y, "softmax")
        gradients = explicit_gradients(module, x, y, nn.functional.cross_entropy)
        torch.testing.assert_close(factors.norms(), gradients.square().sum(1))

    def test_too_large_for_memory_is_one_clear_sentence(self):
        module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 3))
        with pytest.raises(UnsupportedError, match=r"Conv2d.*10 samples x 239 parameters.*limit"):
            module_factors(module, torch.randn(10, 1, 8, 8), torch.arange(10) % 3, "softmax", limit_bytes=100)

    def test_a_layer_used_twice_is_not_read_from_factors(self):
        torch.manual_seed(0)
        layer = nn.Linear(4, 4)
        module = nn.Sequential(layer, nn.ReLU(), layer)
        x, y = torch.randn(8, 4), torch.arange(8) % 4
        factors = module_factors(module, x, y, "softmax")
        gradients = explicit_gradients(module, x, y, nn.functional.cross_entropy)
        torch.testing.assert_close(factors.norms(), gradients.square().sum(1))

    def test_no_parameters(self):
        with pytest.raises(UnsupportedError, match="no trainable parameters"):
            module_factors(nn.ReLU(), torch.randn(3, 2), torch.tensor([0, 1, 0]), "softmax")

    def test_module_is_left_as_it_was(self):
        module = stack([5, 4, 3]).train()
        before = [p.clone() for p in module.parameters()]
        x, y, _ = some_data()
        module_factors(module, x, y, "softmax")
        assert module.training
        assert all(p.grad is None for p in module.parameters())
        assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))

    def test_binary_module_with_one_output(self):
        module, (x, _, _) = stack([5, 4, 1]), some_data()
        y = (torch.arange(30) % 2).float()
        factors = module_factors(module, x, y, "logistic")

        def bce(out, target):
            return nn.functional.binary_cross_entropy_with_logits(out[:, 0], target)

        assert_same_distances(factors, explicit_gradients(module, x, y, bce), 1e-3)


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
