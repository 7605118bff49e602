"""Explicit gradients of a small network, sample by sample, from its layer factors."""

import torch
from torch import Tensor

from anml.gradients.mlp import Networks, deltas, forward, output_delta


def explicit_gradients(network: Networks, x: Tensor, y: Tensor) -> Tensor:
    """Gradient of each sample's loss, (n, parameters), in the order of the flat parameters."""
    activations = forward(network, x)
    last = output_delta(activations[-1], y.unsqueeze(0), "classification")
    parts = []
    for active, delta in zip(activations[:-1], deltas(network, activations, last), strict=True):
        parts.append((active[0].unsqueeze(2) * delta[0].unsqueeze(1)).flatten(1))
        parts.append(delta[0])
    return torch.cat(parts, dim=1)
