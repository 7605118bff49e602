"""Gradient rules: one property for every layer with a rule."""

import pytest
import torch
from layer_checks import assert_reads, formed, made, normal
from torch import nn

from anml.gradients.layers.rules import LAYERS, is_supported

# Adapters add layers of their libraries when they are imported, and test them themselves.
BUILT_IN = {kind for kind in LAYERS if kind.__module__.startswith("torch.")}

# A layer of each kind and what it is given; a kind that is added has to be named here.
EXAMPLES = {
    nn.Linear: (lambda: nn.Linear(4, 3), normal(6, 4)),
    nn.Conv1d: (lambda: nn.Conv1d(4, 6, 3, padding=1), normal(6, 4, 7)),
    nn.Conv2d: (lambda: nn.Conv2d(2, 3, 3), normal(6, 2, 5, 6)),
    nn.Embedding: (lambda: nn.Embedding(9, 3), torch.arange(24).reshape(6, 4) % 9),
    nn.LayerNorm: (lambda: nn.LayerNorm(5), normal(6, 3, 5)),
    nn.RMSNorm: (lambda: nn.RMSNorm(5, eps=1e-6), normal(6, 3, 5)),
    nn.GroupNorm: (lambda: nn.GroupNorm(2, 4), normal(6, 4, 3)),
    nn.BatchNorm1d: (lambda: nn.BatchNorm1d(4), normal(6, 4, 3)),
    nn.BatchNorm2d: (lambda: nn.BatchNorm2d(4), normal(6, 4, 3, 2)),
}


def example(kind):
    make, a = EXAMPLES[kind]
    return made(make()), a


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == BUILT_IN


@pytest.mark.parametrize(
    "kind", sorted(BUILT_IN, key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__
)
class TestEveryLayer:
    def test_gradients_are_those_of_one_sample_at_a_time(self, kind):
        layer, a = example(kind)
        assert is_supported(layer)
        assert_reads(LAYERS[kind], layer, a)

    def test_lengths_and_products_are_those_of_formed_gradients(self, kind):
        layer, a = example(kind)
        for part in assert_reads(LAYERS[kind], layer, a).values():
            whole = part.formed()
            torch.testing.assert_close(part.norms(), whole.square().sum(1))
            torch.testing.assert_close(part.products(part), whole @ whole.T)
            torch.testing.assert_close(part.products(part.take(slice(0, 2))), whole @ whole[:2].T)

    def test_some_samples_are_some_rows(self, kind):
        layer, a = example(kind)
        rows = torch.tensor([4, 0, 4])
        for part in assert_reads(LAYERS[kind], layer, a).values():
            torch.testing.assert_close(part.take(rows).formed(), part.formed()[rows])

    def test_batches_are_joined_in_their_order(self, kind):
        layer, a = example(kind)
        for part in assert_reads(LAYERS[kind], layer, a).values():
            first, second, third = (part.take(slice(at, at + 2)) for at in (0, 2, 4))
            torch.testing.assert_close(first.joined([second, third]).formed(), part.formed())
            assert part.bytes_per_sample() > 0

    def test_a_frozen_parameter_is_not_read(self, kind):
        names = [name for name, _ in example(kind)[0].named_parameters()]
        for name in names if len(names) > 1 else []:
            layer, a = example(kind)
            layer.get_parameter(name).requires_grad_(False)
            read = assert_reads(LAYERS[kind], layer, a)
            assert name not in formed(read, layer)

    def test_deltas_of_nothing_are_gradients_of_nothing(self, kind):
        layer, a = example(kind)
        for part in LAYERS[kind](layer, a, torch.zeros_like(layer(a)).detach()).values():
            assert not part.formed().any()
            assert not part.norms().any()

    def test_gradients_follow_deltas_in_proportion(self, kind):
        layer, a = example(kind)
        d = normal(*layer(a).shape)
        once, twice = (formed(LAYERS[kind](layer, a, factor * d), layer) for factor in (1.0, 2.0))
        for name, gradient in once.items():
            torch.testing.assert_close(twice[name], 2 * gradient)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.Embedding(4, 2), True),
        (nn.Embedding(4, 2, max_norm=1.0), False),
        (nn.Embedding(4, 2, scale_grad_by_freq=True), False),
        (nn.BatchNorm1d(4), True),
        (nn.BatchNorm2d(4, track_running_stats=False), False),
        (nn.ReLU(), False),
        (nn.Bilinear(2, 2, 2), False),
        (nn.LSTM(2, 2), False),
    ],
    ids=str,
)
def test_whether_a_rule_reads_a_layer_as_it_is_set_up(layer, expected):
    assert is_supported(layer) == expected


def test_a_layer_derived_from_one_is_another_layer():
    """A derived layer may override the forward pass, so it has no rule."""

    class Own(nn.Linear):
        def forward(self, x):
            return super().forward(x) ** 2

    assert not is_supported(Own(2, 2))
