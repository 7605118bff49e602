"""Relabelling, replayed: a small crowd of our own, and the sets of real ones."""

from dataclasses import replace

import numpy as np
import pytest

from anml.lab.crowds import load_crowd, right_of
from anml.lab.kinds import KINDS, run_block
from anml.lab.relabel import ORDERS, SCENARIOS, SETS, activelab, believed, ranked, with_labels, with_truth
from anml.lab.seen import Case, Seen, Truth
from anml.lab.spec import catalogue

RELABEL = catalogue("beyond")["relabel"]


def crowd(items=60, seed=0):
    """Five people, three labels for each item; the first is right in every other case only."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 2, items)
    item = np.repeat(np.arange(items), 3)
    who = np.concatenate([rng.permutation(5)[:3] for _ in range(items)])
    wrong = rng.uniform(size=3 * items) < np.where(who == 0, 0.5, 0.1)
    y = np.where(wrong, 1 - right[item], right[item])
    return Case(Seen(np.zeros((3 * items, 0)), y, 2, who.astype(str), item), Truth(y=right[item]))


def test_the_kind_runs_and_measures_these():
    assert set(RELABEL.vary["dataset"]) == set(KINDS["relabel"].data) == set(SCENARIOS)
    assert KINDS["relabel"].peers == ORDERS == tuple(RELABEL.peers)


def test_an_order_asks_about_open_items_once_and_unsure_ones_first():
    made = crowd()
    posterior = believed(made.seen, np.full(60, -1))
    still = np.arange(60) % 2 == 0
    chance = np.random.default_rng(0).permutation(60)
    for way in ORDERS:
        found = ranked(made.seen, posterior, still, way, chance)
        assert sorted(found) == list(range(0, 60, 2)), way
    found = ranked(made.seen, posterior, still, "anml", chance)
    p = posterior.max(axis=1)[found]
    assert p[:10].mean() < p[-10:].mean()


def test_what_is_told_is_believed_and_ends_the_replay():
    made = crowd()
    right = right_of(made)
    posterior = believed(made.seen, np.where(np.arange(60) < 20, right, -1))
    assert (posterior.argmax(axis=1)[:20] == right[:20]).all()
    found = with_truth(made, "anml", np.random.default_rng(0))
    assert 0 <= found["half"] <= found["answers"] <= 100


def test_with_labels_of_the_crowd_most_items_are_right():
    found = with_labels(crowd(), "anml", np.random.default_rng(0))
    assert 70 < found["area"] <= 100
    assert 80 < found["end"] <= 100


def test_peers_are_asked_about_the_labels_that_are_there():
    score = activelab(crowd().seen)
    assert score.shape == (60,)
    assert np.isfinite(score).all()


@pytest.mark.parametrize(("name", "items", "classes"), [("music", 700, 10), ("dogs", 807, 4)])
def test_sets_have_a_right_label_of_every_item(real_data, name, items, classes):
    found = load_crowd(SETS[name])
    seen, right = found.seen, right_of(found)
    assert (len(right), seen.classes) == (items, classes)
    assert set(seen.item) == set(range(items))
    majority = np.zeros((items, classes))
    np.add.at(majority, (seen.item, seen.y), 1)
    assert (majority.argmax(axis=1) == right).mean() > 0.6


def test_a_row_is_a_replay(real_data, monkeypatch):
    import anml.lab.relabel as run

    monkeypatch.setattr(run, "load_crowd", lambda name: crowd(seed=1))
    small = replace(RELABEL, vary={"dataset": ["dogs-truth"]}, peers=("anml", "random"))
    rows = run_block(small, [3], "dogs-truth")
    assert [(row["trial"], row["dataset"], row["method"]) for row in rows] == [
        (3, "dogs-truth", "anml"),
        (3, "dogs-truth", "random"),
    ]
    assert rows[0]["answers"] <= rows[1]["answers"]
