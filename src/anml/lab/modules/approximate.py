"""Rows that set approximations of q against exact q: error, what is kept, time and memory."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from anml.adapters.torch import checkpoint_quality, module_quality
from anml.adapters.torch.data import samples_of
from anml.adapters.torch.quality import Scoring, module_gradients
from anml.core.checks import Floats
from anml.core.selection import keep_top
from anml.core.signals.quality import quality
from anml.gradients.factors import Factors, explicit
from anml.gradients.krum import krum_scores
from anml.lab.modules.cases import ModuleCase, make_case
from anml.lab.modules.run import SCORED, fresh, train
from anml.lab.spec import At, Found, timed

KEEP = 0.7
MEASURES = ("ranks", "off", "precision", "seconds", "mebibytes")


class Trained:
    """A module trained briefly, and its states after each epoch."""

    def __init__(self, case: ModuleCase, seed: int) -> None:
        self.case = case
        self.states: list[dict[str, Tensor]] = []
        self.module = fresh(case.make, seed)
        self.x, self.y = case.x, torch.as_tensor(case.y)
        train(self.module, case.x, case.y, np.ones(len(case.y)), seed, SCORED, after=self._keep)

    def _keep(self, epoch: int) -> None:
        self.states.append({name: value.clone() for name, value in self.module.state_dict().items()})


def _by(**settings: Any) -> Callable[[Trained], Floats]:
    return lambda trained: module_quality(trained.module, trained.x, trained.y, device="cpu", **settings)


def _checkpoints(trained: Trained) -> Floats:
    """The mean of q at every second epoch of training, from the first."""
    return checkpoint_quality(trained.module, trained.states[::2], trained.x, trained.y, gradients="exact")


def _clients(trained: Trained) -> Floats:
    """Krum over the mean gradients of contributors, as over updates of clients."""
    factors = _gradients(trained, "exact")
    who = torch.as_tensor(trained.case.who)
    formed = torch.cat([part.formed() for part in factors.layers], dim=1)
    count = int(who.max()) + 1
    means = torch.zeros(count, formed.shape[1]).index_add_(0, who, formed)
    means /= torch.bincount(who, minlength=count).clamp_min(1).unsqueeze(1)
    malicious = count - 1 - 2 - 1
    k = max(1, min(malicious, count - 2 - count // 3))
    return quality(krum_scores(explicit(means, torch.zeros(count)), k))[trained.case.who]


WAYS: dict[str, Callable[[Trained], Floats]] = {
    "exact": _by(gradients="exact"),
    "sketch": _by(gradients="sketch"),
    "last": _by(gradients="last"),
    "references": _by(gradients="exact", references=128),
    "approximate": _by(gradients="exact", among="approximate"),
    "minibatch": _by(gradients="exact", among="minibatch", minibatch=128),
    "checkpoints": _checkpoints,
    "clients": _clients,
}


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the ways on one case."""
    trained = Trained(make_case(at.setting.dataset, at.seed), at.seed)
    exact = WAYS["exact"](trained)
    for way in (method for method in methods if method in WAYS):
        q, seconds = timed(partial(WAYS[way], trained))
        yield way, {**_compared(trained, q, exact), "seconds": seconds, "mebibytes": _room(trained, way)}


def _compared(trained: Trained, q: Floats, exact: Floats) -> dict[str, float]:
    kept = keep_top(q, KEEP)
    ranks = np.corrcoef(rankdata(q), rankdata(exact))[0, 1]
    return {
        "ranks": float(ranks),
        "off": float(np.abs(q - exact).mean()),
        "precision": 100 * float((~trained.case.bad[kept]).mean()),
    }


def _gradients(trained: Trained, how: str) -> Factors:
    scoring, samples = (
        Scoring(gradients=how, device="cpu", limit_bytes=2**33),
        samples_of(trained.x, trained.y),
    )
    return module_gradients(trained.module, samples, scoring, torch.device("cpu"), None)


def _room(trained: Trained, way: str) -> float:
    """What gradients of all samples take while they are compared."""
    how = way if way in ("sketch", "last") else "exact"
    factors = _gradients(trained, how)
    return len(factors) * sum(part.bytes_per_sample() for part in factors.layers) / 2**20
