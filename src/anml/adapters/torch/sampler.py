"""Weights in a training loop of the user's own: as draws, or in the loss."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

from anml.core.checks import Floats, whole
from anml.core.domain import Weighting
from anml.core.errors import InputError
from anml.core.selection import draw

if TYPE_CHECKING:
    from anml.adapters.torch.reweigh import Reweigher


class WeightedSampler(Sampler[int]):
    """Draws positions with probability proportional to their weight; works in distributed runs.

    Parameters
    ----------
    weighting
        Of `anml.weigh`, or a `Reweigher`, whose weights are followed within an epoch; samples that are not
        kept are never drawn.
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
        self, weighting: "Weighting | Reweigher", size: int | None = None, seed: int = 0, rank: int = 0,
        replicas: int = 1,
    ) -> None:  # fmt: skip
        self.followed = None if isinstance(weighting, Weighting) else weighting
        self.fixed = weighting_of(weighting)
        if not 0 <= whole("rank", rank) < whole("replicas", replicas):
            raise InputError(f"rank must lie in [0, {replicas - 1}], got {rank}")
        # At least one draw for each.
        self.size = whole("size", int(self.fixed.kept.sum()) if size is None else size, replicas)
        self.seed, self.rank, self.replicas = whole("seed", seed, 0), rank, replicas
        self.epoch, self.position = 0, 0
        self.drawn: list[int] = []

    @property
    def weights(self) -> Floats:
        """Weights to draw by, at this moment."""
        weighting = self.fixed if self.followed is None else self.followed.weighting
        return weighting.w * weighting.kept

    def set_epoch(self, epoch: int) -> None:
        """Change the draws, the same way on every replica."""
        if epoch != self.epoch:
            self.epoch, self.position, self.drawn = epoch, 0, []

    def state_dict(self, used: int | None = None) -> dict[str, Any]:
        """Where an epoch stands, to go on from; `used` draws were trained on, where a loader draws ahead."""
        position = self.position if used is None else used
        return {"epoch": self.epoch, "position": position, "drawn": torch.tensor(self.drawn)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from where `state_dict` was taken: the next iteration yields the draws that were left."""
        self.epoch, self.position = int(state["epoch"]), int(state["position"])
        self.drawn = [int(row) for row in state["drawn"]]

    def _following(self) -> Iterator[int]:
        """One draw after another, each by the weights of its moment and a random number of its place."""
        assert self.followed is not None
        places = np.random.default_rng([self.seed, self.epoch]).uniform(size=len(self) * self.replicas)
        drawn_by, steps = None, np.zeros(0)
        for at in range(len(self)):
            if at == len(self.drawn):
                if self.followed.weighting is not drawn_by:
                    drawn_by, weights = self.followed.weighting, self.weights
                    steps = np.cumsum(weights if weights.sum() > 0 else np.ones_like(weights))
                place = places[at * self.replicas + self.rank] * steps[-1]
                self.drawn.append(int(np.searchsorted(steps, place, side="right")))
            yield self.drawn[at]

    def _fixed(self) -> Iterator[int]:
        rows = draw(self.weights, self.size, np.random.default_rng([self.seed, self.epoch]))
        # Every replica gets the same number, or a collective step would wait for ever.
        yield from rows[self.rank :: self.replicas][: len(self)].tolist()

    def __iter__(self) -> Iterator[int]:
        if self.position >= len(self):
            self.position, self.drawn = 0, []
        start = self.position
        for at, row in enumerate(self._fixed() if self.followed is None else self._following()):
            if at >= start:
                self.position = at + 1
                yield row

    def __len__(self) -> int:
        return self.size // self.replicas


def weighting_of(given: "Weighting | Reweigher") -> Weighting:
    """A weighting, or that of a Reweigher at this moment."""
    found = getattr(given, "weighting", given)
    if not isinstance(found, Weighting):
        raise InputError(f"a weighting is of anml.weigh or a Reweigher, got {type(given).__name__}")
    return found


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
