"""Data sources of the bank's conditions: features and true labels for training and testing."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_blobs, make_classification, make_moons
from sklearn.ensemble import RandomForestClassifier

from anml.core.checks import Array, Floats, Ints
from experiments.data import adult_categories, load_dataset
from experiments.seen import Case, GroundTruth, MethodInput, Trigger

TEST_ROWS = 2_000
# Cover types are drawn from so many rows of Covertype, and so many of each are tested on.
FOREST_ROWS, FOREST_TEST = 120_000, 280


class BankRows(NamedTuple):
    """Features and right labels of the training part and of the test part."""

    x: Floats
    y: Array
    x_test: Floats
    y_test: Array


def train_test_cut(x: Floats, y: Array, n: int) -> BankRows:
    """Take the first `n` rows to train on, and the rest to test on."""
    return BankRows(x[:n], y[:n], x[n:], y[n:])


def second_class(rows: BankRows, seed: int) -> tuple[Ints, Floats]:
    """The likeliest wrong class of each row, and by how much the right one is likelier, by a forest."""
    forest = RandomForestClassifier(60, min_samples_leaf=5, random_state=seed)
    chances = forest.fit(rows.x_test, rows.y_test).predict_proba(rows.x)
    at = np.arange(len(rows.y)), rows.y
    right = chances[at]
    chances[at] = -1
    return chances.argmax(axis=1), right - chances.max(axis=1)


def clusters(
    seed: int, n: int, classes: int = 2, apart: float = 1.0, informative: int = 8, common: float | None = None
) -> BankRows:
    """One Gaussian cluster per class in 20 features, of which some are informative; class 0 may be common."""
    x, y = make_classification(
        n + TEST_ROWS, 20, n_informative=informative, n_redundant=0, n_classes=classes, class_sep=apart,
        n_clusters_per_class=1, flip_y=0, weights=None if common is None else [common],
        random_state=1_000 + seed,
    )  # fmt: skip
    return train_test_cut(x, y, n)


def blobs(seed: int, n: int, classes: int, features: int) -> BankRows:
    """One round cluster per class, about a centre drawn at random."""
    centers = np.random.default_rng(seed).normal(size=(classes, features))
    x, y = make_blobs(n + TEST_ROWS, centers=centers, random_state=2_000 + seed)
    return train_test_cut(x, y, n)


def digits(seed: int, n: int) -> BankRows:
    """Handwritten digits by the 36 pixels that vary most; what is not trained on tests."""
    data = load_dataset("digits")
    pixels = np.sort(np.argsort(-data.x.var(axis=0), kind="stable")[:36])
    drawn = np.random.default_rng(seed).permutation(len(data.y))
    return train_test_cut(data.x[drawn][:, pixels], data.y[drawn], n)


def moons(seed: int, n: int) -> BankRows:
    """Two interleaving half circles."""
    x, y = make_moons(n + TEST_ROWS, noise=0.2, random_state=seed)
    return train_test_cut(x, y, n)


def xor(seed: int, n: int) -> BankRows:
    """Two features, and whether their signs agree."""
    x = np.random.default_rng(seed).uniform(-1, 1, (n + TEST_ROWS, 2))
    return train_test_cut(x, (x[:, 0] * x[:, 1] > 0).astype(np.int64), n)


def coin_flips(seed: int, n: int) -> BankRows:
    """Ten features and a logistic model of them, whose best prediction errs on a quarter of the rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + TEST_ROWS, 10))
    direction = rng.normal(size=10)
    logit = 1.75 * x @ direction / np.linalg.norm(direction)
    return train_test_cut(x, (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-logit))).astype(np.int64), n)


def forests(seed: int, n: int, types: tuple[int, ...] = tuple(range(7))) -> BankRows:
    """Cover types, as many rows of each of the seven, or of some, which are then numbered from 0."""
    data, drawn = load_dataset("covertype"), _forest_rows()
    rng = np.random.default_rng(seed)
    train, test = [], []
    for code in types:
        rows = rng.permutation(drawn[data.y[drawn] == code])
        train.append(rows[: n // len(types)])
        test.append(rows[n // len(types) :][:FOREST_TEST])
    chosen, held = rng.permutation(np.concatenate(train)), np.concatenate(test)
    y, y_test = (np.searchsorted(types, data.y[part]) for part in (chosen, held))
    return BankRows(data.x[chosen], y, data.x[held], y_test)


@cache
def _forest_rows() -> Ints:
    return np.asarray(np.random.RandomState(0).permutation(len(load_dataset("covertype").y))[:FOREST_ROWS])


def incomes(seed: int, n: int) -> BankRows:
    """Adult by its categories alone: rows of its training part, and of its test part."""
    train, test = adult_categories()
    rng = np.random.default_rng(seed)
    chosen, held = rng.permutation(len(train.y))[:n], rng.permutation(len(test.y))[:TEST_ROWS]
    return BankRows(train.x[chosen], train.y[chosen], test.x[held], test.y[held])


def heteroscedastic(rng: np.random.Generator, n: int) -> tuple[BankRows, Any]:
    """Numbers that scatter twenty times as far at one end of a feature as at the other; tested without noise.

    The second is the numbers of all rows, the test part's with their noise.
    """
    x = rng.uniform(-2, 2, (n + TEST_ROWS, 6))
    mean = 3 * np.sin(x[:, 0]) + x[:, 1] ** 2 + 2 * x[:, 2]
    spread = 0.2 * np.exp((x[:, 3] + 2) * 0.75)
    y = mean + spread * rng.normal(size=len(x))
    return BankRows(x[:n], y[:n], x[n:], mean[n:]), y


# Makes a condition from a seed; what each is, in words, is in `words.toml`.
Make = Callable[[int], Case]


def build_case(
    rows: BankRows, label: Array, contributor: Ints, bad: Iterable[int] = (), *, numeric: bool = False,
    clean: BankRows | None = None, trigger: Trigger | None = None, **more: Any,
) -> Case:  # fmt: skip
    """The condition in which contributors give these labels of these rows; `more` is seen as well."""
    inputs = MethodInput(
        rows.x, label, 1 if numeric else int(max(label.max(), rows.y.max())) + 1, contributor, **more
    )
    theirs = np.isin(contributor, list(bad))
    before = None if clean is None else (clean.x, clean.y)
    return Case(
        inputs, GroundTruth(rows.x_test, rows.y_test, rows.y, bad=theirs, clean=before, trigger=trigger)
    )
