"""Weights in a training loop of the user's own: as draws, or in the loss."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

from anml.core.checks import as_integer
from anml.core.errors import InputError
from anml.core.types import Weighting
from anml.weighting.selection import sample_by_weight


class WeightedSampler(Sampler[int]):
    """Draws positions with probability proportional to their weight; works in distributed runs.

    Parameters
    ----------
    weighting
        Of `anml.weigh` or `audit.weights_for`; samples that are not kept are never drawn.
    num_samples
        Draws per epoch over all replicas; the number of kept samples by default.
    seed
        The same on every replica; call `set_epoch` at each epoch for new draws.
    rank, num_replicas
        Number of this process, and of all processes: each takes every `num_replicas`-th draw.

    Examples
    --------
    >>> import anml
    >>> weighting = anml.weigh([0.9, 0.8, 0.0], recipe="krum")
    >>> sorted(set(WeightedSampler(weighting, num_samples=100)))
    [0, 1]
    """

    def __init__(
        self, weighting: Weighting, *, num_samples: int | None = None, seed: int = 0, rank: int = 0,
        num_replicas: int = 1,
    ) -> None:  # fmt: skip
        self.weighting = as_weighting(weighting)
        if not 0 <= as_integer("rank", rank) < as_integer("num_replicas", num_replicas):
            raise InputError(f"rank must lie in [0, {num_replicas - 1}], got {rank}")
        # At least one draw for each.
        count = int(self.weighting.kept.sum()) if num_samples is None else num_samples
        self.num_samples = as_integer("num_samples", count, num_replicas)
        self.seed, self.rank, self.num_replicas = as_integer("seed", seed, 0), rank, num_replicas
        self.epoch, self.position = 0, 0

    def set_epoch(self, epoch: int) -> None:
        """Change the draws, the same way on every replica."""
        if epoch != self.epoch:
            self.epoch, self.position = epoch, 0

    def state_dict(self, used: int | None = None) -> dict[str, Any]:
        """Return the epoch and the draws used in it: `used` where a loader draws ahead."""
        return {"epoch": self.epoch, "position": self.position if used is None else used}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken: the next iteration yields the draws that were left."""
        self.epoch, self.position = int(state["epoch"]), int(state["position"])

    def __iter__(self) -> Iterator[int]:
        if self.position >= len(self):
            self.position = 0
        weights = self.weighting.w * self.weighting.kept
        rows = sample_by_weight(weights, self.num_samples, np.random.default_rng([self.seed, self.epoch]))
        # Every replica gets the same number, or a collective step would wait for ever.
        for row in rows[self.rank :: self.num_replicas][self.position : len(self)].tolist():
            self.position += 1
            yield row

    def __len__(self) -> int:
        return self.num_samples // self.num_replicas


def as_weighting(given: object) -> Weighting:
    """Return a weighting, or raise an error for anything else."""
    if not isinstance(given, Weighting):
        raise InputError(f"a weighting is of anml.weigh or audit.weights_for, got {type(given).__name__}")
    return given


def weighted_loss(losses: Tensor, sample_weight: Any) -> Tensor:
    """Return the weighted mean of per-sample losses (`reduction="none"`); equal weights give the plain mean.

    Examples
    --------
    >>> weighted_loss(torch.tensor([1.0, 3.0]), [1.0, 0.0])
    tensor(1.)
    """
    weight = torch.as_tensor(sample_weight, dtype=losses.dtype, device=losses.device)
    if weight.shape != losses.shape:
        raise InputError(
            f"sample_weight has shape {tuple(weight.shape)} for losses of shape {tuple(losses.shape)}; "
            'use reduction="none"'
        )
    return (losses * weight).sum() / weight.sum().clamp_min(torch.finfo(losses.dtype).tiny)
