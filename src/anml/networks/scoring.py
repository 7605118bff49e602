"""The scoring model: a small network, stopped before it memorises, as memorised labels have no gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Array, Floats
from anml.core.profile import Profile, profile_of
from anml.core.progress import Progress, ticker
from anml.core.stats import standardise
from anml.core.types import Task
from anml.networks.backend import NUMPY, Backend
from anml.networks.crossfit import CrossFit, cross_fit, scale_targets
from anml.networks.factors import network_factors
from anml.networks.mlp import TrainingData, log_softmax, losses, to_numpy, train
from anml.signals.quality import krum_neighbours, scale_scores

# Above this many samples neighbours are sought among random references.
EXACT_UP_TO = 10_000
REFERENCES = 2_048
# Above this many pairs distances are worth all threads.
MANY_PAIRS = 4_000_000


@dataclass(frozen=True)
class Scores:
    """Raw scores of a scoring model trained for `epochs`, low is consistent, and q in [0, 1].

    `held_out` are held-out predictions: log-probabilities (n, classes), or numbers (n,).
    """

    raw: Floats
    q: Floats
    held_out: Floats
    epochs: int


def _krum(factors: Any, held_out_loss: Floats, profile: Profile, seed: int, backend: Backend) -> Floats:
    n = len(factors)
    default = REFERENCES if n > EXACT_UP_TO else n
    pool = min(n, (default if profile.references is None else profile.references) or n)
    # Waking a second thread costs more than the distances of a few thousand samples.
    with backend.limit_threads(0 if n * pool > MANY_PAIRS else 1):
        return backend.krum_scores(factors, krum_neighbours(pool, profile.k, profile.malicious), pool, seed)


# Raw scores by name (`SCORE_METHODS`); low is consistent.
SCORERS: dict[str, Callable[[Any, Floats, Profile, int, Backend], Floats]] = {
    "krum": _krum,
    "norm": lambda factors, *_: to_numpy(factors.norms()),
    "loss": lambda factors, *_: to_numpy(factors.loss),
    "confidence": lambda factors, loss, *_: 1.0 - np.exp(-loss),
}


def score(
    x: Array, y: Array, task: Task, *, classes: int = 1, groups: Array | None = None,
    profile: str | Profile | dict[str, Any] = "default", seed: int = 0, backend: Backend = NUMPY,
) -> Scores:  # fmt: skip
    """Score samples by the agreement of their gradients in a small network with those of the others.

    Features `x` (n, d) have any scale; `y` are class codes below `classes`, or numbers. Samples of one of
    `groups` are never held out against each other.
    """
    chosen = profile_of(profile)
    inputs = standardise(np.asarray(x, dtype=np.float64))
    targets, unscale = scale_targets(y, task)
    fit = cross_fit(inputs, targets, task, classes, groups, chosen, seed, backend=backend)
    held_out_loss = losses(fit.held_out[None], targets, task)[0]
    raw = raw_scores(fit, inputs, targets, task, held_out_loss, chosen, seed)
    return Scores(
        raw, scale_scores(raw), held_out_predictions(fit, task, unscale), chosen.epochs or fit.epochs
    )


def raw_scores(
    fit: CrossFit, x: Array, y: Array, task: Task, held_out_loss: Floats, profile: Profile, seed: int,
    progress: Progress | None = None,
) -> Floats:  # fmt: skip
    """Return raw scores by the full network of a fit, or by a new one where a profile names the epochs."""
    networks, backend = fit.full, fit.backend
    inputs, targets = backend.as_data(x, y, task)
    if profile.epochs is not None:
        networks = backend.initialise(networks.shape, [seed])
        data = TrainingData.shared(inputs, targets, np.ones((1, len(x)), dtype=np.float32))
        with backend.limit_threads(1):
            train(
                networks, data, task, [seed], epochs=profile.epochs, lr=profile.lr,
                batch=profile.batch or 200, on_epoch=ticker(progress, "scoring model", profile.epochs),
            )  # fmt: skip
    factors = network_factors(networks, inputs, targets, task)
    return SCORERS[profile.method](factors, held_out_loss, profile, seed, backend)


def held_out_predictions(fit: CrossFit, task: Task, unscale: Callable[[Floats], Floats]) -> Floats:
    """Return log-probabilities (n, classes), or numbers (n,) in the units of the labels."""
    if task == "classification":
        return np.asarray(log_softmax(fit.held_out))
    return unscale(fit.held_out[:, 0])
