"""Training a module with weights: a row of weight zero teaches nothing, and the same seed gives the same."""

import numpy as np
import pytest
import torch
from torch import nn

from experiments.modules.run import FOLDS, held_out, new_module, predicted, train
from experiments.seen import MethodInput

pytestmark = pytest.mark.slow


def make() -> nn.Module:
    return nn.Linear(2, 2)


def rows(n: int = 64):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return torch.as_tensor(rng.normal(size=(n, 2)) + 3 * y[:, None], dtype=torch.float32), y


def test_a_module_of_a_seed_is_the_same_and_leaves_randomness_alone():
    torch.manual_seed(7)
    before = torch.rand(1)
    torch.manual_seed(7)
    one, two, other = new_module(make, 3), new_module(make, 3), new_module(make, 4)
    assert torch.rand(1) == before
    assert torch.equal(one.weight, two.weight)
    assert not torch.equal(one.weight, other.weight)


def test_training_is_the_same_for_the_same_seed_and_learns():
    x, y = rows()
    one, two = (train(new_module(make, 0), x, y, np.ones(64), 5, 12) for _ in range(2))
    assert torch.equal(one.weight, two.weight)
    before = predicted(new_module(make, 0), x)[np.arange(64), y]
    assert np.log(predicted(one, x)[np.arange(64), y]).mean() > np.log(before).mean()


def test_rows_without_weight_teach_nothing():
    x, y = rows()
    wrong = np.where(np.arange(64) < 20, 1 - y, y)
    weight = (np.arange(64) >= 20).astype(float)
    without = train(new_module(make, 0), x, wrong, weight, 5, 3)
    other = train(new_module(make, 0), x, np.where(np.arange(64) < 20, 0, wrong), weight, 5, 3)
    assert torch.equal(without.weight, other.weight)
    untouched = train(new_module(make, 0), x, y, np.zeros(64), 5, 3)
    assert torch.equal(untouched.weight, new_module(make, 0).weight)


def test_the_callback_gets_the_number_of_each_epoch():
    x, y = rows()
    epochs = []
    train(new_module(make, 0), x, y, np.ones(64), 5, 3, epochs.append)
    assert epochs == [1, 2, 3]


def test_probabilities_sum_to_one():
    x, _ = rows()
    assert predicted(make(), x).sum(axis=1) == pytest.approx(np.ones(64))


def test_held_out_rows_were_not_seen():
    """A row with a label that nothing in it tells is guessed by modules that did not see it."""
    x = torch.eye(60)
    y = np.random.default_rng(1).integers(0, 2, 60)
    result = held_out(lambda: nn.Linear(60, 2), MethodInput(x, y, 2))
    assert result.shape == (60, 2)
    assert result.sum(axis=1) == pytest.approx(np.ones(60))
    assert (result.argmax(axis=1) == y).mean() < 0.75
    assert FOLDS > 1
