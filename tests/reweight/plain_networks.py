"""The small network written out for autograd."""

import torch


def loss(networks, x, y):
    """The same network's loss by autograd."""
    flat = networks.flat.clone().requires_grad_(True)
    views, start = [], 0
    for fan_in, fan_out in networks.shape.layers:
        weight = flat[0, start : start + fan_in * fan_out].view(fan_in, fan_out)
        start += fan_in * fan_out
        views.append((weight, flat[0, start : start + fan_out]))
        start += fan_out
    out = x
    for depth, (weight, bias) in enumerate(views):
        out = out @ weight + bias
        out = out.relu() if depth < len(views) - 1 else out
    return torch.nn.functional.cross_entropy(out, y, reduction="none"), flat


def outputs(shape, flat, x):
    start = 0
    for depth, (fan_in, fan_out) in enumerate(shape.layers):
        weight = flat[0, start : start + fan_in * fan_out].view(fan_in, fan_out)
        start += fan_in * fan_out
        x = x @ weight + flat[0, start : start + fan_out]
        start += fan_out
        x = x.relu() if depth < len(shape.layers) - 1 else x
    return x
