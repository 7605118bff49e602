from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from experiments.expressions import Results
from experiments.seen import Case, GroundTruth, MethodInput
from experiments.spec import Experiment, parse


@pytest.fixture
def small() -> Experiment:
    """Two data shares, two methods, quick."""
    return parse(
        "small",
        {
            "title": "A small experiment",
            "trials": 4,
            "chunk": 2,
            "setting": {"epochs": 20},
            "vary": {"bad": [0.0, 0.3]},
            "methods": ["uniform", "krum", "softmax"],
            "derived": {"improvement": {"saving": ["*.error", "krum.error"], "methods": ["softmax"]}},
            "paper": [{"bad": 0.3, "method": "krum", "error": 12.4}],
            "claims": [{"text": "errors are not negative", "at_least": ["krum.error", 0], "limit": "before"}],
        },
    )


@pytest.fixture
def results():
    """Twelve trials; krum 10, 12, 14 in turn; mine half of it at bad = 0.1, the same at bad = 0.3."""
    table = {
        "title": "x",
        "vary": {"bad": [0.1, 0.3]},
        "methods": {"krum": {"like": "krum"}, "mine": {"like": "softmax"}},
        "derived": {"gain": {"saving": ["*.error", "krum.error"]}},
    }
    rows = [
        {"trial": trial, "bad": bad, "method": method, "error": (10.0 + 2 * (trial % 3)) * factor}
        for trial in (2, 0, 1, *range(11, 2, -1))  # order of rows does not matter
        for bad, method, factor in (
            ("0.1", "krum", 1.0), ("0.1", "mine", 0.5), ("0.3", "krum", 2.0), ("0.3", "mine", 2.0),
        )
    ]  # fmt: skip
    return Results(parse("x", table), pl.DataFrame(rows))


@pytest.fixture
def crowd() -> Case:
    """Sixty things, two classes; ann and bob are right, cat is wrong on every third thing, dan guesses."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    truth = np.where(x[:, 0] > 0, "up", "down")
    other = np.where(truth == "up", "down", "up")
    message = {
        "ann": truth,
        "bob": truth,
        "cat": np.where(np.arange(60) % 3 == 0, other, truth),
        "dan": rng.choice(["up", "down"], 60),
    }
    given, contributor, item = (
        np.concatenate(list(message.values())),
        np.repeat(list(message), 60),
        np.tile(np.arange(60), 4),
    )
    right = np.tile(truth, 4)
    return Case(
        MethodInput(np.tile(x, (4, 1)), given, 2, contributor, item), GroundTruth(x, truth, right, best=right)
    )


@pytest.fixture(scope="module")
def small_forests() -> Iterator[None]:
    """Forests of ten trees, where a test looks at what is done with them."""
    from sklearn import ensemble

    from experiments.bank import run as measures

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "TREES", 10)
        for kind in (ensemble.RandomForestClassifier, ensemble.RandomForestRegressor):
            patch.setattr(ensemble, kind.__name__, lambda trees=10, kind=kind, **more: kind(trees, **more))
        yield
