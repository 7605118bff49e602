"""Factor products against explicit gradients from torch.func, for networks of every depth."""

import numpy as np
import pytest
import torch
from torch import nn

from anml.gradients.factors import LayerFactor, formed_part, materialised_factors
from anml.gradients.mlp import initialise
from anml.networks.factors import network_factors
from anml.networks.mlp import LayerWidths
from formed_gradients import assert_same_distances, distances, explicit_gradients, module_factors, stack

HIDDEN = [(), (8,), (8, 6), (9, 7, 5)]


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
        networks = initialise(LayerWidths(5, hidden, outputs), [3])
        module = stack([5, *hidden, outputs])
        with torch.no_grad():
            linears = [layer for layer in module if isinstance(layer, nn.Linear)]
            for layer, (weight, bias) in zip(linears, networks.layers, strict=True):
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


class TestLayerFactor:
    def test_by_hand(self):
        # Input (1, 2), delta 3: gradients (3, 6) and 3 for the bias; squares sum to 9 + 36 + 9.
        part = LayerFactor(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0]]))
        assert part.formed().tolist() == [[3, 6, 3]]
        assert part.norms().tolist() == [54]
        assert part.products(part).tolist() == [[54]]

    @pytest.mark.parametrize("bias", [True, False])
    def test_products_are_those_of_formed_gradients(self, bias):
        generator = torch.Generator().manual_seed(0)
        part = LayerFactor(
            torch.randn(5, 3, generator=generator), torch.randn(5, 2, generator=generator), bias
        )
        whole = part.formed()
        torch.testing.assert_close(part.products(part), whole @ whole.T)
        torch.testing.assert_close(part.norms(), whole.square().sum(1))
        torch.testing.assert_close(part.take(slice(1, 3)).formed(), whole[1:3])
        torch.testing.assert_close(part.take(slice(0, 2)).joined([part.take(slice(2, 5))]).formed(), whole)

    def test_formed_gradients_are_a_layer_with_delta_one(self):
        gradients = torch.arange(6.0).reshape(2, 3)
        assert torch.equal(formed_part(gradients).formed(), gradients)
        result = materialised_factors(gradients, torch.zeros(2))
        torch.testing.assert_close(result.products(result), gradients @ gradients.T)
