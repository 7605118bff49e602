"""Linear layers: outer products by hand, on vectors and on sequences of any depth."""

import pytest
import torch
from layer_checks import assert_reads, made, normal
from torch import nn

from anml.gradients.factors import LayerFactor, SequenceFactor
from anml.gradients.layers.rules import linear, weight_and_bias


def test_by_hand():
    # Input (1, 2), delta (3, 5): the weight's gradient is their outer product, the bias's the delta.
    read = linear(nn.Linear(2, 2), torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 5.0]]))
    assert read["weight", "bias"].formed().tolist() == [[3, 6, 5, 10, 3, 5]]
    assert read["weight", "bias"].norms().tolist() == [(1 + 4 + 1) * (9 + 25)]


@pytest.mark.parametrize("shape", [(5, 4), (5, 3, 4), (5, 2, 3, 4), (5, 1, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_vectors_and_sequences_of_any_depth(shape, bias):
    read = assert_reads(linear, made(nn.Linear(4, 3, bias=bias)), normal(*shape))
    [part] = read.values()
    assert isinstance(part, LayerFactor if len(shape) == 2 else SequenceFactor)


@pytest.mark.parametrize("shape", [(5, 4), (5, 3, 4)])
def test_a_bias_alone_is_the_sum_of_deltas(shape):
    layer = made(nn.Linear(4, 3))
    layer.weight.requires_grad_(False)
    read = assert_reads(linear, layer, normal(*shape))
    assert list(read) == [("bias",)]


def test_nothing_trained_is_nothing_read():
    layer = made(nn.Linear(4, 3)).requires_grad_(False)
    assert linear(layer, normal(2, 4), normal(2, 3)) == {}


def test_the_order_of_places_does_not_matter():
    a, d = normal(3, 5, 4), normal(3, 5, 2, seed=1)
    order = torch.tensor([3, 0, 4, 1, 2])
    one, two = (weight_and_bias(x, y, True, True)["weight", "bias"].formed()
                for x, y in ((a, d), (a[:, order], d[:, order])))  # fmt: skip
    torch.testing.assert_close(one, two)
