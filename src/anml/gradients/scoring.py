"""The scoring model: a small network, stopped before it memorises, and what each sample looks like to it.

Memorised labels have no gradient, so how long the scoring model trains decides what q is worth.
Networks trained on folds and one trained on everything run as one program. Held-out predictions
are those of the epoch at which the likelihood of held-out (noisy) labels is best. The network trained
on everything goes on for half as long again: measured on Wine, Breast Cancer and Digits, what Krum
keeps is poor before the best epoch and level for a good while after it, so the safe side is late.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Array, Floats, Ints, one_of
from anml.core.domain import Task
from anml.core.errors import InputError, UnknownNameError
from anml.core.folds import assign_folds
from anml.core.signals.quality import neighbours, quality
from anml.gradients.factors import Factors, network_factors
from anml.gradients.krum import krum_scores
from anml.gradients.mlp import Data, Networks, Shape, initialise, losses, predict, train
from anml.gradients.threads import threads

Progress = Callable[[str, int, int], None]

# Above this many samples neighbours are sought among random references.
EXACT_UP_TO = 10_000
REFERENCES = 2_048


@dataclass(frozen=True)
class Profile:
    """How the scoring model is trained and read.

    Parameters
    ----------
    hidden
        Widths of the hidden layers.
    epochs
        How long it trains; None stops early by held-out likelihood, after at most `max_epochs`.
    k
        Neighbours in a Krum score; None is the classic n - f - 2, with f from `malicious`.
    references
        Seek neighbours among this many random samples; None takes all up to 10,000 samples and
        2,048 above, 0 takes all.
    method
        Where raw scores come from: a name in `SCORERS`.
    """

    hidden: tuple[int, ...] = (64, 32)
    epochs: int | None = None
    max_epochs: int = 300
    folds: int = 5
    lr: float = 1e-3
    batch: int | None = None
    k: int | None = 10
    malicious: float | None = None
    references: int | None = None
    method: str = "krum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        if any(width < 1 for width in self.hidden):
            raise InputError(f"hidden layers must have at least one unit each, got {self.hidden}")
        for name in ("epochs", "max_epochs", "batch"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        if self.folds < 2:
            raise InputError(f"folds must be at least 2, got {self.folds}")
        one_of("score", self.method, SCORERS)


@dataclass(frozen=True)
class Scores:
    """What the scoring model saw.

    Parameters
    ----------
    raw, q
        Raw score (low is consistent), and its quality in [0, 1].
    held_out
        Predictions by networks that did not see the sample or its item: log-probabilities
        (n, classes), or numbers (n,) in the units of the labels.
    epochs
        How long the scoring model was trained.
    """

    raw: Floats
    q: Floats
    held_out: Floats
    epochs: int


def _krum(factors: Factors, held_out_loss: Floats, profile: Profile, seed: int) -> Floats:
    n = len(factors)
    references = profile.references
    if references is None:
        references = REFERENCES if n > EXACT_UP_TO else 0
    pool = min(n, references) if references else n
    with threads(0):
        return krum_scores(factors, neighbours(pool, profile.k, profile.malicious), references or None, seed)


def _norm(factors: Factors, held_out_loss: Floats, profile: Profile, seed: int) -> Floats:
    return _numpy(factors.norms())


def _loss(factors: Factors, held_out_loss: Floats, profile: Profile, seed: int) -> Floats:
    return _numpy(factors.loss)


def _confidence(factors: Factors, held_out_loss: Floats, profile: Profile, seed: int) -> Floats:
    return 1.0 - np.exp(-held_out_loss)


# Raw scores by name; low is consistent.
SCORERS: dict[str, Callable[[Factors, Floats, Profile, int], Floats]] = {
    "krum": _krum,
    "norm": _norm,
    "loss": _loss,
    "confidence": _confidence,
}

PROFILES: dict[str, Profile] = {
    "default": Profile(),
    "paper": Profile(epochs=200, k=10, references=0),
}


def profile_of(profile: str | Profile | dict[str, Any]) -> Profile:
    """Return a profile given by name, by what differs from the default, or as it is."""
    if isinstance(profile, str):
        if profile not in PROFILES:
            raise UnknownNameError("profile", profile, PROFILES)
        return PROFILES[profile]
    return replace(PROFILES["default"], **profile) if isinstance(profile, dict) else profile


def score(
    x: Array,
    y: Array,
    task: Task,
    *,
    classes: int = 1,
    groups: np.ndarray[Any, Any] | None = None,
    profile: str | Profile | dict[str, Any] = "default",
    seed: int = 0,
    factors_of: Callable[[], Factors] | None = None,
    progress: Progress | None = None,
) -> Scores:
    """Score samples by how well they agree with the others, as a small network sees them.

    Parameters
    ----------
    x, y
        Features (n, d), any scale; class codes below `classes`, or numbers.
    groups
        Samples of one group are never held out against each other.
    factors_of
        Gives gradient factors of the user's own fitted model; they replace the scoring model's.
    progress
        Called with (what, done, of).
    """
    chosen = profile_of(profile)
    inputs, targets, unscale = _tensors(x, y, task)
    fit = cross_fit(inputs, targets, task, classes, groups, chosen, seed, progress)
    if factors_of is not None:
        factors = factors_of()
    else:
        factors = _scoring_factors(fit, inputs, targets, task, chosen, seed, progress)
    held_out_loss = _numpy(losses(fit.held_out.unsqueeze(0), targets, task)[0])
    raw = SCORERS[chosen.method](factors, held_out_loss, chosen, seed)
    if task == "classification":
        held_out = _numpy(torch.log_softmax(fit.held_out, dim=1))
    else:
        held_out = unscale(_numpy(fit.held_out[:, 0]))
    return Scores(raw, quality(raw), held_out, chosen.epochs or fit.epochs)


def _scoring_factors(
    fit: "CrossFit", x: Tensor, y: Tensor, task: Task, profile: Profile, seed: int, progress: Progress | None
) -> Factors:
    networks = fit.full
    if profile.epochs is not None:
        networks = initialise(networks.shape, [seed])
        data = Data.shared(x, y, torch.ones(1, len(x)))
        with threads(1):
            train(
                networks, data, task, [seed], epochs=profile.epochs, lr=profile.lr,
                batch=profile.batch or 200, on_epoch=_ticker(progress, "scoring model", profile.epochs),
            )  # fmt: skip
    return network_factors(networks, x, y, task)


@dataclass(frozen=True)
class CrossFit:
    """Held-out outputs (n, outputs), and the network trained on everything, and for how long."""

    held_out: Tensor
    full: Networks
    epochs: int


def cross_fit(
    x: Tensor,
    y: Tensor,
    task: Task,
    classes: int,
    groups: np.ndarray[Any, Any] | None,
    profile: Profile,
    seed: int,
    progress: Progress | None = None,
) -> CrossFit:
    """Train networks on folds and on everything until the held-out likelihood is best."""
    n = len(x)
    fold = _folds(_numpy(y), task, groups, profile, n, seed)
    k = int(fold.max()) + 1
    held = torch.as_tensor(fold) == torch.arange(k).unsqueeze(1)
    weight = torch.cat([(~held).float(), torch.ones(1, n)])
    shape = Shape(x.shape[1], profile.hidden, classes if task == "classification" else 1)
    # One seed for all: what differs between the networks is their data.
    networks = initialise(shape, [seed] * (k + 1))
    best = _Best(networks, x, y, held, task, k)
    tick = _ticker(progress, "early stopping", profile.max_epochs)

    def watch(epoch: int) -> bool:
        tick(epoch)
        return best.look(epoch)

    batch = profile.batch or (200 if n <= 10_000 else 1_000)
    with threads(1):
        train(
            networks, Data.shared(x, y, weight), task, [seed] * (k + 1),
            epochs=profile.max_epochs, batch=batch, lr=profile.lr, on_epoch=watch,
        )  # fmt: skip
    assert best.held_out is not None
    return CrossFit(best.held_out, networks.pick([k]), best.stopped)


class _Best:
    """Remembers the epoch with the best held-out loss, and says when to stop looking."""

    def __init__(self, networks: Networks, x: Tensor, y: Tensor, held: Tensor, task: Task, k: int) -> None:
        self.networks, self.x, self.y, self.task, self.k = networks, x, y, task, k
        self.held = [held[i].nonzero().squeeze(1) for i in range(k)]
        self.loss, self.epoch, self.stopped = float("inf"), 0, 0
        self.held_out: Tensor | None = None

    def look(self, epoch: int) -> bool:
        self.stopped = epoch
        outputs = self._outputs()
        loss = float(losses(outputs.unsqueeze(0), self.y, self.task).mean())
        if loss < self.loss or self.held_out is None:
            self.loss, self.epoch, self.held_out = loss, epoch, outputs
        # Half as long again without a better epoch settles it, and is as far as the full network goes.
        return epoch >= self.epoch + max(5, self.epoch // 2)

    def _outputs(self) -> Tensor:
        outputs = torch.empty(len(self.x), self.networks.shape.outputs)
        for i, rows in enumerate(self.held):
            one = Networks(self.networks.shape, self.networks.flat[i : i + 1])
            outputs[rows] = predict(one, self.x[rows])[0]
        return outputs


def _folds(
    y: np.ndarray[Any, Any],
    task: Task,
    groups: np.ndarray[Any, Any] | None,
    profile: Profile,
    n: int,
    seed: int,
) -> Ints:
    """As many folds as asked for, fewer where there are fewer items, cheaper ones where n is large."""
    items = n if groups is None else len(np.unique(groups))
    k = max(2, min(profile.folds if n <= 10_000 else min(profile.folds, 3), items))
    if items < 2:
        return np.zeros(n, dtype=np.int64)
    labels = y if task == "classification" else None
    if labels is None and groups is None:
        groups = np.arange(n)
    return assign_folds(labels, groups, k, np.random.default_rng(seed))


def standardise(x: Floats) -> Floats:
    """Centre and scale columns; constant columns become 0."""
    spread = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0))


def _tensors(x: Array, y: Array, task: Task) -> tuple[Tensor, Tensor, Callable[[Floats], Floats]]:
    inputs = torch.as_tensor(standardise(np.asarray(x, dtype=np.float64)), dtype=torch.float32)
    if task == "classification":
        return inputs, torch.as_tensor(np.asarray(y), dtype=torch.long), lambda z: z
    values = np.asarray(y, dtype=np.float64)
    centre, spread = float(values.mean()), float(values.std()) or 1.0
    return (
        inputs,
        torch.as_tensor((values - centre) / spread, dtype=torch.float32),
        lambda z: z * spread + centre,
    )


def _numpy(tensor: Tensor) -> Floats:
    return tensor.double().cpu().numpy()


def _ticker(progress: Progress | None, what: str, of: int) -> Callable[[int], bool]:
    def tick(epoch: int) -> bool:
        if progress is not None:
            progress(what, epoch, of)
        return False

    return tick
