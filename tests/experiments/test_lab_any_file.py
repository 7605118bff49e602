"""Whatever stands in a file: it is refused in one sentence, or its rows can be summed up to the end."""

import copy

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import AnmlError
from experiments.cells import cells_of
from experiments.door import check_experiment
from experiments.expressions import Results
from experiments.kinds import metrics_of
from experiments.layouts import reading_guide
from experiments.spec import parse
from experiments.summary import describe
from experiments.tables import tables

pytestmark = pytest.mark.slow

FILE = {
    "title": "Mine",
    "trials": 10,
    "notes": ["a note"],
    "metrics": ["error", "kept"],
    "setting": {"dataset": "wine", "bad": 0.3, "contributors": 5, "labels": 2, "hidden": [8]},
    "vary": {
        "bad": [0.1, 0.5],
        "who": [{"label": "all", "faked": 1.0}, {"label": "none", "attack": "flip", "sybils": 2}],
    },
    "methods": {"krum": {"like": "krum"}, "mine": {"like": "adaptive", "tau_c": 0.5, "use": ["q", "v"]}},
    "derived": {
        "saved": {"saving": ["*.error@bad=0.5", "krum.error"], "methods": ["mine"]},
        "twice": {"plus": ["*.saved", "*.saved"]},
        "mean": {"mean": ["mine.error"], "over": "bad", "once": True},
        "p": {"p_value": ["*.error", "krum.error"]},
    },
    "paper": [{"bad": 0.1, "who": "all", "method": "krum", "error": 12.4}],
    "claims": [
        {"text": "a", "better": ["mine.error", "krum.error"], "p": 0.05, "over": {"bad": "*"}, "why": "b"},
        {
            "text": "c",
            "no_worse": [{"ratio": ["mine.error", 2]}, "krum.kept"],
            "margin": 1,
            "limit": "paper",
            "where": {"who": "none"},
        },
        {
            "text": "d",
            "between": [{"highest": "mine.twice", "over": "who"}, -1, 1.5],
            "limit": "paper",
            "apart": "ours",
        },
    ],
}

words = st.sampled_from(
    [
        *("krum", "krum.error", "*.error", "mine.twice", "mine.error@bad=0.5", "mine.error@who=1"),
        *("bad", "who", "*", "", ".", "@", "all", "minus", "better", "method"),
        *("wine", "diabetes", "real", "regret", "evidence"),
    ]
)
plain = st.one_of(
    words, st.booleans(), st.integers(-2, 3), st.just(10**400), st.floats(-1, 2), st.just(float("nan"))
)
junk = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=2), max_leaves=4
)


def places(value, path=()):
    """Every key and every position in a nested value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*path, key)
        yield from places(inner, (*path, key))


def rows_of(experiment):
    """Rows as a run would give them, with figures drawn at random."""
    rng = np.random.default_rng(0)
    metrics = metrics_of(experiment)
    places = [dict(key) | {"method": method} for _, key, _, method in cells_of(experiment)]
    return pl.DataFrame(
        [
            {"trial": trial, **place, **dict(zip(metrics, rng.random(len(metrics)), strict=True))}
            for trial in range(3)
            for place in places
        ]
    )


def summed_up(table):
    experiment = parse("mine", table)
    check_experiment(experiment)
    entry = describe(Results(experiment, rows_of(experiment)))
    assert not entry["unchecked"]
    return reading_guide(experiment) + tables(entry)


def refusal(table):
    try:
        summed_up(table)
    except AnmlError as error:
        return str(error)
    return ""


def test_the_file_itself_is_right():
    assert any(line.startswith("| saved") for line in summed_up(FILE))


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_any_file_is_refused_in_a_sentence_or_summed_up(data):
    table = copy.deepcopy(FILE)
    path = data.draw(st.sampled_from(list(places(FILE))))
    where = table
    for key in path[:-1]:
        where = where[key]
    change = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if change == "remove":
        del where[path[-1]]
    elif change == "replace" or isinstance(where, list):
        where[path[-1]] = data.draw(junk)
    else:
        where[data.draw(words)] = data.draw(junk)
    known = refusal(table)
    assert not known or known.startswith("experiment 'mine'")
    assert "\n" not in known
