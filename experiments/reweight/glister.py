"""GLISTER: Killamsetty, Sivasubramanian, Ramakrishnan and Iyer, AAAI 2021."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import in_range
from anml.networks.mlp import NetworkBatch, forward
from experiments.reweight.training import (
    Reweighted,
    Schedule,
    TensorData,
    batches,
    check_training_data,
    one_hot,
    setup_training,
)

# The subset is sought anew after so many epochs, in so many greedy rounds, and a step ahead this long.
SELECTION_INTERVAL, SELECTION_ROUNDS, LOOKAHEAD_STEP = 10, 15, 0.5


def glister(
    x: Any, y: Any, clean_x: Any, clean_y: Any, classes: int, keep: float = 0.7, plan: Schedule | None = None
) -> Reweighted:
    """Train on the subset that raises the likelihood of clean data most, sought greedily as training goes on.

    A sample's gain is the product of its last-layer gradient with that of clean data; after each greedy round
    the clean gradient is taken anew where the step on what is chosen would lead. Its weakness: it needs clean
    data, and how much to keep must be told.
    """
    in_range("keep", keep, 0, 1, open_low=True)
    how, rows, networks, adam, generator = setup_training(x, y, classes, plan)
    clean = check_training_data("clean data", clean_x, clean_y, classes)
    size = max(1, round(keep * len(rows.y)))
    counted, inputs = np.zeros(len(rows.y)), 0
    # A few epochs on all of it, or the first gradients are those of chance.
    chosen = torch.arange(len(rows.y))
    for epoch in range(how.epochs):
        if epoch >= SELECTION_INTERVAL and epoch % SELECTION_INTERVAL == 0:
            chosen = greedy_subset(networks, rows, clean, classes, size)
            counted[chosen.numpy()] += 1
            inputs += 1
        for places in batches(len(chosen), how, generator):
            subset = chosen[places]
            weight = torch.full((1, len(subset)), 1 / len(subset))
            adam.step(rows.x[subset].unsqueeze(0), one_hot(rows.y[subset], classes).unsqueeze(0), weight)
    return Reweighted(networks, counted / max(inputs, 1))


def greedy_subset(
    networks: NetworkBatch, rows: TensorData, clean: TensorData, classes: int, size: int
) -> Tensor:
    """Greedy choice of `size` rows, a share of them in each round."""
    hidden, mine = _last_layer(networks, rows, classes)
    held, _ = _last_layer(networks, clean, classes)
    with_one = torch.cat([hidden, torch.ones(len(hidden), 1)], dim=1)
    held = torch.cat([held, torch.ones(len(held), 1)], dim=1)
    left = torch.ones(len(rows.y), dtype=torch.bool)
    step = torch.zeros(with_one.shape[1], classes)
    picked: list[Tensor] = []
    for count in map(len, np.array_split(np.arange(size), min(SELECTION_ROUNDS, size))):
        # Where the step on what is chosen so far would lead, only the last layer moves.
        outputs = forward(networks, clean.x)[-1][0] + held @ step
        residual = (torch.softmax(outputs, dim=1) - one_hot(clean.y, classes)) / len(clean.y)
        pull = held.T @ residual
        gain = ((with_one @ pull) * mine).sum(dim=1)
        gain[~left] = -torch.inf
        best = torch.topk(gain, count).indices
        left[best] = False
        picked.append(best)
        step = step - LOOKAHEAD_STEP / size * with_one[best].T @ mine[best]
    return torch.cat(picked)


def _last_layer(networks: NetworkBatch, rows: TensorData, classes: int) -> tuple[Tensor, Tensor]:
    """Inputs of the last layer, and the gradient at its outputs."""
    activations = forward(networks, rows.x)
    return activations[-2][0], torch.softmax(activations[-1][0], dim=1) - one_hot(rows.y, classes)
