"""Rows that set approximations of q against exact q: error, what is kept, time and memory."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Floats
from anml.gradients.factors import materialised_factors
from anml.gradients.sample_krum_torch import krum_scores
from anml.networks.factors import Factors
from anml.signals.quality import scale_scores
from anml.torch import checkpoint_quality, module_quality
from anml.torch.data import samples_of
from anml.torch.quality import Gradients, Scoring, module_gradients
from anml.weighting.selection import keep_top
from experiments.measures import Measured, Outcome, of_labels, of_test, rank_correlation
from experiments.modules.cases import make_case, make_module
from experiments.modules.run import SCORED, classes_of, new_module, train
from experiments.modules.searches import cell_scores, minibatch_scores
from experiments.seen import Case
from experiments.spec import Found, TrialContext, timed

KEEP, K = 0.7, 10


class Trained:
    """A module trained briefly, and its states after each epoch."""

    def __init__(self, name: str, case: Case) -> None:
        self.make, self.case, inputs = partial(make_module, name), case, case.seen
        self.states: list[dict[str, Tensor]] = []
        self.module = new_module(self.make, inputs.seed)
        self.x, self.y = inputs.x, torch.as_tensor(inputs.y)
        train(
            self.module, inputs.x, inputs.y, np.ones(len(inputs.y)), inputs.seed, SCORED,
            after=lambda epoch: self.states.append(deepcopy(self.module.state_dict())),
        )  # fmt: skip


def _by(**settings: Any) -> Callable[[Trained], Floats]:
    return lambda trained: module_quality(trained.module, trained.x, trained.y, device="cpu", **settings)


def _clients(trained: Trained) -> Floats:
    """Krum over the mean gradients of contributors, as over updates of clients."""
    factors = _gradients(trained, "exact")
    contributors = torch.as_tensor(trained.case.seen.contributor)
    formed = torch.cat([part.formed() for part in factors.layers], dim=1)
    count = int(contributors.max()) + 1
    means = torch.zeros(count, formed.shape[1]).index_add_(0, contributors, formed)
    means /= torch.bincount(contributors, minlength=count).clamp_min(1).unsqueeze(1)
    k = max(1, min(count - 4, count - 2 - count // 3))
    q = scale_scores(krum_scores(materialised_factors(means, torch.zeros(count)), k))
    return np.asarray(q[trained.case.seen.contributor])


APPROXIMATIONS: dict[str, Callable[[Trained], Floats]] = {
    "exact": _by(gradients="exact"),
    "sketch": _by(gradients="sketch"),
    "last": _by(gradients="last"),
    "references": _by(gradients="exact", neighbors={"references": 128}),
    "approximate": lambda trained: scale_scores(cell_scores(_gradients(trained, "exact"), K)),
    "minibatch": lambda trained: scale_scores(minibatch_scores(_gradients(trained, "exact"), K, 128)),
    # The mean of q at every second epoch of training, from the first.
    "checkpoints": lambda trained: checkpoint_quality(
        trained.module, trained.states[::2], trained.x, trained.y, gradients="exact"
    ),
    "clients": _clients,
}


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of the ways on one case."""
    trained = Trained(at.setting.dataset, make_case(at.setting.dataset, at.seed))
    exact, first = timed(partial(APPROXIMATIONS["exact"], trained))
    for way in methods:
        q, seconds = (exact, first) if way == "exact" else timed(partial(APPROXIMATIONS[way], trained))
        result = {**_compared(trained, q, exact), "seconds": seconds}
        yield way, {**result, "mebibytes": _memory_bytes(trained, way)}


def _compared(trained: Trained, q: Floats, exact: Floats) -> Measured:
    """Agreement with exact q, and a module that is trained on what is kept."""
    case, kept = trained.case, keep_top(q, KEEP)
    inputs, seed = case.seen.part(kept), case.seen.seed
    module = train(new_module(trained.make, seed), inputs.x, inputs.y, np.ones(len(inputs.y)), seed)
    agreed = {"ranks": rank_correlation(q, exact), "off": float(np.abs(q - exact).mean())}
    return {**agreed, **of_labels(case, Outcome(kept=kept)), **of_test(case, classes_of(module))}


def _gradients(trained: Trained, how: str) -> Factors:
    scoring = Scoring(gradients=Gradients(method=how, limit_bytes=2**33), device="cpu")
    samples = samples_of(trained.x, trained.y)
    return module_gradients(trained.module, samples, scoring, torch.device("cpu"), None)


def _memory_bytes(trained: Trained, way: str) -> float:
    """Memory of the gradients of all samples during comparison, in MiB."""
    how = way if way in ("sketch", "last") else "exact"
    factors = _gradients(trained, how)
    return float(len(factors) * sum(part.bytes_per_sample() for part in factors.layers) / 2**20)
