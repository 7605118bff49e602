"""Rows of experiments on a convolutional network and a transformer: one per case, method and seed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from anml.core import folds
from anml.core.checks import Bools, Floats, Ints
from anml.core.types import Recipe
from anml.torch import module_quality
from anml.weighting.weigh import weigh
from experiments.belief import run_assessment
from experiments.measures import Measured, Outcome, Predict, of_labels, of_test
from experiments.modules.cases import make_case, make_module
from experiments.seen import Case, MethodInput
from experiments.spec import Found, TrialContext, timed

Make = Callable[[], nn.Module]
EPOCHS, BATCH, LEARNING_RATE = 12, 32, 4e-3
# Epochs before q is scored, and of held-out networks: what is memorised has no gradient.
SCORED, FOLDS = 4, 3


def new_module(make: Make, seed: int) -> nn.Module:
    """A module with weights of a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def train(
    module: nn.Module, x: Tensor, y: Ints, weight: Floats, seed: int, epochs: int = EPOCHS,
    after: Callable[[int], None] | None = None,
) -> nn.Module:  # fmt: skip
    """Train on weighted losses; call `after` with the number of each epoch."""
    generator = torch.Generator().manual_seed(seed)
    targets = torch.as_tensor(y)
    optimiser = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
    module.train()
    current = torch.as_tensor(weight, dtype=torch.float32)
    for epoch in range(epochs):
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


def classes_of(module: nn.Module) -> Predict:
    """Predict the likeliest class."""
    return lambda x: predicted(module, x).argmax(axis=1)


def held_out(make: Make, inputs: MethodInput) -> Floats:
    """Class probabilities of each row by modules that did not see it."""
    x, y, seed = inputs.x, inputs.y, inputs.seed

    def said(learn: Ints, asked: Ints, fold: int) -> Floats:
        module = train(new_module(make, seed), x[learn], y[learn], np.ones(len(learn)), seed, SCORED + 2)
        return predicted(module, x[asked])

    fold = folds.assign_folds(y, None, FOLDS, np.random.default_rng(seed))
    return folds.cross_fit_predictions(fold, said, (int(y.max()) + 1,))


# Methods beside the recipes.
PEERS = ("oracle",)
# Epochs at which the loss on test data is measured.
CHECKPOINTS = (1, 2, 4, 8, EPOCHS)


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of the methods on one case."""
    name, recipes = at.setting.dataset, at.experiment.methods
    case, make = make_case(name, at.seed), partial(make_module, name)
    by_q = [m for m in methods if m in recipes and recipes[m].combine not in ("uniform", "evidence")]
    # q is scored once for all recipes that go by it, and each is charged for it.
    q, spent = timed(partial(_quality, make, case.seen)) if by_q else (np.empty(0), 0.0)
    for method in methods:
        result, seconds = timed(partial(_measured, recipes.get(method), method, make, case, q))
        yield method, {**result, "seconds": seconds + spent * (method in by_q)}


def _quality(make: Make, inputs: MethodInput) -> Floats:
    scorer = train(
        new_module(make, inputs.seed), inputs.x, inputs.y, np.ones(len(inputs.y)), inputs.seed, SCORED
    )
    return module_quality(scorer, inputs.x, inputs.y, device="cpu")


def _measured(recipe: Recipe | None, method: str, make: Make, case: Case, q: Floats) -> Measured:
    losses: Measured = {}
    inputs, truth, seed = case.seen, case.truth, case.seen.seed
    module = new_module(make, seed)

    def look(epoch: int) -> None:
        if epoch in CHECKPOINTS:
            p = predicted(module, truth.x_test)[np.arange(len(truth.y_test)), truth.y_test]
            losses[f"loss_{epoch}"] = float(-np.log(p + 1e-12).mean())
        module.train()

    weight = np.ones(len(inputs.y))
    if recipe is None:  # the oracle
        train(module, *case.bound, weight, seed, after=look)
        kept = case.right
    else:
        weight, kept = _weighed(recipe, make, inputs, q)
        train(module, inputs.x, inputs.y, weight, seed, after=look)
    return {**of_test(case, classes_of(module)), **of_labels(case, Outcome(kept=kept)), **losses}


def _weighed(recipe: Recipe, make: Make, inputs: MethodInput, q: Floats) -> tuple[Floats, Bools]:
    if recipe.combine == "uniform":
        return np.ones(len(inputs.y)), np.ones(len(inputs.y), dtype=bool)
    if recipe.combine == "evidence":
        nothing = replace(inputs, x=np.zeros((len(inputs.y), 0)))
        weighting = run_assessment(nothing, recipe=recipe, predictions=held_out(make, inputs)).weighting
    else:
        weighting = weigh(q, inputs.v, inputs.r, recipe=recipe)
    return weighting.sample_weight(), weighting.kept
