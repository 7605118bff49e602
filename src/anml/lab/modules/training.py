"""Training a module on a case with weights, and what it is worth then."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from anml.core.checks import Floats, Ints
from anml.core.folds import assign_folds

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
