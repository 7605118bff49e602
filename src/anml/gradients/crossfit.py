"""Cross-fitting: held-out predictions from networks that stop before they memorise.

Held-out predictions are those of the epoch at which the likelihood of held-out (noisy) labels is best. The
network trained on everything goes on for half as long again: measured on Wine, Breast Cancer and Digits, what
Krum keeps is poor before the best epoch and level for a good while after it, so the safe side is late.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Array, Floats, Ints
from anml.core.domain import Task
from anml.core.folds import assign_folds
from anml.core.profile import Training
from anml.core.progress import Progress, ticker
from anml.gradients.mlp import Data, Networks, Widths, as_data, initialise, losses, predict, train
from anml.gradients.threads import threads


@dataclass(frozen=True)
class CrossFit:
    """Held-out outputs (n, outputs) at the best epoch, the networks of the `folds` then, and the `full` one.

    The full one is trained on everything; it is that of the first fold where training went on from others.
    """

    held_out: Tensor
    folds: Networks
    full: Networks
    epochs: int


def cross_fit(
    x: Tensor, y: Tensor, task: Task, classes: int, groups: Array | None, training: Training, seed: int, *,
    weight: Floats | None = None, start: Networks | None = None, progress: Progress | None = None,
) -> CrossFit:  # fmt: skip
    """Train networks on folds and on everything until the held-out likelihood is best.

    `weight` says how much each sample counts, in training and in what is called best. `start` are the
    networks of the folds of an earlier fit to the same rows: training goes on from them, on the folds alone.
    """
    n = len(x)
    fold = network_folds(as_numpy(y), task, groups, training, n, seed)
    k = int(fold.max()) + 1
    count = k + (start is None)
    device = x.device
    held = torch.as_tensor(fold, device=device) == torch.arange(k, device=device).unsqueeze(1)
    counts = torch.as_tensor(np.ones(n) if weight is None else weight, dtype=torch.float32, device=device)
    weights = torch.cat([(~held).float(), torch.ones(1, n, device=device)])[:count] * counts
    shape = Widths(x.shape[1], training.hidden, classes if task == "classification" else 1)
    # One seed for all: what differs between the networks is their data.
    networks = initialise(shape, [seed] * count, device) if start is None else start.pick(range(k))
    tick = ticker(progress, "early stopping", training.max_epochs)
    best = _Best(networks, x, y, held, task, counts, tick)
    batch = training.batch or (200 if n <= 10_000 else 1_000)
    with threads(1):
        train(
            networks, Data.shared(x, y, weights), task, [seed] * count,
            epochs=training.max_epochs, batch=batch, lr=training.lr, on_epoch=best.look,
        )  # fmt: skip
    assert best.held_out is not None
    assert best.flat is not None
    return CrossFit(best.held_out, Networks(shape, best.flat), networks.pick([count - 1]), best.stopped)


class _Best:
    """Remembers the epoch with the best held-out loss, and says when to stop looking."""

    def __init__(
        self, networks: Networks, x: Tensor, y: Tensor, held: Tensor, task: Task, counts: Tensor,
        tick: Callable[[int], bool],
    ) -> None:  # fmt: skip
        self.networks, self.x, self.y, self.task = networks, x, y, task
        self.counts, self.tick = counts, tick
        self.held = [fold.nonzero().squeeze(1) for fold in held]
        self.loss, self.epoch, self.stopped = float("inf"), 0, 0
        self.held_out: Tensor | None = None
        self.flat: Tensor | None = None

    def look(self, epoch: int) -> bool:
        self.tick(epoch)
        self.stopped = epoch
        outputs = self._outputs()
        loss = float((losses(outputs.unsqueeze(0), self.y, self.task)[0] * self.counts).sum())
        if loss < self.loss or self.held_out is None:
            self.loss, self.epoch, self.held_out = loss, epoch, outputs
            self.flat = self.networks.flat[: len(self.held)].clone()
        # Half as long again without a better epoch settles it, and is as far as the full network goes.
        return epoch >= self.epoch + max(5, self.epoch // 2)

    def _outputs(self) -> Tensor:
        outputs = self.x.new_empty(len(self.x), self.networks.shape.outputs)
        for i, rows in enumerate(self.held):
            one = Networks(self.networks.shape, self.networks.flat[i : i + 1])
            outputs[rows] = predict(one, self.x[rows])[0]
        return outputs


def network_folds(y: Array, task: Task, groups: Array | None, training: Training, n: int, seed: int) -> Ints:
    """As many folds as asked for, fewer where there are fewer items, cheaper ones where n is large."""
    items = n if groups is None else len(np.unique(groups))
    k = max(2, min(training.folds if n <= 10_000 else min(training.folds, 3), items))
    if items < 2:
        return np.zeros(n, dtype=np.int64)
    labels = y if task == "classification" else None
    if labels is None and groups is None:
        groups = np.arange(n)
    return assign_folds(labels, groups, k, np.random.default_rng(seed))


def as_tensors(
    x: Array, y: Array, task: Task, device: str = "cpu"
) -> tuple[Tensor, Tensor, Callable[[Floats], Floats]]:
    """Features, which are standardised already, and scaled targets; and predictions in the labels' units."""
    if task == "classification":
        return *as_data(x, y, task, device), lambda z: z
    values = np.asarray(y, dtype=np.float64)
    centre, spread = float(values.mean()), float(values.std()) or 1.0
    return *as_data(x, (values - centre) / spread, task, device), lambda z: z * spread + centre


def as_numpy(tensor: Tensor) -> Floats:
    """In double precision, on the host."""
    return tensor.double().cpu().numpy()
