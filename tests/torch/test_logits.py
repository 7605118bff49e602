"""Weights in a loss that somebody else computes: through logits, and only where that is right."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from anml.core.errors import UnsupportedError
from anml.torch.logits import Logits, logits_in

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
Y = torch.tensor([0, 1, 2, 0, 1, 2])
W = torch.tensor([2.0, 0.0, 1.0, 0.5, 1.0, 3.0])


class Net(nn.Module):
    """A classifier that computes its own loss, as Hugging Face's do."""

    def __init__(self, loss=nn.functional.cross_entropy, dtype=None):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.head, self.loss, self.kind = nn.Linear(4, 5), nn.Linear(5, 3), loss, dtype

    def forward(self, x):
        logits = self.head(torch.tanh(self.first(x)))
        loss = self.loss(logits, Y[: len(x)])
        return {"loss": loss, "logits": logits if self.kind is None else logits.to(self.kind)}


def gradients(loss, module):
    return torch.autograd.grad(loss, list(module.parameters()))


@pytest.mark.parametrize("kind", [None, torch.float64], ids=["as they are", "copied in another precision"])
def test_a_weight_is_a_factor_of_its_samples_loss(kind):
    module = Net(dtype=kind)
    logits = Logits(module)
    with logits.weighed(W):
        loss = module(X)["loss"]
    result = gradients(loss, module)
    assert logits.used == 1
    each = nn.functional.cross_entropy(module.head(torch.tanh(module.first(X))), Y, reduction="none")
    for one, other in zip(result, gradients((each * W).mean(), module), strict=True):
        torch.testing.assert_close(one, other)


def test_outside_of_the_block_nothing_is_weighed():
    module = Net()
    plain = gradients(module(X)["loss"], module)
    logits = Logits(module)
    with logits.weighed(torch.ones(6)):
        ones = gradients(module(X)["loss"], module)
    again = gradients(module(X)["loss"], module)
    assert all(torch.equal(a, b) and torch.equal(a, c) for a, b, c in zip(plain, ones, again, strict=True))
    assert logits.used == 1


def checked(loss, rows=6, **outputs):
    module = Net(loss)
    logits = Logits(module)

    def run():
        result = module(X[:rows])
        return result["loss"], SimpleNamespace(**result, **outputs)

    logits.check(module, run, rows)
    return logits


class TestCheck:
    def test_sums_over_samples_pass(self):
        for loss in (
            nn.functional.cross_entropy,
            lambda z, y: nn.functional.cross_entropy(z, y, label_smoothing=0.1, reduction="sum") / 7,
            lambda z, y: nn.functional.cross_entropy(z, y, weight=torch.tensor([1.0, 2.0, 3.0])),
            lambda z, y: z.mean(),
        ):
            assert checked(loss).checked == 2

    def test_a_loss_that_compares_samples_does_not(self):
        def contrastive(z, y):
            return nn.functional.cross_entropy(z @ z.T, torch.arange(len(z)))

        def neighbours(z, y):
            return -nn.functional.logsigmoid(z[::2, 0] - z[1::2, 0]).mean()

        for loss in (contrastive, neighbours):
            with pytest.raises(UnsupportedError, match="the loss of Net compares samples with each other"):
                checked(loss, rows=4)

    def test_one_sample_shows_nothing_so_several_are_looked_at_when_they_come(self):
        def contrastive(z, y):
            return nn.functional.cross_entropy(z @ z.T, torch.arange(len(z)))

        assert checked(contrastive, rows=1).checked == 1

    def test_a_loss_past_the_logits_does_not(self):
        module = Net(lambda z, y: nn.functional.cross_entropy(z, y) + module.first.weight.square().sum())
        logits = Logits(module)
        with pytest.raises(UnsupportedError, match="reaches its parameters past its logits"):
            logits.check(module, lambda: (module(X)["loss"], None), 6)

    def test_but_that_of_routers_may(self):
        module = Net(lambda z, y: nn.functional.cross_entropy(z, y) + module.first.weight.square().sum())
        logits = Logits(module)
        logits.check(module, lambda: (module(X)["loss"], SimpleNamespace(aux_loss=1.0)), 6)
        assert logits.checked == 2

    def test_logits_that_the_loss_does_not_come_from(self):
        with pytest.raises(UnsupportedError, match="does not come from logits that it returns"):
            checked(lambda z, y: (z.detach() * 1.0).sum().requires_grad_())

    def test_packed_batches(self):
        module = Net()
        with (
            pytest.raises(UnsupportedError, match="gives logits of 6 for a batch of 2 samples"),
            Logits(module).weighed(torch.ones(2)),
        ):
            module(X)

    def test_random_numbers_and_modes_stay(self):
        torch.manual_seed(3)
        before = torch.random.get_rng_state()
        module = Net()
        torch.random.set_rng_state(before)
        module.train()
        logits = Logits(module)
        logits.check(module, lambda: (module(X)["loss"] * torch.rand(()), None), 6)
        assert torch.equal(torch.random.get_rng_state(), before)
        assert module.training


def test_logits_go_by_name_or_stand_beside_the_loss():
    z = torch.ones(2, 3, requires_grad=True)
    assert logits_in(z) == [z]
    assert logits_in({"loss": z.sum(), "start_logits": z, "end_logits": z, "hidden": z}) == [z, z]
    assert logits_in((z.sum(), z, z)) == [z]
    assert logits_in({"logits": None, "router_logits": z}) == []
