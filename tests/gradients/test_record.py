"""One pass over a module: what its layers saw, gathered by parameter, and the module as it was."""

import pytest
import torch
from torch import nn

from anml.gradients.record import UnsupportedLayer, record_gradients, unsupported_layers


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def recorded(module, x, y, last=None):
    module.eval()
    return record_gradients(module, lambda: module(x), y, "softmax", len(x), last)


def slow(module, x, y):
    """Gradients by parameter, one sample at a time."""
    named = dict(module.named_parameters())
    rows = []
    for at in range(len(x)):
        loss = nn.functional.cross_entropy(module(x[at : at + 1]), y[at : at + 1])
        rows.append(torch.autograd.grad(loss, list(named.values()), allow_unused=True))
    return {
        name: torch.stack([torch.zeros(p.numel()) if row[at] is None else row[at].flatten() for row in rows])
        for at, (name, p) in enumerate(named.items())
    }


def by_parameter(module, covered):
    names = {id(p): name for name, p in module.named_parameters()}
    result = {}
    for parameters, part in covered:
        pieces = part.formed().split([p.numel() for p in parameters], dim=1)
        for p, piece in zip(parameters, pieces, strict=True):
            assert names[id(p)] not in result
            result[names[id(p)]] = piece
    return result


X, Y = normal(6, 4), torch.arange(6) % 3


class Twice(nn.Module):
    """One layer used twice, and one whose output goes nowhere."""

    def __init__(self):
        super().__init__()
        self.same, self.head, self.aside = nn.Linear(4, 4), nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, x):
        self.aside(x)
        return self.head(torch.tanh(self.same(torch.tanh(self.same(x)))))


def test_every_parameter_is_covered_once():
    module = nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 3))
    covered, losses = recorded(module, X, Y)
    result, wanted = by_parameter(module, covered), slow(module, X, Y)
    assert result.keys() == wanted.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(result[name], gradient)
    torch.testing.assert_close(losses, nn.functional.cross_entropy(module(X), Y, reduction="none").detach())


def test_a_layer_used_twice_has_the_sum_and_one_used_for_nothing_none():
    torch.manual_seed(0)
    module = Twice()
    result = by_parameter(module, recorded(module, X, Y)[0])
    wanted = slow(module, X, Y)
    assert "aside.weight" not in result
    for name, gradient in result.items():
        torch.testing.assert_close(gradient, wanted[name])


def test_tied_weights_have_the_sum_of_both_uses():
    torch.manual_seed(0)
    one, two = nn.Linear(4, 4), nn.Linear(4, 4, bias=False)
    two.weight = one.weight
    module = nn.Sequential(one, nn.Tanh(), two, nn.Linear(4, 3))
    result, wanted = by_parameter(module, recorded(module, X, Y)[0]), slow(module, X, Y)
    torch.testing.assert_close(result["0.weight"], wanted["0.weight"])


@pytest.mark.parametrize(
    ("last", "names"), [(1, {"2.weight", "2.bias"}), (2, {"0.weight", "0.bias", "2.weight", "2.bias"})]
)
def test_the_last_layers_alone(last, names):
    module = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    assert set(by_parameter(module, recorded(module, X, Y, last)[0])) == names


def test_frozen_layers_are_passed_over():
    module = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    module[0].requires_grad_(False)
    assert set(by_parameter(module, recorded(module, X, Y)[0])) == {"2.weight", "2.bias"}


def test_nothing_is_left_behind():
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))
    before = {name: p.clone() for name, p in module.named_parameters()}

    def run():
        # Samples are not in the first place any more.
        return module[1](module[0](X).unsqueeze(0)).squeeze(0)

    with pytest.raises(UnsupportedLayer):
        record_gradients(module, run, Y, "softmax", 6)
    assert not any(layer._forward_hooks for layer in module.modules())
    assert all(torch.equal(p, before[name]) for name, p in module.named_parameters())
    assert all(p.grad is None for p in module.parameters())


@pytest.mark.parametrize("shape", [(1, 4), (4,)])
def test_a_table_looked_up_once_for_all_samples_counts_for_each(shape):
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.where, self.head = nn.Embedding(4, 3), nn.Linear(3, 3)

        def forward(self, x):
            return self.head((self.where(torch.arange(4).view(shape)) * x.unsqueeze(2)).mean(1))

    torch.manual_seed(0)
    module = Positions()
    result, wanted = by_parameter(module, recorded(module, X, Y)[0]), slow(module, X, Y)
    torch.testing.assert_close(result["where.weight"], wanted["where.weight"])


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.Linear(2, 2), []),
        (nn.Sequential(nn.LSTM(2, 2), nn.Bilinear(2, 2, 2)), ["Bilinear", "LSTM"]),
        (nn.LSTM(2, 2).requires_grad_(False), []),
        (nn.MultiheadAttention(4, 2), ["MultiheadAttention"]),
        (nn.PReLU(), ["PReLU"]),
    ],
    ids=["linear", "two kinds", "frozen", "attention", "slope"],
)
def test_kinds_that_no_rule_reads_are_named(module, expected):
    result = unsupported_layers(module)
    assert result[: len(expected)] == expected
    assert bool(result) == bool(expected)


def test_a_module_without_a_readable_layer_is_unreadable():
    with pytest.raises(UnsupportedLayer):
        recorded(nn.Sequential(nn.PReLU(), nn.Flatten()), X[:, :3], Y)


def test_samples_along_another_dimension_are_unreadable():
    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(6, 6)

        def forward(self, x):
            return self.one(x.T).T[:, :3]

    with pytest.raises(UnsupportedLayer):
        recorded(Turned(), X, Y)
