"""What others would do with the same labels: peers on labels made up by hand."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from anml.core.errors import UnsupportedError
from anml.lab import real as peers
from anml.lab.data import Contributed
from anml.lab.real import measures


def test_votes_by_hand():
    data = Contributed(
        x=np.array([[1.0], [1.0], [2.0]]), label=np.array(["a", "b", "b"]),
        contributor=np.array(["ann", "bob", "ann"]), item=np.array([7, 7, 9]),
        x_test=np.zeros((0, 1)), y_test=np.array([]),
    )  # fmt: skip
    votes = peers.votes_of(data, data.item)
    assert votes.counts.tolist() == [[1, 1], [0, 1]]
    assert votes.x.tolist() == [[1.0], [2.0]]
    assert votes.share_agreeing(np.array([0, 1]), data.contributor) == {"ann": 1.0, "bob": 0.0}


def test_ties_are_broken_by_chance_and_only_ties():
    decided = [
        peers.decide(np.array([[1, 1, 0]] * 4 + [[2, 1, 0]]), np.random.default_rng(s)) for s in range(20)
    ]
    assert {int(value) for row in decided for value in row[:4]} == {0, 1}
    assert {int(row[4]) for row in decided} == {0}


@pytest.mark.parametrize("name", list(peers.PEERS))
def test_every_peer_learns_from_a_good_crowd(name, crowd):
    if name == "Dawid-Skene":
        pytest.importorskip("crowdkit", reason="needs crowd-kit")
    answer = peers.PEERS[name](crowd, 0)
    found = measures(crowd, answer)
    assert found["accuracy"] > 90
    if answer.quality is not None:
        assert set(answer.quality) == {"ann", "bob", "cat", "dan"}
        assert answer.quality["ann"] > answer.quality["cat"] > answer.quality["dan"]
        assert found["correlation"] > 0.9


@pytest.mark.parametrize("name", list(peers.PEERS))
def test_where_labels_do_not_overlap_votes_do_not_apply(name, crowd):
    alone = replace(crowd, item=None, best=None, truth=None)
    answer = peers.PEERS[name](alone, 0)
    assert (answer is None) == (name != "cleanlab")


def test_a_package_that_is_not_there_is_named(crowd, monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab.multiannotator", None)
    with pytest.raises(UnsupportedError, match=r"cleanlab is not installed; .*\[peers\]"):
        peers.cleanlab(crowd, 0)


@pytest.mark.parametrize("name", [name for name in peers.PEERS if name not in ("truth", "best set alone")])
def test_truth_is_for_bounds_alone(name, crowd):
    """What a peer answers may not change when the truth is hidden from it."""
    if name == "Dawid-Skene":
        pytest.importorskip("crowdkit", reason="needs crowd-kit")
    seen, hidden = (peers.PEERS[name](data, 0) for data in (crowd, replace(crowd, truth=None, best=None)))
    assert (seen.predicted == hidden.predicted).all()
    assert seen.quality == hidden.quality


@pytest.mark.parametrize("name", ["majority vote", "cleanlab"])
def test_the_same_seed_gives_the_same_answer(name, crowd):
    one, two = (peers.PEERS[name](crowd, 3) for _ in range(2))
    assert (one.predicted == two.predicted).all()
    assert one.quality == two.quality


def test_votes_do_not_depend_on_the_order_of_rows(crowd):
    order = np.random.default_rng(1).permutation(len(crowd.label))
    names = ("x", "label", "contributor", "item", "truth", "best")
    mixed = replace(crowd, **{name: getattr(crowd, name)[order] for name in names})
    one, two = (peers.votes_of(data, data.item) for data in (crowd, mixed))
    assert (one.counts == two.counts).all()
    assert (one.x == two.x).all()


def test_the_bound_trains_on_each_thing_once(crowd):
    twice = replace(crowd, item=None)
    assert (peers.truth(crowd, 0).predicted == peers.truth(twice, 0).predicted).mean() > 0.95
