"""Rows that ways of training are tried on, and the small network written out for autograd."""

import numpy as np
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


def made_blobs():
    """Three classes that are easy to tell, a quarter of the labels wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    x = rng.normal(size=(240, 4)) + 3 * np.eye(4)[y]
    wrong = rng.uniform(size=240) < 0.25
    given = np.where(wrong, (y + rng.integers(1, 3, 240)) % 3, y)
    clean = rng.integers(0, 3, 30)
    return x, given, y, wrong, rng.normal(size=(30, 4)) + 3 * np.eye(4)[clean], clean
