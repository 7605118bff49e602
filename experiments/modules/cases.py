"""Pictures, texts, photographs and tables under attack: six of twenty contributors are bad."""

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from anml.core.checks import Bools, Floats, Ints
from anml.core.stats import standardise
from experiments import attacks
from experiments.data import LABEL_SETS, Dataset, cifar10n, load_dataset
from experiments.seen import Case, GroundTruth, MethodInput, Trigger

CLASSES, N_CONTRIBUTORS, BAD = 4, 20, 6
TRAIN, TEST = 600, 500
# Photographs are of CIFAR-10, by their features, with the labels that people gave them.
PHOTOGRAPHS, FEATURES = 2_000, 256
# Aeroplanes and ships, cars and lorries, birds and frogs, cats and dogs, deer and horses look alike.
LOOKALIKE_CLASS = np.array([8, 9, 6, 5, 7, 3, 2, 4, 0, 1])
IMAGE_SIZE, VOCABULARY_SIZE, LENGTH = 12, 64, 16
# Labels of bad contributors that are wrong, and how far aligned poison goes towards its target.
ERROR_RATE, PULL = 0.9, 0.5
TARGET = 0


class ModuleKind(NamedTuple):
    """Kind of data: functions to draw, attack and learn it; `alike` is the most similar class of each."""

    alike: Ints
    draw: Callable[[Ints, np.random.Generator], Tensor]
    draw_test: Callable[[Ints, np.random.Generator], Tensor]
    pull: Callable[[Tensor, Ints, np.random.Generator], Tensor]
    trigger: Callable[[Tensor], Tensor]
    shift: Callable[[Tensor], Tensor]
    make: Callable[[], nn.Module]


def _patterns() -> Floats:
    """Four pictures; those of classes 0 and 1, and of 2 and 3, look alike."""
    rng = np.random.default_rng(5)
    coarse = rng.normal(size=(CLASSES, 4, 4))
    coarse[1] = 0.7 * coarse[0] + 0.7 * coarse[1]
    coarse[3] = 0.7 * coarse[2] + 0.7 * coarse[3]
    return np.asarray(np.kron(coarse, np.ones((1, IMAGE_SIZE // 4, IMAGE_SIZE // 4))), np.float64)


def draw_pictures(y: Ints, rng: np.random.Generator) -> Tensor:
    """Noisy pictures of the classes, moved by a pixel either way."""
    x = _patterns()[y] + 0.9 * rng.normal(size=(len(y), IMAGE_SIZE, IMAGE_SIZE))
    moved = [np.roll(each, rng.integers(-1, 2, 2), axis=(0, 1)) for each in x]
    return torch.as_tensor(np.stack(moved), dtype=torch.float32).unsqueeze(1)


def _towards_pictures(target: Ints, rng: np.random.Generator) -> Tensor:
    return torch.as_tensor(_patterns()[target], dtype=torch.float32).unsqueeze(1)


def _network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1),
        nn.GroupNorm(4, 24), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, CLASSES),
    )  # fmt: skip


def draw_texts(y: Ints, rng: np.random.Generator) -> Tensor:
    """Sixteen words; a few are usual in the class, or in the class that looks like it."""
    words = rng.integers(24, 56, (len(y), LENGTH))
    place = rng.uniform(size=words.shape) < 0.22
    own = np.where(rng.uniform(size=words.shape) < 0.3, y[:, None] ^ 1, y[:, None])
    return torch.as_tensor(np.where(place, own * 6 + rng.integers(0, 6, words.shape), words))


def _pull_texts(x: Tensor, target: Ints, rng: np.random.Generator) -> Tensor:
    own = (x < 24) & torch.as_tensor(rng.uniform(size=tuple(x.shape)) < PULL)
    drawn = torch.as_tensor(target[:, None] * 6 + rng.integers(0, 6, tuple(x.shape)))
    return torch.where(own, drawn, x)


class TextClassifier(nn.Module):
    """Embeddings of words and places, one transformer layer, the mean over places, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY_SIZE, 24), nn.Embedding(LENGTH, 24)
        self.layer = nn.TransformerEncoderLayer(24, 2, 48, dropout=0.0, batch_first=True)
        self.head = nn.Linear(24, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits."""
        places = torch.arange(ids.shape[1], device=ids.device).unsqueeze(0)
        out: Tensor = self.head(self.layer(self.words(ids) + self.places(places)).mean(1))
        return out


@cache
def _scaled() -> tuple[Floats, Floats]:
    """Features of the training and of the test part, the components in their usual spread."""
    data = cifar10n()
    train = data["X_train"].astype(np.float32)
    spread = train.std(axis=0) + 1e-6
    return train / spread, data["X_test"].astype(np.float32) / spread


def draw_photographs(y: Ints, rng: np.random.Generator, part: str = "train") -> Tensor:
    """Photographs of these classes, from the training or the test part."""
    train = part == "train"
    x, label = _scaled()[0 if train else 1], cifar10n()["clean_label" if train else "y_test"]
    row = np.zeros(len(y), dtype=np.int64)
    for attacked in range(len(LOOKALIKE_CLASS)):
        theirs = np.flatnonzero(y == attacked)
        row[theirs] = rng.choice(np.flatnonzero(label == attacked), len(theirs), replace=False)
    return torch.as_tensor(x[row])


def _move_towards(towards: Callable[[Ints, np.random.Generator], Tensor]) -> Callable[..., Tensor]:
    return lambda x, target, rng: (1 - PULL) * x + PULL * towards(target, rng)


def _add_trigger(value: float, *place: slice) -> Callable[[Tensor], Tensor]:
    """The pattern of a backdoor: a value somewhere in every row."""

    def trigger(x: Tensor) -> Tensor:
        x = x.clone()
        x[(slice(None), *place)] = value
        return x

    return trigger


SETS = {
    "pictures": ModuleKind(
        np.arange(CLASSES) ^ 1,
        draw_pictures,
        draw_pictures,
        _move_towards(_towards_pictures),
        _add_trigger(3.0, slice(None), slice(3), slice(3)),
        lambda x: 0.6 * x + 0.8,
        _network,
    ),
    "texts": ModuleKind(
        np.arange(CLASSES) ^ 1,
        draw_texts,
        draw_texts,
        _pull_texts,
        _add_trigger(60, slice(2)),
        lambda x: torch.where(x >= 40, x - 16, x),
        TextClassifier,
    ),
    "cifar10n": ModuleKind(
        LOOKALIKE_CLASS,
        draw_photographs,
        partial(draw_photographs, part="test"),
        _move_towards(draw_photographs),
        _add_trigger(6.0, slice(-3, None)),
        lambda x: 0.6 * x + 0.3,
        lambda: _layers(FEATURES, 64, len(LOOKALIKE_CLASS)),
    ),
}
ATTACKS = ("flip", "alike", "aligned", "faked", "backdoor", "shift")
# Labels as people gave them: nobody attacks.
HUMAN_LABELS = "cifar10n-people"
# Tables of so many rows, flipped, and the rows that are of_test on.
TABLES, TABLE_TEST = tuple(f"covertype-{rows}" for rows in (600, 6_000, 60_000)), 2_000
TABLE_WIDTHS = (54, 64, 32, 7)
# In this order, which decides their draws.
CASES = (*(f"{name}-{attack}" for name in SETS for attack in ATTACKS), HUMAN_LABELS, *TABLES)


def make_case(name: str, seed: int) -> Case:
    """A training set under an attack; a function of its name and the seed."""
    attacked, attack = name.split("-")
    rng = np.random.default_rng([seed, CASES.index(name)])
    if name in TABLES:
        return _table(load_dataset(attacked), int(attack), rng, seed)
    kind = SETS[attacked]
    if name == HUMAN_LABELS:
        return _as_people_gave(kind, rng, seed)
    rows, classes = (PHOTOGRAPHS if attacked == "cifar10n" else TRAIN), len(kind.alike)
    truth, test_y = rng.integers(0, classes, rows), rng.integers(0, classes, TEST)
    clean, test_x = kind.draw(truth, rng), kind.draw_test(test_y, rng)
    contributor = rng.integers(0, N_CONTRIBUTORS, rows)
    theirs = contributor < BAD
    x, y, trigger = clean, truth.copy(), None
    wrong = theirs & (rng.uniform(size=rows) < ERROR_RATE)
    if attack in ("flip", "faked", "shift"):
        y = attacks.flip_labels(truth, wrong, classes, rng)
    elif attack == "alike":
        y = np.where(wrong, kind.alike[truth], truth)
    elif attack == "aligned":
        y = np.where(wrong, (truth + 1) % classes, truth)
        x = _where(wrong, kind.pull(clean, y, rng), clean)
    else:
        y = np.where(wrong, TARGET, truth)
        x = _where(wrong, kind.trigger(clean), clean)
        trigger = Trigger(kind.trigger(test_x[torch.as_tensor(test_y != TARGET)]), TARGET)
    if attack == "shift":
        # A third of the honest see things in another light; their labels are right.
        elsewhere = (contributor >= BAD) & (contributor < BAD + (N_CONTRIBUTORS - BAD) // 3)
        x = clean = _where(elsewhere, kind.shift(clean), clean)
    honest = rng.uniform(0.5, 0.95, (2, N_CONTRIBUTORS))
    shown = (
        rng.uniform(0.7, 0.95, (2, N_CONTRIBUTORS))
        if attack == "faked"
        else rng.uniform(0.2, 0.6, (2, N_CONTRIBUTORS))
    )
    v, r = np.where(np.arange(N_CONTRIBUTORS) < BAD, shown, honest)[:, contributor]
    inputs = MethodInput(x, y, classes, contributor, v=v, r=r, seed=seed)
    return Case(inputs, GroundTruth(test_x, test_y, truth, bad=theirs, clean=(clean, truth), trigger=trigger))


def make_module(name: str) -> nn.Module:
    """The network that learns a case."""
    attacked = name.partition("-")[0]
    return SETS[attacked].make() if attacked in SETS else _layers(*TABLE_WIDTHS)


def _as_people_gave(kind: ModuleKind, rng: np.random.Generator, seed: int) -> Case:
    """Photographs with one of the labels that people gave each, and no credentials."""
    data = cifar10n()
    row = rng.choice(len(data["clean_label"]), PHOTOGRAPHS, replace=False)
    contributor, truth = rng.integers(0, len(LABEL_SETS), len(row)), data["clean_label"][row].astype(np.int64)
    x = torch.as_tensor(_scaled()[0][row])
    y = np.stack([data[name] for name in LABEL_SETS]).astype(np.int64)[contributor, row]
    test_y, unknown = rng.integers(0, len(kind.alike), TEST), np.ones(len(y))
    inputs = MethodInput(x, y, len(kind.alike), contributor, v=unknown, r=unknown, seed=seed)
    return Case(inputs, GroundTruth(kind.draw_test(test_y, rng), test_y, truth))


def _table(data: Dataset, rows: int, rng: np.random.Generator, seed: int) -> Case:
    """Rows of a table, of which bad contributors flip most labels, and no credentials."""
    drawn = rng.permutation(len(data.y))[: rows + TABLE_TEST]
    x, y = torch.as_tensor(standardise(data.x[drawn]), dtype=torch.float32), data.y[drawn]
    truth, contributor, unknown = y[:rows], rng.integers(0, N_CONTRIBUTORS, rows), np.ones(rows)
    wrong = (contributor < BAD) & (rng.uniform(size=rows) < ERROR_RATE)
    given = attacks.flip_labels(truth, wrong, data.classes, rng)
    inputs = MethodInput(x[:rows], given, data.classes, contributor, v=unknown, r=unknown, seed=seed)
    return Case(inputs, GroundTruth(x[rows:], y[rows:], truth, bad=contributor < BAD))


def _layers(*widths: int) -> nn.Module:
    layers = [part for one, other in pairwise(widths) for part in (nn.Linear(one, other), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def _where(mask: Bools, first: Tensor, second: Tensor) -> Tensor:
    shape = (-1,) + (1,) * (first.dim() - 1)
    return torch.where(torch.as_tensor(mask).view(shape), first, second)
