"""For PyTorch users: quality by their own module, a weighted sampler, a weighted loss."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import anml
from anml.adapters.torch import WeightedSampler, module_quality, weighted_loss
from anml.core.errors import InputError


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
    seen = torch.cat([batch for _, batch in loader])
    assert len(seen) == weighting.kept.sum()
    each = nn.functional.cross_entropy(module(x), labels, reduction="none")
    assert weighted_loss(each, weighting.sample_weight()) < each.mean()


class TestSampler:
    weighting = anml.weigh(np.linspace(0.1, 1, 20), recipe="krum")

    def test_epochs_differ_and_repeat(self):
        sampler = WeightedSampler(self.weighting, seed=1)
        first, again = list(sampler), list(sampler)
        sampler.set_epoch(1)
        assert first == again != list(sampler)

    def test_never_draws_what_is_not_kept(self):
        assert set(WeightedSampler(self.weighting, size=5000)) == set(np.flatnonzero(self.weighting.kept))

    def test_replicas_share_one_set_of_draws_evenly(self):
        whole = list(WeightedSampler(self.weighting, size=101))
        parts = [list(WeightedSampler(self.weighting, size=101, rank=rank, replicas=4)) for rank in range(4)]
        assert [len(part) for part in parts] == [25] * 4
        assert sorted(row for part in parts for row in part) == sorted(whole[:100])

    def test_bad_rank(self):
        with pytest.raises(InputError, match=r"rank must lie in \[0, 1\], got 2"):
            WeightedSampler(self.weighting, rank=2, replicas=2)


class TestLoss:
    def test_equal_weights_are_the_plain_mean(self):
        each = torch.tensor([1.0, 2.0, 6.0])
        assert weighted_loss(each, [5.0, 5.0, 5.0]) == pytest.approx(3.0)

    def test_gradient_follows_the_weights(self):
        each = torch.tensor([1.0, 2.0], requires_grad=True)
        weighted_loss(each, [3.0, 1.0]).backward()
        torch.testing.assert_close(each.grad, torch.tensor([0.75, 0.25]))

    def test_all_zero_is_zero_not_nan(self):
        assert weighted_loss(torch.tensor([1.0, 2.0]), [0.0, 0.0]) == 0

    def test_reduced_loss_is_refused(self):
        with pytest.raises(InputError, match='reduction="none"'):
            weighted_loss(torch.tensor(1.0), [1.0, 1.0])


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (torch.ones(4, 3), torch.zeros(3).long(), "of the same length, at least 1, got 4 and 3"),
        (torch.ones(0, 3), torch.zeros(0).long(), "of the same length, at least 1, got 0 and 0"),
        (torch.ones(4, 3), torch.zeros(4), "y must hold classes as whole numbers for the softmax loss"),
    ],
    ids=["lengths", "nothing", "numbers"],
)
def test_samples_that_do_not_fit_are_refused(x, y, said):
    with pytest.raises(InputError, match=said):
        module_quality(nn.Linear(3, 2), x, y)


def test_a_sampler_takes_a_weighting_and_a_seed():
    with pytest.raises(InputError, match=r"what anml\.weigh returns or a Reweigher, got list"):
        WeightedSampler([1.0, 2.0])
    for seed in (-1, 0.5):
        with pytest.raises(InputError, match="seed must"):
            WeightedSampler(TestSampler.weighting, seed=seed)
