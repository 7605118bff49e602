"""Rows with true classes or values, assignments of rows to contributors, and the case that both make."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from anml.core.checks import Array, Floats, Ints
from experiments.bank.sources import TEST_ROWS, BankRows, Make, build_case, train_test_cut
from experiments.seen import Case

Rng = np.random.Generator
MakeFrom = Callable[[Rng], Case]


def listed_in(table: dict[str, Make]) -> Callable[[MakeFrom], MakeFrom]:
    """List a function in the table by its name; the name and the seed decide all of its draws."""

    def add(make: MakeFrom) -> MakeFrom:
        name = make.__name__.removeprefix("_")
        table[name] = lambda seed: make(np.random.default_rng([seed, *name.encode()])).seeded(seed)
        return make

    return add


def draw_classes(rng: Rng, n: int, shares: Any) -> Ints:
    """Draw classes of the training and test rows with these shares."""
    return rng.choice(len(shares), n + TEST_ROWS, p=np.asarray(shares) / np.sum(shares))


def make_topics(rng: Rng, n: int, classes: int, words: int = 40, length: int = 25) -> BankRows:
    """Make word counts of short texts, in which every class has its own word frequencies."""
    y = draw_classes(rng, n, np.ones(classes))
    frequency = rng.dirichlet(np.full(words, 0.3), classes)
    x = rng.poisson(length * (0.5 * frequency[y] + 0.5 / words)).astype(float)
    return train_test_cut(x, y, n)


def make_waves(rng: Rng, n: int) -> BankRows:
    """Make Breiman's waveforms: three classes are random mixtures of two of three triangles."""
    y = draw_classes(rng, n, np.ones(3))
    at = np.arange(21)
    triangles = np.array([np.maximum(6 - np.abs(at - centre), 0) for centre in (6, 14, 10)])
    first, second = np.array([(0, 1), (0, 2), (1, 2)])[y].T
    share = rng.uniform(size=(len(y), 1))
    x = share * triangles[first] + (1 - share) * triangles[second] + rng.normal(size=(len(y), 21))
    return train_test_cut(x, y, n)


def make_subtypes(
    rng: Rng,
    n: int,
    classes: int,
    subtypes: int = 1,
    apart: float = 4.0,
    features: int = 8,
    shares: Any = None,
) -> tuple[BankRows, Ints]:
    """Make clusters of unequal width, some per class, and return the cluster of each training row."""
    y = draw_classes(rng, n, np.ones(classes) if shares is None else shares)
    cluster = y * subtypes + rng.integers(0, subtypes, len(y))
    centre = rng.normal(size=(classes * subtypes, features)) * apart / np.sqrt(features)
    width = rng.uniform(0.6, 1.4, classes * subtypes)
    x = centre[cluster] + width[cluster, None] * rng.normal(size=(len(y), features))
    return train_test_cut(x, y, n), cluster[:n]


def make_weak(rng: Rng, n: int, features: int = 25, slope: float = 0.5) -> BankRows:
    """Make two classes that one of many features predicts a little."""
    x = rng.normal(size=(n + TEST_ROWS, features))
    y = (slope * x[:, 0] + rng.logistic(size=len(x)) > 0).astype(np.int64)
    return train_test_cut(x, y, n)


def make_grades(rng: Rng, n: int, grades: int) -> tuple[BankRows, Floats]:
    """Make grades of a quality that depends on skewed features; return the quality in units of grades."""
    x = rng.lognormal(sigma=0.5, size=(n + TEST_ROWS, 6))
    quality = x[:, 0] - x[:, 1] + np.sqrt(x[:, 2]) * x[:, 3] + 0.2 * rng.normal(size=len(x))
    rank = np.argsort(np.argsort(quality)) / len(x)
    return train_test_cut(x, (rank * grades).astype(np.int64), n), rank[:n] * grades


def make_prices(rng: Rng, n: int) -> BankRows:
    """Make prices: positive values with multiplicative noise; the test part has none."""
    x = rng.normal(size=(n + TEST_ROWS, 7))
    mean = np.exp(3 + 0.5 * x[:, 0] - 0.4 * x[:, 1] * (x[:, 2] > 0) + 0.3 * np.tanh(2 * x[:, 3]))
    price = mean * np.exp(0.1 * rng.normal(size=len(x)))
    return BankRows(x[:n], price[:n], x[n:], mean[n:])


def make_sites(rng: Rng, n: int) -> tuple[BankRows, Floats, Ints]:
    """Make a severity that four sites measure with offsets; return it and the site of the training rows."""
    site = rng.integers(0, 4, n + TEST_ROWS)
    severity = rng.normal(size=len(site))
    noise = rng.normal(size=(len(site), 6)) * np.array([0.2, 1, 1, 1, 1, 1])
    noise[:, 0] += severity
    x = np.column_stack([noise + np.array([-0.6, -0.2, 0.2, 0.6])[site, None], np.eye(4)[site]])
    return train_test_cut(x, (severity > 0).astype(np.int64), n), severity[:n], site[:n]


def distance_from_mean(rows: BankRows) -> Floats:
    """Return the distance of each training row from the mean of its class."""
    means = np.array([rows.x[rows.y == code].mean(axis=0) for code in range(rows.y.max() + 1)])
    return np.asarray(np.linalg.norm(rows.x - means[rows.y], axis=1))


def repeat_rows(rng: Rng, rows: BankRows, templates: int, copies: int) -> tuple[Floats, Ints, Ints]:
    """Replace the last rows by near-duplicates of the first; return features, classes and their positions."""
    x, y = rows.x.copy(), rows.y.copy()
    copy = np.arange(len(y) - templates * copies, len(y))
    x[copy] = x[:templates].repeat(copies, axis=0) + 0.02 * rng.normal(size=(len(copy), x.shape[1]))
    y[copy] = y[:templates].repeat(copies)
    return x, y, copy


def assign(rng: Rng, items: int, contributors: int, each: int) -> tuple[Ints, Ints]:
    """Assign every item to some different contributors; return items and contributors of the labels."""
    drawn = np.argsort(rng.uniform(size=(items, contributors)), axis=1)[:, :each]
    return np.repeat(np.arange(items), each), drawn.ravel()


def assign_unequally(rng: Rng, items: int, activity: Floats, counts: Ints) -> tuple[Ints, Ints]:
    """Assign items to a given number of different contributors each, the active ones more often."""
    keys = np.log(activity) + rng.gumbel(size=(items, len(activity)))
    order = np.argsort(-keys, axis=1)
    taken = np.arange(len(activity)) < counts[:, None]
    return np.repeat(np.arange(items), counts), order[taken]


def repeated_case(
    rows: BankRows, item: Ints, contributor: Array, label: Array, bad: Iterable[Any] = (), **more: Any
) -> Case:
    """Build the case in which items have several labels."""
    return build_case(
        rows._replace(x=rows.x[item], y=rows.y[item]), label, contributor, bad, item=item, **more
    )
