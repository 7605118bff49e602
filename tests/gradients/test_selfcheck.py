"""Self-check of layer gradients against torch, for each parameter on samples with a gradient."""

import pytest
import torch
from torch import nn

from anml.gradients.batches import Batch, GradientSettings
from anml.gradients.factors import formed_part
from anml.gradients.modules import exact_factors
from anml.gradients.record import Covered, UnsupportedLayer, record_gradients
from anml.gradients.selfcheck import SelfCheck
from formed_gradients import explicit_gradients

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
Y = torch.arange(8) % 3


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).eval()


def covered_of(module, x=X, y=Y):
    return record_gradients(module, lambda: module(x), y, "softmax", len(x))[0]


def losses(module, rows):
    return nn.functional.cross_entropy(module(X[rows]), Y[rows], reduction="none")


def test_right_gradients_pass_and_are_asked_for_once():
    module = net()
    covered, check = covered_of(module), SelfCheck(module, None, False)
    rows = check.rows(covered)
    assert rows
    assert check.same(covered, rows, losses(module, rows))
    assert check.rows(covered) == []


def test_gradients_given_to_the_wrong_samples_do_not_pass():
    module = net()
    check = SelfCheck(module, None, False)
    swapped = [Covered(p, part.take(torch.arange(7, -1, -1))) for p, part in covered_of(module)]
    rows = check.rows(swapped)
    assert not check.same(swapped, rows, losses(module, rows))


@pytest.mark.parametrize("case", range(4))
def test_one_parameter_that_is_off_is_enough(case):
    module = net()
    check = SelfCheck(module, None, False)
    off = []
    for parameters, part in covered_of(module):
        pieces = part.formed().split([p.numel() for p in parameters], dim=1)
        off += [Covered((p,), formed_part(g)) for p, g in zip(parameters, pieces, strict=True)]
    off[case] = Covered(off[case].parameters, formed_part(1.03 * off[case].part.formed()))
    rows = check.rows(off)
    assert not check.same(off, rows, losses(module, rows))


def test_a_sample_without_a_gradient_is_not_asked():
    module = net()
    covered = covered_of(module)
    silent = [Covered(p, formed_part(part.formed() * (torch.arange(8) == 5)[:, None])) for p, part in covered]
    assert SelfCheck(module, None, False).rows(silent) == [5]
    nothing = [Covered(p, formed_part(torch.zeros_like(part.formed()))) for p, part in covered]
    assert SelfCheck(module, None, False).rows(nothing) == []


class Sneaky(nn.Module):
    """A weight is used past its layer, for samples of one kind only; the first sample is of the other."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        odd = (x[:, :1] > 0.0).float()
        return self.head(torch.tanh(self.layer(x))) + odd * (x @ self.layer.weight.T)[:, :3]


def sorted_by_kind():
    order = X[:, 0].argsort()
    return X[order], Y[order]


def test_what_only_some_samples_do_is_noticed_in_the_first_batch():
    x, y = sorted_by_kind()
    module = Sneaky()
    result = exact_factors(module, [Batch(x, y)], GradientSettings(), 8)
    exact = explicit_gradients(module, x, y, nn.functional.cross_entropy)
    torch.testing.assert_close(result.norms(), exact.square().sum(1), rtol=1e-4, atol=1e-6)


class Silent(nn.Module):
    """A branch that is closed for the first batch."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.head, self.late = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        opened = (x[:, :1] > 0.0).float()
        return self.head(x) + opened * (self.late(x) + x @ self.late.weight.T)


def test_what_opens_later_is_asked_for_later():
    x, y = sorted_by_kind()
    closed = int((x[:, 0] <= 0).sum())
    batches = [Batch(x[:closed], y[:closed]), Batch(x[closed:], y[closed:])]
    with pytest.raises(UnsupportedLayer):
        exact_factors(Silent(), batches, GradientSettings(), 8)
    module = Silent()
    result = exact_factors(module, batches, GradientSettings(from_layers=False), 8)
    exact = explicit_gradients(module, x, y, nn.functional.cross_entropy)
    torch.testing.assert_close(result.norms(), exact.square().sum(1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "within"), [(torch.float32, 1e-3), (torch.bfloat16, 0.1), (torch.float16, 0.05)]
)
def test_how_far_off_is_allowed_goes_by_precision(kind, within):
    assert SelfCheck(net().to(kind), None, False).same_within == within
    assert SelfCheck(net(), None if kind == torch.float32 else kind, False).same_within == within
