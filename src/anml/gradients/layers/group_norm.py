"""Normalisation of each group of channels of a sample."""

from torch import Tensor, nn
from torch.nn import functional

from anml.gradients.factors import formed_part
from anml.gradients.layers.reading import Read, trained


def group_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """Deltas times normalised inputs, and deltas, summed over the places."""
    assert isinstance(layer, nn.GroupNorm)
    return channels(layer, functional.group_norm(a, layer.num_groups, eps=layer.eps), d)


def channels(layer: nn.Module, normal: Tensor, d: Tensor) -> Read:
    """Parts of a scale and a shift of each channel, the dimension after that of samples."""
    return {
        (name,): formed_part(each.flatten(2).sum(2) if each.dim() > 2 else each)
        for name, each in (("weight", normal * d), ("bias", d))
        if trained(layer, name)
    }
