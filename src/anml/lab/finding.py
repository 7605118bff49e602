"""Finding wrong labels among right ones: average precision of a ranking, with and without contributors.

Right labels of a table are made wrong in one of three ways: to any other class (`symmetric`), to the next one
(`pairwise`), or to the likeliest other class where a model of the right labels is least sure (`boundary`).
"""

from collections.abc import Callable

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.lab.contributed import load_contributed
from anml.lab.data import load_dataset

# Rows of a large table, share of wrong labels, and contributors of which one is bad.
ROWS, WRONG, CONTRIBUTORS = 10_000, 0.1, 10


def table_of(name: str, rng: np.random.Generator) -> tuple[Floats, Ints, int]:
    """Features and right labels, at most `ROWS` of them."""
    if name == "tweets":
        tweets = load_contributed("weather_sentiment", rng)
        classes, y = np.unique(tweets.y_test, return_inverse=True)
        return tweets.x_test, y, len(classes)
    data = load_dataset(name)
    some = rng.permutation(len(data.y))[:ROWS]
    return data.x[some], data.y[some], data.classes


def _symmetric(x: Floats, y: Ints, classes: int, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    rows = rng.choice(len(y), count, replace=False)
    return rows, (y[rows] + rng.integers(1, classes, count)) % classes


def _pairwise(x: Floats, y: Ints, classes: int, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    rows = rng.choice(len(y), count, replace=False)
    return rows, (y[rows] + 1) % classes


def _boundary(x: Floats, y: Ints, classes: int, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.model_selection import cross_val_predict

    trees = ExtraTreesClassifier(100, min_samples_leaf=2, random_state=0)
    p = cross_val_predict(trees, x, y, method="predict_proba", cv=3)
    own = p[np.arange(len(y)), y].copy()
    p[np.arange(len(y)), y] = -1
    rows = np.argsort(own - p.max(axis=1) + 1e-9 * rng.random(len(y)))
    # Hard ones, but not only the hardest: twice as many are near enough.
    rows = rng.choice(rows[: 2 * count], count, replace=False)
    return rows, p[rows].argmax(axis=1)


NOISE: dict[str, Callable[..., tuple[Ints, Ints]]] = {
    "symmetric": _symmetric,
    "pairwise": _pairwise,
    "boundary": _boundary,
}


def spoilt(x: Floats, y: Ints, classes: int, noise: str, rng: np.random.Generator) -> tuple[Ints, Bools]:
    """Labels of which some are wrong, and which those are."""
    rows, to = NOISE[noise](x, y, classes, int(WRONG * len(y)), rng)
    labels = y.copy()
    labels[rows] = to
    return labels, labels != y
