"""Normalisation of each vector of a sample."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from anml.gradients.factors import formed_part
from anml.gradients.layers.reading import Read, trained


def layer_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """Deltas times normalised inputs, and deltas, summed over the places."""
    assert isinstance(layer, nn.LayerNorm)
    normal = functional.layer_norm(a, layer.normalized_shape, eps=layer.eps)
    return scaled(layer, normal, d, len(layer.normalized_shape))


def rms_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """The same without a mean."""
    assert isinstance(layer, nn.RMSNorm)
    normal = functional.rms_norm(a, list(layer.normalized_shape), eps=layer.eps)
    return scaled(layer, normal, d, len(layer.normalized_shape))


def scaled(layer: nn.Module, normal: Tensor, d: Tensor, last: int) -> Read:
    """Parts of a scale and a shift of the last dimensions."""
    places = tuple(range(1, d.dim() - last))

    def summed(each: Tensor) -> Tensor:
        return (each.sum(places) if places else each).flatten(1)

    return {
        (name,): formed_part(summed(each))
        for name, each in (("weight", torch.mul(normal, d)), ("bias", d))
        if trained(layer, name)
    }
