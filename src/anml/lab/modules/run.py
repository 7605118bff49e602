"""Rows of experiments on a convolutional network and a transformer: one per case, method and seed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anml.adapters.torch import Reweigher, module_quality
from anml.assess.assess import Known
from anml.core.checks import Bools, Floats, Ints
from anml.core.domain import Recipe
from anml.core.folds import assign_folds
from anml.core.weigh import weigh
from anml.lab.belief import assessed
from anml.lab.modules.cases import TARGET, ModuleCase, make_case
from anml.lab.spec import At, Found, timed

EPOCHS, BATCH, RATE = 12, 32, 4e-3
# Epochs before q is scored, and of held-out networks: what is memorised has no gradient.
SCORED, FOLDS = 4, 3


def fresh(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """A module with weights of a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def train(
    module: nn.Module, x: Tensor, y: Ints, weight: Floats, seed: int, epochs: int = EPOCHS,
    after: Callable[[int], None] | None = None, weights: Callable[[], Floats] | None = None,
) -> nn.Module:  # fmt: skip
    """Train on weighted losses; `after` is told of each epoch, `weights` may change between epochs."""
    generator = torch.Generator().manual_seed(seed)
    targets = torch.as_tensor(y)
    optimiser = torch.optim.Adam(module.parameters(), lr=RATE)
    module.train()
    for epoch in range(epochs):
        current = torch.as_tensor(weight if weights is None else weights(), dtype=torch.float32)
        for rows in torch.split(torch.randperm(len(y), generator=generator), BATCH):
            if float(current[rows].sum()) <= 0:
                continue
            optimiser.zero_grad()
            each = nn.functional.cross_entropy(module(x[rows]), targets[rows], reduction="none")
            (each * current[rows]).mean().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        if after is not None:
            after(epoch + 1)
    return module


def predicted(module: nn.Module, x: Tensor) -> Floats:
    """Class probabilities."""
    module.eval()
    with torch.no_grad():
        return np.asarray(torch.softmax(module(x).double(), dim=1).numpy())


def held_out(make: Callable[[], nn.Module], x: Tensor, y: Ints, seed: int) -> Floats:
    """Class probabilities of each row by modules that did not see it."""
    fold = assign_folds(y, None, FOLDS, np.random.default_rng(seed))
    out = np.zeros((len(y), int(y.max()) + 1))
    for held in range(FOLDS):
        learn, asked = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        module = train(fresh(make, seed), x[learn], y[learn], np.ones(len(learn)), seed, SCORED + 2)
        out[asked] = predicted(module, x[asked])
    return out


# Methods beside the recipes.
PEERS = ("reweigher", "oracle")
# Epochs at which the loss on test data is measured.
LOOKS = (1, 2, 4, 8, EPOCHS)
MEASURES = ("error", "precision", "kept", "attack", "seconds", *(f"loss_{epoch}" for epoch in LOOKS))


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the methods on one case."""
    case, recipes = make_case(at.setting.dataset, at.seed), at.experiment.methods
    by_q = [m for m in methods if m in recipes and recipes[m].combine not in ("uniform", "evidence")]
    # q is scored once for all recipes that go by it, and each is charged for it.
    q, spent = timed(partial(_quality, case, at.seed)) if by_q else (np.empty(0), 0.0)
    for method in methods:
        found, seconds = timed(partial(_measured, recipes.get(method), method, case, at.seed, q))
        yield method, {**found, "seconds": seconds + spent * (method in by_q)}


def _quality(case: ModuleCase, seed: int) -> Floats:
    scorer = train(fresh(case.make, seed), case.x, case.y, np.ones(len(case.y)), seed, SCORED)
    return module_quality(scorer, case.x, case.y, device="cpu")


def _measured(recipe: Recipe | None, method: str, case: ModuleCase, seed: int, q: Floats) -> dict[str, float]:
    losses: dict[str, float] = {}
    module = fresh(case.make, seed)

    def look(epoch: int) -> None:
        if reweigher is not None:
            reweigher.end_epoch(module)
        if epoch in LOOKS:
            p = predicted(module, case.test_x)[np.arange(len(case.test_y)), case.test_y]
            losses[f"loss_{epoch}"] = float(-np.log(p + 1e-12).mean())
        module.train()

    reweigher = None
    x, y, weight = case.x, case.y, np.ones(len(case.y))
    if method == "reweigher":
        with torch.no_grad():
            reweigher = Reweigher(
                case.x, torch.as_tensor(case.y), contributor=case.who, v=case.v, r=case.r, warmup=2, seed=seed
            )
        train(module, x, y, weight, seed, after=look, weights=lambda: reweigher.weights)
        kept = reweigher.weighting.kept
    elif recipe is None:  # the oracle
        train(module, case.clean, case.truth, weight, seed, after=look)
        kept = ~case.bad
    else:
        weight, kept = _weighed(recipe, case, seed, q)
        train(module, x, y, weight, seed, after=look)
    return {**_scored(case, module, kept), **losses}


def _weighed(recipe: Recipe, case: ModuleCase, seed: int, q: Floats) -> tuple[Floats, Bools]:
    if recipe.combine == "uniform":
        return np.ones(len(case.y)), np.ones(len(case.y), dtype=bool)
    if recipe.combine == "evidence":
        known = Known(
            contributor=case.who, verification=case.v, reputation=case.r,
            predictions=held_out(case.make, case.x, case.y, seed),
        )  # fmt: skip
        nothing, classes = np.zeros((len(case.y), 0)), int(case.truth.max()) + 1
        weighting = assessed(nothing, case.y, classes, known, seed, recipe=recipe).weighting
        return weighting.sample_weight(), weighting.kept
    weighting = weigh(q, case.v, case.r, recipe=recipe)
    return weighting.sample_weight(), weighting.kept


def _scored(case: ModuleCase, module: Any, kept: Bools) -> dict[str, float]:
    wrong = predicted(module, case.test_x).argmax(axis=1) != case.test_y
    found = {
        "error": 100 * float(wrong.mean()),
        "precision": 100 * float((~case.bad[kept]).mean()) if kept.any() else 0.0,
        "kept": 100 * float(kept.mean()),
        "attack": np.nan,
    }
    if case.triggered is not None:
        found["attack"] = 100 * float((predicted(module, case.triggered).argmax(axis=1) == TARGET).mean())
    return found
