"""The scoring model: a small network, stopped before it memorises, as memorised labels have no gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Array, Floats
from anml.core.domain import Task
from anml.core.profile import Profile, profile_of
from anml.core.progress import Progress, ticker
from anml.core.signals.quality import neighbours, quality
from anml.core.stats import standardise
from anml.gradients.crossfit import CrossFit, as_numpy, as_tensors, cross_fit
from anml.gradients.factors import Factors, network_factors
from anml.gradients.krum import krum_scores
from anml.gradients.mlp import Data, initialise, losses, train
from anml.gradients.threads import threads

# Above this many samples neighbours are sought among random references.
EXACT_UP_TO = 10_000
REFERENCES = 2_048
# Above this many pairs distances are worth all threads.
MANY_PAIRS = 4_000_000


@dataclass(frozen=True)
class Scores:
    """What the scoring model, trained for `epochs`, saw: raw scores, low is consistent, and q in [0, 1].

    `held_out` are predictions that did not see the item: log-probabilities (n, classes), or numbers (n,).
    """

    raw: Floats
    q: Floats
    held_out: Floats
    epochs: int


def _krum(factors: Factors, held_out_loss: Floats, profile: Profile, seed: int) -> Floats:
    n = len(factors)
    usual = REFERENCES if n > EXACT_UP_TO else n
    pool = min(n, (usual if profile.references is None else profile.references) or n)
    # Waking a second thread costs more than the distances of a few thousand samples.
    with threads(0 if n * pool > MANY_PAIRS else 1):
        return krum_scores(factors, neighbours(pool, profile.k, profile.malicious), pool, seed)


# Raw scores by name (`SCORES`); low is consistent.
SCORERS: dict[str, Callable[[Factors, Floats, Profile, int], Floats]] = {
    "krum": _krum,
    "norm": lambda factors, *_: as_numpy(factors.norms()),
    "loss": lambda factors, *_: as_numpy(factors.loss),
    "confidence": lambda _, held_out_loss, *rest: 1.0 - np.exp(-held_out_loss),
}


def score(
    x: Array, y: Array, task: Task, *, classes: int = 1, groups: Array | None = None,
    profile: str | Profile | dict[str, Any] = "default", seed: int = 0, device: str = "cpu",
) -> Scores:  # fmt: skip
    """Score samples by how well they agree with the others, as a small network sees them.

    Features `x` (n, d) have any scale; `y` are class codes below `classes`, or numbers. Samples of one of
    `groups` are never held out against each other.
    """
    chosen = profile_of(profile)
    inputs, targets, unscale = as_tensors(standardise(np.asarray(x, dtype=np.float64)), y, task, device)
    fit = cross_fit(inputs, targets, task, classes, groups, chosen, seed)
    held_out_loss = as_numpy(losses(fit.held_out.unsqueeze(0), targets, task)[0])
    raw = raw_scores(fit, inputs, targets, task, held_out_loss, chosen, seed)
    return Scores(raw, quality(raw), held_out_predictions(fit, task, unscale), chosen.epochs or fit.epochs)


def raw_scores(
    fit: CrossFit, x: Tensor, y: Tensor, task: Task, held_out_loss: Floats, profile: Profile, seed: int,
    progress: Progress | None = None,
) -> Floats:  # fmt: skip
    """Raw scores by networks that are there, or by one trained anew where a profile names the epochs."""
    networks = fit.full
    if profile.epochs is not None:
        networks = initialise(networks.shape, [seed], x.device)
        data = Data.shared(x, y, torch.ones(1, len(x), device=x.device))
        with threads(1):
            train(
                networks, data, task, [seed], epochs=profile.epochs, lr=profile.lr,
                batch=profile.batch or 200, on_epoch=ticker(progress, "scoring model", profile.epochs),
            )  # fmt: skip
    return SCORERS[profile.method](network_factors(networks, x, y, task), held_out_loss, profile, seed)


def held_out_predictions(fit: CrossFit, task: Task, unscale: Callable[[Floats], Floats]) -> Floats:
    """Log-probabilities (n, classes), or numbers (n,) in the units of the labels."""
    if task == "classification":
        return as_numpy(torch.log_softmax(fit.held_out, dim=1))
    return unscale(as_numpy(fit.held_out[:, 0]))
