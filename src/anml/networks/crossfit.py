"""Cross-fitting: held-out predictions from networks that stop before they memorise.

Held-out predictions are those of the epoch at which the likelihood of held-out (noisy) labels is best.
Training goes on for half as long again: measured on Wine, Breast Cancer and Digits, the precision of samples
kept by Krum is low before the best epoch and constant for many epochs after it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Array, Floats, Ints
from anml.core.folds import assign_folds
from anml.core.profile import PredictorTraining
from anml.core.progress import Progress, ticker
from anml.core.types import Task
from anml.networks.backend import NUMPY, Backend
from anml.networks.mlp import LayerWidths, TrainingData, losses, predict, to_numpy, train


@dataclass(frozen=True)
class CrossFit:
    """Held-out outputs (n, outputs) at the best epoch, the networks of the `folds` then, and the `full` one.

    The full one is trained on all samples; it is that of the first fold where training continued from others.
    Networks are those of the `backend`.
    """

    held_out: Floats
    folds: Any
    full: Any
    epochs: int
    backend: Backend


def cross_fit(
    x: Array,
    y: Array,
    task: Task,
    classes: int,
    groups: Array | None,
    training: PredictorTraining,
    seed: int,
    *,
    weight: Floats | None = None,
    start: Any = None,
    progress: Progress | None = None,
    backend: Backend = NUMPY,
) -> CrossFit:
    """Train networks on folds and on all samples until the held-out likelihood is best.

    `x` is standardised, and `y` are class codes or scaled numbers. `weight` is the sample weight, in training
    and in the held-out likelihood. `start` are the networks of the folds of an earlier fit to the same rows:
    training continues from them, on the folds only.
    """
    n = len(x)
    fold = network_folds(y, task, groups, training, n, seed)
    k = int(fold.max()) + 1
    count = k + (start is None)
    counts = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    in_training = np.concatenate([fold != np.arange(k)[:, None], np.ones((1, n), dtype=bool)])[:count]
    inputs, targets = backend.as_data(x, y, task)
    data = TrainingData.shared(inputs, targets, (in_training * counts).astype(np.float32))
    shape = LayerWidths(x.shape[1], training.hidden, classes if task == "classification" else 1)
    # One seed for all: what differs between the networks is their data.
    networks = backend.initialise(shape, [seed] * count) if start is None else start.pick(range(k))
    held = [np.flatnonzero(fold == each) for each in range(k)]
    tick = ticker(progress, "early stopping", training.max_epochs)
    best = _EarlyStopping(networks, inputs, y, held, task, counts, tick)
    with backend.limit_threads(1):
        train(
            networks, data, task, [seed] * count, epochs=training.max_epochs,
            batch=training.batch or (200 if n <= 10_000 else 1_000), lr=training.lr, on_epoch=best.update,
        )  # fmt: skip
    return CrossFit(best.held_out, best.folds, networks.pick([count - 1]), best.stopped, backend)


class _EarlyStopping:
    """The epoch with the best held-out loss so far, its held-out outputs and its networks."""

    def __init__(
        self, networks: Any, x: Any, y: Array, held: Sequence[Ints], task: Task, counts: Floats,
        tick: Callable[[int], bool],
    ) -> None:  # fmt: skip
        self.networks, self.y, self.task = networks, y, task
        self.counts, self.tick, self.held = counts, tick, held
        self.x = [x[rows] for rows in held]
        self.loss, self.epoch, self.stopped = float("inf"), 0, 0
        self.held_out: Floats = np.zeros((len(y), networks.shape.outputs))
        self.folds = networks.pick(range(len(held)))

    def update(self, epoch: int) -> bool:
        """Compare the networks with the best ones so far; return True when training should stop."""
        self.tick(epoch)
        self.stopped = epoch
        outputs = self._outputs()
        loss = float((losses(outputs[None], self.y, self.task)[0] * self.counts).sum())
        if loss < self.loss or not self.epoch:
            self.loss, self.epoch, self.held_out = loss, epoch, outputs
            self.folds = self.networks.pick(range(len(self.held)))
        # Without a better epoch for half as long again, an improvement is unlikely.
        return epoch >= self.epoch + max(5, self.epoch // 2)

    def _outputs(self) -> Floats:
        outputs = np.empty_like(self.held_out)
        for fold, (rows, x) in enumerate(zip(self.held, self.x, strict=True)):
            outputs[rows] = to_numpy(predict(self.networks.pick([fold]), x)[0])
        return outputs


def network_folds(
    y: Array, task: Task, groups: Array | None, training: PredictorTraining, n: int, seed: int
) -> Ints:
    """Assign rows to folds: as many as asked for, fewer for fewer items and for more than 10,000 rows."""
    items = n if groups is None else len(np.unique(groups))
    k = max(2, min(training.folds if n <= 10_000 else min(training.folds, 3), items))
    if items < 2:
        return np.zeros(n, dtype=np.int64)
    labels = y if task == "classification" else None
    if labels is None and groups is None:
        groups = np.arange(n)
    return assign_folds(labels, groups, k, np.random.default_rng(seed))


def scale_targets(y: Array, task: Task) -> tuple[Array, Callable[[Floats], Floats]]:
    """Return class codes as they are or standardised numbers, and the way back to the units of the labels."""
    if task == "classification":
        return np.asarray(y, dtype=np.int64), lambda z: z
    values = np.asarray(y, dtype=np.float64)
    centre, spread = float(values.mean()), float(values.std()) or 1.0
    return (values - centre) / spread, lambda z: z * spread + centre
