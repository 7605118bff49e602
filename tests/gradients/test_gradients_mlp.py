"""B networks as one program: against autograd and torch's own Adam, alone and in company."""

import numpy as np
import pytest
import torch
from torch import nn

from anml.gradients.mlp import initialise
from anml.networks.mlp import LayerWidths, TrainingData, losses, predict, train


def some_data(n=40, d=5, classes=3):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(n, d)), dtype=torch.float32)
    return x, torch.tensor(rng.integers(0, classes, n)), torch.tensor(rng.normal(size=n), dtype=torch.float32)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_autograd_with_torchs_adam(task, weighted):
    x, codes, values = some_data()
    outputs, y = (3, codes) if task == "classification" else (1, values)
    weight = torch.rand(1, 40, generator=torch.Generator().manual_seed(1)) if weighted else torch.ones(1, 40)
    networks = initialise(LayerWidths(5, (8, 6), outputs), [7])
    layers: list[nn.Module] = []
    for w, b in networks.layers:
        layer = nn.Linear(w.shape[1], w.shape[2])
        layer.weight.data, layer.bias.data = w[0].T.clone(), b[0, 0].clone()
        layers += [layer, nn.ReLU()]
    module = nn.Sequential(*layers[:-1])
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-2)
    for _ in range(25):
        optimiser.zero_grad()
        out = module(x)
        if task == "classification":
            each = nn.functional.cross_entropy(out, y, reduction="none")
        else:
            each = (out[:, 0] - y).square()
        ((each * weight[0]).sum() / weight.sum()).backward()
        optimiser.step()
    train(networks, TrainingData.shared(x, y, weight), task, [7], epochs=25, lr=1e-2)
    torch.testing.assert_close(predict(networks, x)[0], module(x).detach(), rtol=1e-3, atol=1e-4)


def test_a_network_does_not_depend_on_its_company():
    x, y, _ = some_data(50)
    weight = (torch.rand(3, 50, generator=torch.Generator().manual_seed(0)) > 0.3).float()
    weight[:, :35] = 1.0
    weight[:, 35:] = 0.0
    together = initialise(LayerWidths(5, (8,), 3), [1, 2, 3])
    train(together, TrainingData.shared(x, y, weight), "classification", [1, 2, 3], epochs=5, batch=16)
    alone = initialise(LayerWidths(5, (8,), 3), [2])
    train(alone, TrainingData.shared(x, y, weight[1:2]), "classification", [2], epochs=5, batch=16)
    torch.testing.assert_close(together.flat[1:2], alone.flat, rtol=1e-5, atol=1e-6)


def test_zero_one_weights_are_subsets():
    x, y, _ = some_data(40)
    weight = torch.zeros(1, 40)
    weight[0, ::2] = 1.0
    masked, subset = (initialise(LayerWidths(5, (8,), 3), [4]) for _ in range(2))
    train(masked, TrainingData.shared(x, y, weight), "classification", [4], epochs=5, batch=8)
    train(
        subset,
        TrainingData.shared(x[::2], y[::2], torch.ones(1, 20)),
        "classification",
        [4],
        epochs=5,
        batch=8,
    )
    torch.testing.assert_close(masked.flat, subset.flat)


def test_training_stops_when_told():
    x, y, _ = some_data()
    calls = []
    networks = initialise(LayerWidths(5, (), 3), [0])
    train(
        networks, TrainingData.shared(x, y, torch.ones(1, 40)), "classification", [0], epochs=50,
        on_epoch=lambda epoch: calls.append(epoch) or epoch == 3,
    )  # fmt: skip
    assert calls == [1, 2, 3]


def test_losses_by_hand():
    outputs = torch.tensor([[[0.0, 0.0], [np.log(3.0), 0.0]]], dtype=torch.float32)
    result = losses(outputs, torch.tensor([[0, 1]]), "classification")
    torch.testing.assert_close(result, torch.tensor([[np.log(2.0), np.log(4.0)]], dtype=torch.float32))
    result = losses(torch.tensor([[[1.0], [2.0]]]), torch.tensor([[3.0, 2.0]]), "regression")
    torch.testing.assert_close(result, torch.tensor([[4.0, 0.0]]))
