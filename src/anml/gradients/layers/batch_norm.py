"""Normalisation by running statistics: in evaluation mode samples do not mix."""

from torch import Tensor, nn
from torch.nn import functional

from anml.gradients.layers.group_norm import channels
from anml.gradients.layers.reading import Read


def batch_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """Deltas times normalised inputs, and deltas, summed over the places."""
    assert isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d)
    normal = functional.batch_norm(a, layer.running_mean, layer.running_var, training=False, eps=layer.eps)
    return channels(layer, normal, d)
