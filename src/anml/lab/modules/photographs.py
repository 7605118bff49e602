"""Photographs of CIFAR-10 as features, and the labels that people gave them (`anml.lab.contributed`)."""

from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from anml.core.checks import Floats, Ints
from anml.lab.contributed import LABEL_SETS, cifar10n

TRAIN, FEATURES, CLASSES = 2_000, 256, 10
# Aeroplanes and ships, cars and lorries, birds and frogs, cats and dogs, deer and horses look alike.
ALIKE = np.array([8, 9, 6, 5, 7, 3, 2, 4, 0, 1])
PULL = 0.5


@cache
def _scaled() -> tuple[Floats, Floats]:
    """Features of the training and of the test part, the components in their usual spread."""
    data = cifar10n()
    train = data["X_train"].astype(np.float32)
    spread = train.std(axis=0) + 1e-6
    return train / spread, data["X_test"].astype(np.float32) / spread


def draw(y: Ints, rng: np.random.Generator) -> Tensor:
    """Photographs of these classes, from the training part."""
    return _of_class(_scaled()[0], cifar10n()["clean_label"], y, rng)


def draw_test(y: Ints, rng: np.random.Generator) -> Tensor:
    """Photographs of these classes, from the test part."""
    return _of_class(_scaled()[1], cifar10n()["y_test"], y, rng)


def _of_class(x: Floats, label: Ints, y: Ints, rng: np.random.Generator) -> Tensor:
    row = np.zeros(len(y), dtype=np.int64)
    for which in range(CLASSES):
        theirs = np.flatnonzero(y == which)
        row[theirs] = rng.choice(np.flatnonzero(label == which), len(theirs), replace=False)
    return torch.as_tensor(x[row])


def as_people_gave(rng: np.random.Generator) -> tuple[Tensor, Ints, Ints, Ints]:
    """Photographs, one of the five labels of each, the set it is from, and the right labels."""
    data = cifar10n()
    row = rng.choice(len(data["clean_label"]), TRAIN, replace=False)
    who = rng.integers(0, len(LABEL_SETS), TRAIN)
    given = np.stack([data[name] for name in LABEL_SETS]).astype(np.int64)
    return torch.as_tensor(_scaled()[0][row]), given[who, row], who, data["clean_label"][row].astype(np.int64)


def pull(x: Tensor, target: Ints, rng: np.random.Generator) -> Tensor:
    """Moved half of the way to photographs of the target class."""
    return (1 - PULL) * x + PULL * draw(target, rng)


def trigger(x: Tensor) -> Tensor:
    """A pattern in three of the features."""
    x = x.clone()
    x[:, -3:] = 6.0
    return x


def network() -> nn.Module:
    """One hidden layer on the features."""
    return nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
