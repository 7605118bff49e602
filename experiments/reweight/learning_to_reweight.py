"""Learning to Reweight Examples: Ren, Zeng, Yang and Urtasun, ICML 2018."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from anml.networks.mlp import NetworkBatch
from experiments.reweight import training
from experiments.reweight.training import Reweighted, Schedule, TensorData


def learning_to_reweight(
    x: Any, y: Any, clean_x: Any, clean_y: Any, classes: int, plan: Schedule | None = None
) -> Reweighted:
    """Weigh each sample of a batch by how far its gradient agrees with that of clean data, then step.

    A look-ahead step from weights of zero has that product as its derivative, so no second backward pass is
    needed. Weights of a batch are cut at zero and sum to one. Its weakness: it needs clean data, and learns
    no more than that data can tell.
    """
    how, rows, networks, adam, generator = training.setup_training(x, y, classes, plan)
    clean = training.check_training_data("clean data", clean_x, clean_y, classes)
    total, inputs = torch.zeros(len(rows.y)), 0
    for epoch in range(how.epochs):
        for chosen in training.batches(len(rows.y), how, generator):
            subset = TensorData(rows.x[chosen], rows.y[chosen])
            weight = agreement(networks, subset, clean, classes).clamp_min(0.0)
            weight = weight / weight.sum().clamp_min(1e-12)
            adam.step(
                subset.x.unsqueeze(0), training.one_hot(subset.y, classes).unsqueeze(0), weight.unsqueeze(0)
            )
            if epoch >= how.epochs // 2:
                total[chosen] += weight * len(chosen)
        inputs += epoch >= how.epochs // 2
    weights = (total / max(inputs, 1)).double().numpy()
    return Reweighted(networks, np.clip(weights / max(float(np.quantile(weights, 0.95)), 1e-12), 0.0, 1.0))


def agreement(networks: NetworkBatch, subset: TensorData, clean: TensorData, classes: int) -> Tensor:
    """Inner product of each sample's gradient with the mean gradient of clean data, from layer factors."""
    at = torch.full((1, len(clean.y)), 1 / len(clean.y))
    held, pull = training.factors_of(networks, clean.x, training.one_hot(clean.y, classes).unsqueeze(0), at)
    active, back = training.factors_of(
        networks, subset.x, training.one_hot(subset.y, classes).unsqueeze(0), torch.ones(1, len(subset.y))
    )
    result = torch.zeros(len(subset.y))
    for a, d, ca, cd in zip(active, back, held, pull, strict=True):
        mean = torch.bmm(ca.transpose(1, 2), cd)
        result += ((torch.bmm(a, mean) + cd.sum(dim=1, keepdim=True)) * d).sum(dim=2)[0]
    return result
