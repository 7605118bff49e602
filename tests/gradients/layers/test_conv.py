"""Convolutions: a linear layer on every patch, however patches are cut."""

import pytest
import torch
from layer_checks import assert_reads, made, normal
from torch import nn

from anml.gradients.layers.rules import conv

TWO = {
    "plain": {"kernel_size": 3},
    "one by one": {"kernel_size": 1},
    "oblong": {"kernel_size": (2, 3)},
    "strided": {"kernel_size": 3, "stride": 2},
    "strided unevenly": {"kernel_size": 3, "stride": (1, 2)},
    "padded": {"kernel_size": 3, "padding": 2},
    "dilated": {"kernel_size": 2, "dilation": 2},
    "grouped": {"kernel_size": 3, "groups": 2},
    "each channel alone": {"kernel_size": 3, "groups": 4},
    "no bias": {"kernel_size": 3, "bias": False},
    "circular": {"kernel_size": 3, "padding": 1, "padding_mode": "circular"},
    "reflected": {"kernel_size": 3, "padding": 1, "padding_mode": "reflect"},
    "repeated": {"kernel_size": 3, "padding": 1, "padding_mode": "replicate"},
    "same size": {"kernel_size": 3, "padding": "same"},
    "everything": {
        "kernel_size": (3, 2),
        "stride": (2, 1),
        "padding": (1, 2),
        "dilation": (1, 2),
        "groups": 2,
    },
}


@pytest.mark.parametrize("settings", TWO.values(), ids=TWO)
def test_over_two_dimensions(settings):
    assert_reads(conv, made(nn.Conv2d(4, 8, **settings)), normal(3, 4, 7, 8))


@pytest.mark.parametrize(
    "settings",
    [{"kernel_size": 3}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 2, "dilation": 3},
     {"kernel_size": 3, "groups": 4, "bias": False}, {"kernel_size": 3, "padding": "same"}],
    ids=str,
)  # fmt: skip
def test_over_one_dimension(settings):
    assert_reads(conv, made(nn.Conv1d(4, 8, **settings)), normal(3, 4, 9))


def test_by_hand():
    # Kernel of 2 over 1 2 3 with deltas 10, 100: 10·(1, 2) + 100·(2, 3), and 110 for the bias.
    layer = nn.Conv1d(1, 1, 2)
    read = conv(layer, torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[[10.0, 100.0]]]))
    assert read["weight",].formed().tolist() == [[210, 320]]
    assert read["bias",].formed().tolist() == [[110]]


def test_gradients_are_formed_only_when_they_are_asked_for():
    """Only inputs and deltas are stored, which fit into memory for a batch of images."""
    layer = made(nn.Conv2d(2, 64, 5, padding=2))
    a, d = normal(3, 2, 6, 6), normal(3, 64, 6, 6)
    part = conv(layer, a, d)["weight",]
    assert part.bytes_per_sample() == (2 + 64) * 36 * 8
    assert part.formed().shape == (3, 64 * 2 * 25)


@pytest.mark.parametrize("settings", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "bias": False}])
def test_patches_are_a_linear_layer_on_sequences(settings):
    layer = made(nn.Conv2d(2, 3, 2, **settings))
    a = normal(4, 2, 6, 5)
    part = conv(layer, a, normal(*layer(a).shape, seed=1))["weight",]
    inputs, deltas = part.unfold(part.inputs, part.deltas)
    torch.testing.assert_close(torch.bmm(deltas.mT, inputs).flatten(1), part.formed())


def test_groups_have_no_common_patches():
    a = normal(2, 4, 5, 5)
    layer = made(nn.Conv2d(4, 4, 3, groups=2))
    assert conv(layer, a, normal(*layer(a).shape, seed=1))["weight",].unfold is None
