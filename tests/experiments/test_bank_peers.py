"""Peers of the bank: worked out by hand, and none of them but the oracle sees the truth."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.bank import run as peers
from experiments.bank.conditions import make_condition
from experiments.measures import in_unit
from experiments.seen import Case, GroundTruth, MethodInput

pytestmark = pytest.mark.slow


@pytest.fixture
def flips():
    """200 rows of moons, of which three of fifteen contributors turn theirs round."""
    return make_condition("moons_20flip", 0).part(np.arange(200))


def test_zdrop_by_hand(monkeypatch):
    # a agrees on 60 of 100, b on 98, c on 100: the mean is 0.86, its standard error for 100 rows 0.0347.
    agrees = np.r_[np.arange(100) < 60, np.arange(100) < 98, np.ones(100, dtype=bool)]
    inputs = MethodInput(np.zeros((300, 1)), agrees.astype(int), 2, np.repeat([7, 8, 10], 100))
    monkeypatch.setattr(peers, "held_out", lambda inputs: np.tile([0.0, 1.0], (300, 1)))
    outcome = peers.zdrop(inputs)
    assert outcome.verdict.tolist() == ["contradicts the others", "inconclusive", "inconclusive"]
    assert outcome.kept.tolist() == [False] * 100 + [True] * 200
    assert sorted(set(outcome.score)) == pytest.approx([0, 0.95, 1])
    numbers = replace(inputs, y=np.where(agrees, 0.0, 1.0), classes=1)
    monkeypatch.setattr(peers, "held_out", lambda inputs: np.zeros(300))
    assert peers.zdrop(numbers).verdict.tolist() == outcome.verdict.tolist()


def test_nobody_is_dropped_where_all_agree_alike(monkeypatch):
    inputs = MethodInput(np.zeros((4, 1)), np.array([0, 1, 0, 1]), 2, np.array([0, 0, 1, 1]))
    monkeypatch.setattr(peers, "held_out", lambda inputs: np.eye(2)[[0, 1, 0, 1]])
    outcome = peers.zdrop(inputs)
    assert outcome.kept.all()
    assert outcome.score.tolist() == [0.5] * 4


def test_cleanlab_drops_what_a_forest_contradicts(flips):
    outcome = peers.cleanlab(flips.seen)
    wrong = flips.wrong
    assert (~outcome.kept)[wrong].mean() > 0.7
    assert (~outcome.kept)[~wrong].mean() < 0.2


def test_no_label_is_predicted_by_another_of_its_thing():
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(60), 3)
    # Features tell things apart and nothing else; labels of a thing agree, by chance.
    inputs = MethodInput(
        rng.normal(size=(60, 4))[item], rng.integers(0, 2, 60)[item], 2, np.tile([0, 1, 2], 60), item
    )
    right = peers.held_out(inputs).argmax(axis=1) == inputs.y
    assert right.mean() < 0.7
    assert (peers.held_out(replace(inputs, item=None)).argmax(axis=1) == inputs.y).mean() > 0.9


@pytest.mark.parametrize("values", [[0.0, 1.0, 3.0], [-5.0, 5.0], [2.0, 2.0]])
def test_scores_keep_their_order_between_0_and_1(values):
    result = in_unit(np.array(values))
    assert ((result >= 0) & (result <= 1)).all()
    assert (np.argsort(result, kind="stable") == np.argsort(values, kind="stable")).all()


def test_the_oracle_trains_on_what_is_right_and_on_rows_before_an_attack():
    class Recorder:
        def fit(self, x, y):
            return x, y

    inputs, truth = MethodInput(np.zeros((2, 1)), np.array([0, 0]), 2), GroundTruth(y=np.array([0, 1]))
    plain = Case(inputs, truth)
    x, y = peers.oracle(plain).train(Recorder())
    assert (x is inputs.x, y.tolist()) == (True, [0, 1])
    before = (np.ones((1, 1)), np.array([1]))
    x, y = peers.oracle(replace(plain, truth=replace(truth, clean=before))).train(Recorder())
    assert (x.tolist(), y.tolist()) == ([[1.0]], [1])


def test_whoever_is_told_nothing_is_apart_from_who_is_told_everything():
    assert set(peers.PEERS_WITHOUT_TRUTH).isdisjoint(peers.ORACLES)
    assert (*peers.PEERS_WITHOUT_TRUTH, *peers.ORACLES) == peers.PEERS


def test_held_out_chances_are_of_classes_and_sum_to_one(flips):
    result = peers.held_out(flips.seen)
    assert result.shape == (200, 2)
    assert result.sum(axis=1) == pytest.approx(np.ones(200))
    assert (peers.held_out(flips.seen) == result).all()
