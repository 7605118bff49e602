"""Relabelling, replayed: a small crowd of our own, and the sets of real ones."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.crowds import load_crowd, right_of
from experiments.kinds import KINDS, run_block
from experiments.relabel import (
    ORDERS,
    SCENARIOS,
    SETS,
    activelab,
    item_posterior,
    rank_items,
    replay_gold,
    replay_second_labels,
)
from experiments.seen import Case, GroundTruth, MethodInput
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

RELABEL = list_experiments("beyond")["relabel"]


def crowd(items=60, seed=0):
    """Five people, three labels for each item; the first is right in every other case only."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 2, items)
    item = np.repeat(np.arange(items), 3)
    contributor = np.concatenate([rng.permutation(5)[:3] for _ in range(items)])
    wrong = rng.uniform(size=3 * items) < np.where(contributor == 0, 0.5, 0.1)
    y = np.where(wrong, 1 - right[item], right[item])
    return Case(
        MethodInput(np.zeros((3 * items, 0)), y, 2, contributor.astype(str), item), GroundTruth(y=right[item])
    )


def test_the_kind_runs_and_measures_these():
    assert set(RELABEL.vary["dataset"]) == set(KINDS["relabel"].data) == set(SCENARIOS)
    assert KINDS["relabel"].peers == ORDERS == tuple(RELABEL.peers)


def test_an_order_asks_about_open_items_once_and_unsure_ones_first():
    made = crowd()
    posterior = item_posterior(made.seen, np.full(60, -1))
    still = np.arange(60) % 2 == 0
    chance = np.random.default_rng(0).permutation(60)
    for way in ORDERS:
        result = rank_items(made.seen, posterior, still, way, chance)
        assert sorted(result) == list(range(0, 60, 2)), way
    result = rank_items(made.seen, posterior, still, "anml", chance)
    p = posterior.max(axis=1)[result]
    assert p[:10].mean() < p[-10:].mean()


def test_what_is_told_is_believed_and_ends_the_replay():
    made = crowd()
    right = right_of(made)
    posterior = item_posterior(made.seen, np.where(np.arange(60) < 20, right, -1))
    assert (posterior.argmax(axis=1)[:20] == right[:20]).all()
    result = replay_gold(made, "anml", np.random.default_rng(0))
    assert 0 <= result["half"] <= result["answers"] <= 100


def test_with_labels_of_the_crowd_most_items_are_right():
    result = replay_second_labels(crowd(), "anml", np.random.default_rng(0))
    assert 70 < result["area"] <= 100
    assert 80 < result["end"] <= 100


def test_peers_are_asked_about_the_labels_that_are_there():
    score = activelab(crowd().seen)
    assert score.shape == (60,)
    assert np.isfinite(score).all()


@pytest.mark.parametrize(("name", "items", "classes"), [("music", 700, 10), ("dogs", 807, 4)])
def test_sets_have_a_right_label_of_every_item(real_data, name, items, classes):
    result = load_crowd(SETS[name])
    inputs, right = result.seen, right_of(result)
    assert (len(right), inputs.classes) == (items, classes)
    assert set(inputs.item) == set(range(items))
    majority = np.zeros((items, classes))
    np.add.at(majority, (inputs.item, inputs.y), 1)
    assert (majority.argmax(axis=1) == right).mean() > 0.6


def test_a_row_is_a_replay(real_data, monkeypatch):
    import experiments.relabel as run

    monkeypatch.setattr(run, "load_crowd", lambda name: crowd(seed=1))
    small = replace(RELABEL, vary={"dataset": ["dogs-truth"]}, peers=("anml", "random"))
    rows = run_block(small, [3], "dogs-truth")
    assert [(row["trial"], row["dataset"], row["method"]) for row in rows] == [
        (3, "dogs-truth", "anml"),
        (3, "dogs-truth", "random"),
    ]
    assert rows[0]["answers"] <= rows[1]["answers"]
