"""Peer methods on labels constructed by hand."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from anml.core.errors import UnsupportedError
from experiments import real as peers
from experiments.real import measures
from experiments.seen import MethodInput

pytestmark = pytest.mark.slow


def test_votes_by_hand():
    contributor = np.array(["ann", "bob", "ann"])
    inputs = MethodInput(
        np.array([[1.0], [1.0], [2.0]]), np.array(["a", "b", "b"]), 2, contributor, np.array([7, 7, 9])
    )
    votes = peers.votes_of(inputs)
    assert votes.counts.tolist() == [[1, 1], [0, 1]]
    assert votes.x.tolist() == [[1.0], [2.0]]


def test_ties_are_broken_by_chance_and_only_ties():
    decided = [
        peers.majority_label(np.array([[1, 1, 0]] * 4 + [[2, 1, 0]]), np.random.default_rng(s))
        for s in range(20)
    ]
    assert {int(value) for row in decided for value in row[:4]} == {0, 1}
    assert {int(row[4]) for row in decided} == {0}


@pytest.mark.parametrize("name", list(peers.PEERS))
def test_every_peer_learns_from_a_good_crowd(name, crowd):
    if name == "Dawid-Skene":
        pytest.importorskip("crowdkit", reason="needs crowd-kit")
    answer = peers.PEERS[name](crowd)
    result = measures(crowd, answer)
    assert result["accuracy"] > 90
    if answer.quality is not None:
        ann, _, cat, dan = answer.quality
        assert ann > cat > dan
        assert result["correlation"] > 0.9


@pytest.mark.parametrize("name", list(peers.PEERS))
def test_where_labels_do_not_overlap_votes_do_not_apply(name, crowd):
    hidden = replace(crowd.truth, best=None, y=None)
    answer = peers.PEERS[name](replace(crowd, seen=replace(crowd.seen, item=None), truth=hidden))
    assert (answer is None) == (name != "cleanlab")


def test_a_package_that_is_not_there_is_named(crowd, monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab.multiannotator", None)
    with pytest.raises(UnsupportedError, match=r"cleanlab is not installed; .*\[peers\]"):
        peers.cleanlab(crowd)


@pytest.mark.parametrize("name", [name for name in peers.PEERS if name not in ("truth", "best set alone")])
def test_truth_is_for_bounds_alone(name, crowd):
    """A peer method returns the same result if the ground truth is hidden from it."""
    if name == "Dawid-Skene":
        pytest.importorskip("crowdkit", reason="needs crowd-kit")
    untold = replace(crowd, truth=replace(crowd.truth, best=None, y=None))
    inputs, hidden = (peers.PEERS[name](case) for case in (crowd, untold))
    assert (inputs.predicted == hidden.predicted).all()
    assert (inputs.quality == hidden.quality).all()


@pytest.mark.parametrize("name", ["majority vote", "cleanlab"])
def test_the_same_seed_gives_the_same_answer(name, crowd):
    case = replace(crowd, seen=replace(crowd.seen, seed=3))
    one, two = (peers.PEERS[name](case) for _ in range(2))
    assert (one.predicted == two.predicted).all()
    assert (one.quality == two.quality).all()


def test_votes_do_not_depend_on_the_order_of_rows(crowd):
    mixed = crowd.part(np.random.default_rng(1).permutation(len(crowd.seen.y)))
    one, two = (peers.votes_of(case.seen) for case in (crowd, mixed))
    assert (one.counts == two.counts).all()
    assert (one.x == two.x).all()


def test_the_bound_trains_on_each_thing_once(crowd):
    twice = replace(crowd, seen=replace(crowd.seen, item=None))
    assert (peers.train_on_truth(crowd).predicted == peers.train_on_truth(twice).predicted).mean() > 0.95
