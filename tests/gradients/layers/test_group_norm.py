"""Normalisation of groups of channels: of vectors, sequences and pictures."""

import pytest
import torch
from layer_checks import assert_reads, made, normal
from torch import nn

from anml.gradients.layers.rules import group_norm, scale_and_shift


@pytest.mark.parametrize("shape", [(3, 6), (3, 6, 5), (3, 6, 4, 5)])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_every_shape_and_number_of_groups(shape, groups):
    if len(shape) == 2 and groups == 6:
        return  # one number each: torch itself refuses to normalise it in training, and it is nothing
    assert_reads(group_norm, made(nn.GroupNorm(groups, 6)), normal(*shape))


def test_by_hand():
    # Channels (1, 3) and (5, 5) in groups of one: normalised to (-1, 1) and (0, 0).
    layer = nn.GroupNorm(2, 2, eps=1e-12)
    a = torch.tensor([[[1.0, 3.0], [5.0, 5.0]]])
    read = group_norm(layer, a, torch.tensor([[[1.0, 10.0], [2.0, 20.0]]]))
    torch.testing.assert_close(read["weight",].formed(), torch.tensor([[9.0, 0.0]]))
    assert read["bias",].formed().tolist() == [[11, 22]]


def test_everything_behind_the_channels_is_summed():
    layer = nn.GroupNorm(1, 2)
    d = torch.ones(3, 2, 4, 5)
    assert scale_and_shift(layer, d, d, range(2, 4))["bias",].formed().tolist() == [[20, 20]] * 3


def test_nothing_trained_is_nothing_read():
    assert group_norm(nn.GroupNorm(1, 2, affine=False), torch.ones(1, 2, 3), torch.ones(1, 2, 3)) == {}
