"""Convolutions over one and two dimensions: grouped, dilated, strided, with any padding."""

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from anml.gradients.factors import formed_part
from anml.gradients.layers.reading import Read, trained
from anml.gradients.parts import FormedWhenNeeded


def conv(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """A linear layer on every patch of the input."""
    assert isinstance(layer, nn.Conv1d | nn.Conv2d)
    read: Read = {}
    if trained(layer, "weight"):
        read["weight",] = FormedWhenNeeded(a, d, partial(_weight, layer))
    if trained(layer, "bias"):
        read["bias",] = formed_part(d.flatten(2).sum(2))
    return read


def _weight(layer: nn.Conv1d | nn.Conv2d, a: Tensor, d: Tensor) -> Tensor:
    n, groups = len(a), layer.groups
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    padded = functional.pad(a, layer._reversed_padding_repeated_twice, mode=mode)
    if padded.dim() == 3:
        padded = padded.unsqueeze(2)
    one = (1,) * (2 - len(layer.kernel_size))
    patches = functional.unfold(
        padded, one + layer.kernel_size, dilation=one + layer.dilation, stride=one + layer.stride
    )
    patches = patches.view(n * groups, -1, patches.shape[-1])
    return torch.bmm(d.reshape(n * groups, -1, patches.shape[-1]), patches.mT).view(n, -1)
