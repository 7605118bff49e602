"""For PyTorch users: quality by their own module, a weighted sampler, a weighted loss."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import anml
from anml.core.errors import InputError
from anml.torch import WeightedSampler, module_quality, weighted_loss


def test_a_training_loop_with_the_users_own_module():
    x, y = load_wine(return_X_y=True)
    x = torch.tensor((x - x.mean(0)) / x.std(0), dtype=torch.float32)
    bad = torch.tensor(np.random.default_rng(0).uniform(size=len(y)) < 0.3)
    labels = torch.where(bad, (torch.tensor(y) + 1) % 3, torch.tensor(y))
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, 3))
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(30):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(x), labels).backward()
        optimiser.step()
    weighting = anml.weigh(module_quality(module, x, labels), recipe="krum")
    assert bad[weighting.kept].float().mean() < 0.1
    loader = DataLoader(TensorDataset(x, labels), batch_size=16, sampler=WeightedSampler(weighting))
    inputs = torch.cat([batch for _, batch in loader])
    assert len(inputs) == weighting.kept.sum()
    each = nn.functional.cross_entropy(module(x), labels, reduction="none")
    assert weighted_loss(each, weighting.sample_weight()) < each.mean()


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (torch.ones(4, 3), torch.zeros(3).long(), "of the same length, at least 1, got 4 and 3"),
        (torch.ones(0, 3), torch.zeros(0).long(), "of the same length, at least 1, got 0 and 0"),
        (torch.ones(4, 3), torch.zeros(4), "y must hold classes as whole numbers for the softmax loss"),
    ],
    ids=["lengths", "nothing", "numbers"],
)
def test_samples_that_do_not_fit_are_refused(x, y, message):
    with pytest.raises(InputError, match=message):
        module_quality(nn.Linear(3, 2), x, y)
