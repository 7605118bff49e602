"""`python bench/finding.py [TABLE ...]`: wrong labels found, beside cleanlab on a forest.

Right labels of a table are made wrong in one of three ways: to any other class (symmetric), to the next one
(pairwise), or to the likeliest other class where a model of the right labels is least sure (boundary). Nobody
is told who gave which label, but in the fourth way (one of ten): one of ten contributors gives any other
class, nine times in ten. The figure is the average precision of the ranking by how far labels are believed.
"""

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from anml.annotators.rows import SideInformation
from anml.assessment.labels import LabelModelInput, estimate_labels
from anml.core.checks import Bools, Floats, Ints
from anml.core.profile import PredictorTraining
from anml.networks.threads import limit_threads
from experiments.data import load_contributed, load_dataset

# Rows of a large table, and the share of wrong labels.
ROWS, WRONG = 10_000, 0.1
TABLES = ("digits", "tweets", "covertype", "adult")


def table_of(name: str, rng: np.random.Generator) -> tuple[Floats, Ints, int]:
    """Features and right labels, at most `ROWS` of them."""
    if name == "tweets":
        tweets = load_contributed("weather_sentiment", rng).truth
        classes, y = np.unique(tweets.y_test, return_inverse=True)
        return tweets.x_test, y, len(classes)
    data = load_dataset(name)
    subset = rng.permutation(len(data.y))[:ROWS]
    return data.x[subset], data.y[subset], data.classes


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


ONE_OF_TEN = "one of ten"


def by_one_of_ten(y: Ints, classes: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Labels of ten contributors, and who gave each."""
    contributor = rng.integers(0, 10, len(y))
    wrong = (contributor == 0) & (rng.random(len(y)) < 0.9)
    return np.where(wrong, (y + rng.integers(1, classes, len(y))) % classes, y), contributor


def spoilt(x: Floats, y: Ints, classes: int, noise: str, rng: np.random.Generator) -> tuple[Ints, Bools]:
    """Labels of which some are wrong, and which those are."""
    rows, to = NOISE[noise](x, y, classes, int(WRONG * len(y)), rng)
    labels = y.copy()
    labels[rows] = to
    return labels, labels != y


def by_cleanlab(x: Floats, y: Ints, classes: int, seed: int) -> Floats:
    """Label quality by cleanlab's default, on held-out predictions of a forest."""
    from cleanlab.rank import get_label_quality_scores
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_predict

    result = cross_val_predict(RandomForestClassifier(100, random_state=seed), x, y, method="predict_proba")
    p = np.zeros((len(y), classes))
    p[:, np.unique(y)] = result
    return np.asarray(get_label_quality_scores(y, p))


def by_evidence(x: Floats, y: Ints, classes: int, seed: int, contributor: Ints | None = None) -> Floats:
    """The probability that each label is right."""
    spread = x.std(axis=0)
    z = (x - x.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    return estimate_labels(
        LabelModelInput(z, y, classes, SideInformation(contributor), None, PredictorTraining(), seed)
    )[0].p_correct


def main(tables: list[str]) -> None:
    """One line per table and kind of noise."""
    from sklearn.metrics import average_precision_score

    print(f"{'table':<12} {'noise':<10} {'evidence':>9} {'cleanlab':>9}   CPU seconds")
    for name in tables:
        for noise in (*NOISE, ONE_OF_TEN):
            rng = np.random.default_rng(0)
            x, y, classes = table_of(name, rng)
            contributor = None
            if noise == ONE_OF_TEN:
                labels, contributor = by_one_of_ten(y, classes, rng)
                wrong = labels != y
            else:
                labels, wrong = spoilt(x, y, classes, noise, rng)
            figures, seconds = [], []
            for find in (partial(by_evidence, who=contributor), by_cleanlab):
                start = time.process_time()
                with limit_threads(1):
                    quality = find(x, labels, classes, 0)
                seconds.append(time.process_time() - start)
                figures.append(average_precision_score(wrong, -quality))
            met = "ok" if figures[0] >= figures[1] - 0.005 else "MISSED"
            print(
                f"{name:<12} {noise:<10} {figures[0]:>9.3f} {figures[1]:>9.3f}   "
                f"{seconds[0]:.1f} and {seconds[1]:.1f}   {met}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:] or list(TABLES))
