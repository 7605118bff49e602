"""Normalisation of vectors, with a mean and without: scale and shift by hand and in every shape."""

import pytest
import torch
from layer_checks import assert_reads, made, normal
from torch import nn

from anml.gradients.layers.rules import layer_norm, rms_norm


@pytest.mark.parametrize(
    ("shape", "last"), [((4, 5), 5), ((4, 3, 5), 5), ((4, 2, 3, 5), (3, 5)), ((4, 3, 5), (3, 5))]
)
@pytest.mark.parametrize("kind", [nn.LayerNorm, nn.RMSNorm])
def test_every_shape(kind, shape, last):
    rule = layer_norm if kind is nn.LayerNorm else rms_norm
    assert_reads(rule, made(kind(last, eps=1e-6)), normal(*shape))


def test_a_mean_by_hand():
    # (1, 3) has mean 2 and deviation 1: normalised to (-1, 1).
    layer = nn.LayerNorm(2, eps=0.0)
    read = layer_norm(layer, torch.tensor([[1.0, 3.0]]), torch.tensor([[10.0, 20.0]]))
    torch.testing.assert_close(read["weight",].formed(), torch.tensor([[-10.0, 20.0]]))
    assert read["bias",].formed().tolist() == [[10, 20]]


def test_no_mean_by_hand():
    # (1, 7) has mean square 25: normalised to (0.2, 1.4).
    layer = nn.RMSNorm(2, eps=0.0)
    read = rms_norm(layer, torch.tensor([[1.0, 7.0]]), torch.tensor([[10.0, 20.0]]))
    torch.testing.assert_close(read["weight",].formed(), torch.tensor([[2.0, 28.0]]))


def test_places_are_summed():
    a, d = normal(1, 2, 3), normal(1, 2, 3, seed=1)
    layer = made(nn.LayerNorm(3))
    together = layer_norm(layer, a, d)["weight",].formed()
    apart = sum(layer_norm(layer, a[:, at], d[:, at])["weight",].formed() for at in (0, 1))
    torch.testing.assert_close(together, apart)


def test_a_shift_or_scale_of_the_input_changes_nothing():
    a, d = normal(3, 5), normal(3, 5, seed=1)
    layer = made(nn.LayerNorm(5, eps=0.0))
    one, two = (layer_norm(layer, x, d)["weight",].formed() for x in (a, 3 * a + 7))
    torch.testing.assert_close(one, two)


@pytest.mark.parametrize("settings", [{"bias": False}, {"elementwise_affine": False}])
def test_what_the_layer_does_not_have_is_not_read(settings):
    read = layer_norm(made(nn.LayerNorm(5, **settings)), normal(2, 5), normal(2, 5))
    assert list(read) == ([("weight",)] if "bias" in settings else [])
