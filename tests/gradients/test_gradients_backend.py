"""Numpy and torch train, differentiate and score the same small networks, from equal weights."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from anml.core.profile import Profile
from anml.gradients import mlp as torch_mlp
from anml.gradients import sample_krum_torch as torch_krum
from anml.gradients.backend import torch_backend
from anml.networks import factors, mlp
from anml.networks import sample_krum as krum
from anml.networks.backend import NUMPY
from anml.networks.mlp import LayerWidths
from anml.networks.scoring import score

# As exact as double precision allows over these few operations.
TOLERANCE = {"rtol": 1e-6, "atol": 1e-6}
SHAPES = [((), 1), ((8,), 3), ((8, 6), 2), ((9, 7, 5), 4)]


def drawn(n, outputs, task):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 5))
    y = rng.integers(0, outputs, n) if task == "classification" else rng.normal(size=n)
    return x, y, rng.uniform(size=(2, n))


def both(shape):
    """Two networks with equal weights in double precision, on numpy and on torch."""
    flat = mlp.initialise(shape, [3, 4]).flat.astype(np.float64)
    return mlp.NetworkBatch(shape, flat), mlp.NetworkBatch(shape, torch.from_numpy(flat.copy()))


@pytest.mark.parametrize("seed", [0, 1, 123_456, 2**32 - 1])
def test_a_seed_starts_the_network_that_torch_would_start(seed):
    shape = LayerWidths(7, (20, 5), 3)
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for fan_in, fan_out in shape.layers:
        bound = (6 / (fan_in + fan_out)) ** 0.5
        parts.append(torch.rand((fan_in + 1) * fan_out, generator=generator) * (2 * bound) - bound)
    np.testing.assert_allclose(mlp.initialise(shape, [seed]).flat[0], torch.cat(parts).numpy(), atol=1e-7)
    np.testing.assert_array_equal(
        mlp.initialise(shape, [seed]).flat, torch_mlp.initialise(shape, [seed]).flat.numpy()
    )


@pytest.mark.parametrize(("hidden", "outputs"), SHAPES)
@pytest.mark.parametrize("task", ["classification", "regression"])
class TestAgreement:
    def test_one_training_step(self, hidden, outputs, task):
        outputs = outputs if task == "classification" else 1
        x, y, weight = drawn(40, outputs, task)
        ours, theirs = both(LayerWidths(5, hidden, outputs))
        mlp.train(ours, mlp.TrainingData.shared(x, y, weight), task, [3, 4], epochs=1)
        data = mlp.TrainingData.shared(*map(torch.from_numpy, (x, y, weight)))
        mlp.train(theirs, data, task, [3, 4], epochs=1)
        np.testing.assert_allclose(ours.flat, theirs.flat.numpy(), **TOLERANCE)

    def test_many_steps_in_batches(self, hidden, outputs, task):
        outputs = outputs if task == "classification" else 1
        x, y, weight = drawn(40, outputs, task)
        ours, theirs = both(LayerWidths(5, hidden, outputs))
        mlp.train(ours, mlp.TrainingData.shared(x, y, weight), task, [3, 4], epochs=10, batch=16)
        data = mlp.TrainingData.shared(*map(torch.from_numpy, (x, y, weight)))
        mlp.train(theirs, data, task, [3, 4], epochs=10, batch=16)
        np.testing.assert_allclose(ours.flat, theirs.flat.numpy(), **TOLERANCE)

    def test_factors_losses_and_krum_scores(self, hidden, outputs, task):
        outputs = outputs if task == "classification" else 1
        x, y, _ = drawn(60, outputs, task)
        ours, theirs = both(LayerWidths(5, hidden, outputs))
        mine = factors.network_factors(ours.pick([0]), x, y, task)
        other = factors.network_factors(theirs.pick([0]), torch.from_numpy(x), torch.from_numpy(y), task)
        for layer, expected in zip(mine.layers, other.layers, strict=True):
            np.testing.assert_allclose(layer.a, expected.a.numpy(), **TOLERANCE)
            np.testing.assert_allclose(layer.d, expected.d.numpy(), **TOLERANCE)
        np.testing.assert_allclose(mine.loss, other.loss.numpy(), **TOLERANCE)
        np.testing.assert_allclose(mine.norms(), other.norms().numpy(), **TOLERANCE)
        for references in (None, 20):
            np.testing.assert_allclose(
                krum.krum_scores(mine, 10, references, 1),
                torch_krum.krum_scores(other, 10, references, 1),
                **TOLERANCE,
            )


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("profile", [Profile(), Profile(epochs=30, method="norm")], ids=["krum", "norm"])
def test_scores_of_a_table_agree(task, profile):
    """In single precision, from start to end: the networks are equal, but for rounding."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(120, 4))
    y = (x[:, 0] + x[:, 1] > 0).astype(np.int64) if task == "classification" else x[:, 0] - x[:, 1]
    short = replace(profile, max_epochs=30, folds=3)
    ours, theirs = (
        score(x, y, task, classes=2, profile=short, backend=backend) for backend in (NUMPY, torch_backend())
    )
    assert ours.epochs == theirs.epochs
    np.testing.assert_allclose(ours.held_out, theirs.held_out, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.raw, theirs.raw, rtol=1e-2, atol=1e-4)


def test_the_backend_keeps_data_and_networks_on_its_device():
    backend = torch_backend("cpu")
    x, y = backend.as_data(np.ones((3, 2)), np.array([0, 1, 1]))
    assert (x.device.type, x.dtype, y.dtype) == ("cpu", torch.float32, torch.long)
    assert backend.initialise(LayerWidths(2, (), 2), [0]).flat.device.type == "cpu"
    data = mlp.TrainingData.shared(x, y, np.ones((1, 3), dtype=np.float32))
    assert data.weight.device.type == "cpu"
    assert mlp.to_numpy(x).dtype == np.float64
    assert pickle.loads(pickle.dumps(backend)).name == backend.name == "torch on cpu"
