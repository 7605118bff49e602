"""Clients at home: dealt their rows, trained as one program as they would be alone."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from anml.gradients.mlp import initialise
from anml.networks.mlp import LayerWidths, NetworkBatch, predict
from experiments.federated_clients import Clients, LocalTraining, mean_loss, predicted

pytestmark = pytest.mark.slow

SHAPE = LayerWidths(4, (5,), 3)
SHORT = LocalTraining(epochs=3, batch=8, lr=0.02)


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    x = rng.normal(size=(n, 4)) + 3 * np.eye(4)[y]
    return x, y, rng.integers(0, 4, n)


def start(seed=0):
    return initialise(SHAPE, [seed]).flat[0]


@pytest.fixture(scope="module")
def clients():
    return Clients.of(*rows(), SHAPE)


def test_rows_are_dealt_to_their_clients(clients):
    _, _, contributor = rows()
    assert clients.count == 4
    np.testing.assert_array_equal(clients.counts(), np.bincount(contributor))
    for client in range(4):
        mine = clients.data.rows[client][clients.data.weight[client] > 0]
        np.testing.assert_array_equal(np.sort(mine.numpy()), np.flatnonzero(contributor == client))


def test_all_together_are_each_alone():
    x, y, _ = rows()
    contributor = np.arange(60) // 3 % 4
    together = Clients.of(x, y, contributor, SHAPE).updates(start(), [1, 2, 3, 4], SHORT)
    for client in range(4):
        mine = contributor == client
        alone = Clients.of(x[mine], y[mine], np.zeros(mine.sum(), dtype=int), SHAPE)
        np.testing.assert_allclose(
            together[client], alone.updates(start(), [client + 1], SHORT)[0], rtol=1e-3, atol=1e-4
        )


def test_an_update_is_the_difference_to_where_each_began(clients):
    begin = torch.stack([start(seed) for seed in range(4)])
    own = clients.updates(begin, [7] * 4, SHORT)
    same = clients.updates(begin[2], [7] * 4, SHORT)
    np.testing.assert_allclose(own[2], same[2], rtol=1e-3, atol=1e-4)
    before = begin.clone()
    clients.updates(begin, [7] * 4, SHORT)
    assert torch.equal(begin, before)


def test_the_same_seeds_give_the_same_updates(clients):
    one, two, other = (clients.updates(start(), seeds, SHORT) for seeds in ([1] * 4, [1] * 4, [2] * 4))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_a_step_of_everybody_lowers_the_loss(clients):
    x, y, _ = rows()
    update = clients.updates(start(), [1] * 4, LocalTraining(epochs=20, lr=0.02)).mean(axis=0)
    models = torch.stack([start(), start() + torch.as_tensor(update)])
    before, after = mean_loss(SHAPE, models, x, y)
    assert after < before
    assert (predicted(SHAPE, models[1], x) == y).mean() > 0.7


def test_losses_and_classes_are_those_of_torch():
    x, y, _ = rows()
    models = torch.stack([start(0), start(1)])
    outputs = predict(NetworkBatch(SHAPE, models), torch.as_tensor(x, dtype=torch.float32))
    expected = [float(functional.cross_entropy(each, torch.as_tensor(y))) for each in outputs]
    np.testing.assert_allclose(mean_loss(SHAPE, models, x, y), expected, rtol=1e-5)
    np.testing.assert_array_equal(predicted(SHAPE, models[0], x), outputs[0].argmax(1).numpy())


def test_a_client_without_rows_changes_nothing():
    x, y, _ = rows(12)
    clients = Clients.of(x, y, np.where(np.arange(12) < 6, 0, 2), SHAPE)
    assert clients.counts().tolist() == [6, 0, 6]
    assert np.isfinite(clients.updates(start(), [1] * 3, SHORT)).all()
