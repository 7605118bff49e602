"""Rows that set approximations of q against exact q: error, what is kept, time and memory."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anml.adapters.torch import checkpoint_quality, module_quality
from anml.adapters.torch.data import samples_of
from anml.adapters.torch.quality import Scoring, module_gradients
from anml.core.checks import Floats
from anml.core.selection import keep_top
from anml.core.signals.quality import quality
from anml.gradients.factors import Factors, explicit
from anml.gradients.krum import krum_scores
from anml.lab.measures import Measured, Outcome, of_labels, of_test, rank_correlation
from anml.lab.modules.cases import make_case, make_module
from anml.lab.modules.run import SCORED, classes_of, fresh, train
from anml.lab.seen import Case
from anml.lab.spec import At, Found, timed

KEEP = 0.7


class Trained:
    """A module trained briefly, and its states after each epoch."""

    def __init__(self, name: str, case: Case) -> None:
        self.make, self.case, seen = partial(make_module, name), case, case.seen
        self.states: list[dict[str, Tensor]] = []
        self.module = fresh(self.make, seen.seed)
        self.x, self.y = seen.x, torch.as_tensor(seen.y)
        train(
            self.module, seen.x, seen.y, np.ones(len(seen.y)), seen.seed, SCORED,
            after=lambda epoch: self.states.append(deepcopy(self.module.state_dict())),
        )  # fmt: skip


def _by(**settings: Any) -> Callable[[Trained], Floats]:
    return lambda trained: module_quality(trained.module, trained.x, trained.y, device="cpu", **settings)


def _clients(trained: Trained) -> Floats:
    """Krum over the mean gradients of contributors, as over updates of clients."""
    factors = _gradients(trained, "exact")
    who = torch.as_tensor(trained.case.seen.contributor)
    formed = torch.cat([part.formed() for part in factors.layers], dim=1)
    count = int(who.max()) + 1
    means = torch.zeros(count, formed.shape[1]).index_add_(0, who, formed)
    means /= torch.bincount(who, minlength=count).clamp_min(1).unsqueeze(1)
    k = max(1, min(count - 4, count - 2 - count // 3))
    q = quality(krum_scores(explicit(means, torch.zeros(count)), k))
    return np.asarray(q[trained.case.seen.contributor])


WAYS: dict[str, Callable[[Trained], Floats]] = {
    "exact": _by(gradients="exact"),
    "sketch": _by(gradients="sketch"),
    "last": _by(gradients="last"),
    "references": _by(gradients="exact", references=128),
    "approximate": _by(gradients="exact", among="approximate"),
    "minibatch": _by(gradients="exact", among="minibatch", minibatch=128),
    # The mean of q at every second epoch of training, from the first.
    "checkpoints": lambda trained: checkpoint_quality(
        trained.module, trained.states[::2], trained.x, trained.y, gradients="exact"
    ),
    "clients": _clients,
}


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the ways on one case."""
    trained = Trained(at.setting.dataset, make_case(at.setting.dataset, at.seed))
    exact, first = timed(partial(WAYS["exact"], trained))
    for way in methods:
        q, seconds = (exact, first) if way == "exact" else timed(partial(WAYS[way], trained))
        found = {**_compared(trained, q, exact), "seconds": seconds}
        yield way, {**found, "mebibytes": _room(trained, way)}


def _compared(trained: Trained, q: Floats, exact: Floats) -> Measured:
    """Agreement with exact q, and a module that is trained on what is kept."""
    case, kept = trained.case, keep_top(q, KEEP)
    seen, seed = case.seen.part(kept), case.seen.seed
    module = train(fresh(trained.make, seed), seen.x, seen.y, np.ones(len(seen.y)), seed)
    agreed = {"ranks": rank_correlation(q, exact), "off": float(np.abs(q - exact).mean())}
    return {**agreed, **of_labels(case, Outcome(kept=kept)), **of_test(case, classes_of(module))}


def _gradients(trained: Trained, how: str) -> Factors:
    scoring = Scoring(gradients=how, device="cpu", limit_bytes=2**33)
    samples = samples_of(trained.x, trained.y)
    return module_gradients(trained.module, samples, scoring, torch.device("cpu"), None)


def _room(trained: Trained, way: str) -> float:
    """What gradients of all samples take while they are compared."""
    how = way if way in ("sketch", "last") else "exact"
    factors = _gradients(trained, how)
    return len(factors) * sum(part.bytes_per_sample() for part in factors.layers) / 2**20
