"""For PyTorch users: score samples by their own module, then draw or weigh them while training."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Sampler

from anml.core.checks import Floats, whole
from anml.core.domain import Weighting
from anml.core.errors import InputError
from anml.core.selection import draw
from anml.core.signals.quality import neighbours, quality
from anml.gradients.factors import Loss
from anml.gradients.krum import krum_scores
from anml.gradients.modules import EXPLICIT_BYTES, module_factors


def module_quality(
    module: nn.Module,
    x: Tensor,
    y: Tensor,
    loss: Loss = "softmax",
    *,
    k: int | None = 10,
    malicious: float | None = None,
    references: int | None = None,
    seed: int = 0,
    limit_bytes: int = EXPLICIT_BYTES,
) -> Floats:
    """Q of each sample by the gradients of the user's own module.

    Train the module only briefly before: what it has memorised has no gradient.

    Examples
    --------
    >>> x, y = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)), torch.arange(20) % 2
    >>> module_quality(nn.Linear(3, 2), x, y).shape
    (20,)
    """
    if len(x) != len(y) or not len(x):
        raise InputError(f"x and y must be of the same length, at least 1, got {len(x)} and {len(y)}")
    if loss == "softmax" and (y.is_floating_point() or y.dtype == torch.bool):
        raise InputError(f"y must hold classes as whole numbers for the softmax loss, got {y.dtype}")
    factors = module_factors(module, x, y, loss, limit_bytes)
    pool = len(factors) if references is None else min(references, len(factors))
    return quality(krum_scores(factors, neighbours(pool, k, malicious), references, seed))


class WeightedSampler(Sampler[int]):
    """Draws positions with probability proportional to their weight; works in distributed runs.

    Parameters
    ----------
    weighting
        Of `anml.weigh`; samples that are not kept are never drawn.
    size
        Draws per epoch over all replicas; the number of kept samples by default.
    seed
        The same on every replica; call `set_epoch` at each epoch for new draws.
    rank, replicas
        This process, and how many there are: each takes every `replicas`-th draw.

    Examples
    --------
    >>> import anml
    >>> weighting = anml.weigh([0.9, 0.8, 0.0], recipe="krum")
    >>> sorted(set(WeightedSampler(weighting, size=100)))
    [0, 1]
    """

    def __init__(
        self, weighting: Weighting, size: int | None = None, seed: int = 0, rank: int = 0, replicas: int = 1
    ) -> None:
        if not isinstance(weighting, Weighting):
            raise InputError(f"weighting must be what anml.weigh returns, got {type(weighting).__name__}")
        if whole("seed", seed) < 0:
            raise InputError(f"seed must not be negative, got {seed}")
        if not 0 <= rank < replicas:
            raise InputError(f"rank must lie in [0, {replicas - 1}], got {rank}")
        self.weights = weighting.w * weighting.kept
        self.size = int(weighting.kept.sum()) if size is None else size
        self.seed, self.rank, self.replicas, self.epoch = seed, rank, replicas, 0

    def set_epoch(self, epoch: int) -> None:
        """Change the draws, the same way on every replica."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        rows = draw(self.weights, self.size, np.random.default_rng([self.seed, self.epoch]))
        # Every replica gets the same number, or a collective step would wait for ever.
        return iter(rows[self.rank :: self.replicas][: len(self)].tolist())

    def __len__(self) -> int:
        return self.size // self.replicas


def weighted_loss(losses: Tensor, weights: Any) -> Tensor:
    """Weighted mean of per-sample losses (`reduction="none"`); equal weights give the plain mean.

    Examples
    --------
    >>> weighted_loss(torch.tensor([1.0, 3.0]), [1.0, 0.0])
    tensor(1.)
    """
    weight = torch.as_tensor(weights, dtype=losses.dtype, device=losses.device)
    if weight.shape != losses.shape:
        raise InputError(
            f"weights have shape {tuple(weight.shape)} for losses of shape {tuple(losses.shape)}; "
            'use reduction="none"'
        )
    return (losses * weight).sum() / weight.sum().clamp_min(torch.finfo(losses.dtype).tiny)
