"""Peer methods on crowds whose true labels are known."""

import numpy as np
import pytest
from crowd_cases import ONE_COIN, crowd_of

from experiments.crowds_table.page import known_sets
from experiments.crowds_table.peers import PEERS
from experiments.crowds_table.read import Crowd, read_crowds
from experiments.crowds_table.run import item_scores
from experiments.data import file_of

SLOW = {"GLAD", "MACE"}


def accuracy(method, crowd):
    return item_scores(PEERS[method](crowd), crowd.truth).mean()


@pytest.fixture(scope="module")
def correlated():
    """Four contributors who take three items in ten of one class for the other, and six independent ones."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    apparent = np.where((truth == 1) & (rng.random(600) < 0.3), 0, truth)
    inputs = np.column_stack([apparent] * 4 + [truth] * 6)
    right = rng.random((600, 10)) < np.repeat([0.97, 0.85], [4, 6])
    return crowd_of(np.where(right, inputs, 1 - inputs), truth)


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=pytest.mark.slow) if m in SLOW else m for m in PEERS if m != "MV"]
)
def test_peers_come_near_the_best_weights_and_beat_the_vote(method, one_coin):
    weight = np.log(ONE_COIN / (1 - ONE_COIN))
    signed = weight[one_coin.contributor] * (2 * one_coin.label - 1)
    best = np.mean((np.bincount(one_coin.item, signed) > 0) == one_coin.truth)
    assert accuracy(method, one_coin) > accuracy("MV", one_coin) + 0.05
    assert accuracy(method, one_coin) > best - 0.03


def test_only_ebcc_models_correlated_errors(correlated):
    assert accuracy("EBCC", correlated) > 0.97
    for method in ("DS", "IBCC", "BWA"):
        assert accuracy(method, correlated) < 0.9


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=pytest.mark.slow) if m in SLOW else m for m in PEERS]
)
def test_labels_that_agree_are_the_consensus(method):
    truth = np.arange(30) % 3
    crowd = crowd_of(np.repeat(truth[:, None], 4, axis=1), truth, 3)
    assert accuracy(method, crowd) == 1


@pytest.mark.parametrize("method", ["MV", "DS", "IBCC", "BWA"])
def test_names_of_items_and_contributors_do_not_matter(method, one_coin):
    rng = np.random.default_rng(1)
    items, people = rng.permutation(one_coin.n_items), rng.permutation(one_coin.n_contributors)
    truth = np.empty_like(one_coin.truth)
    truth[items] = one_coin.truth
    other = Crowd(
        "", items[one_coin.item], people[one_coin.contributor], one_coin.label, truth, one_coin.classes
    )
    same = PEERS[method](other)[items]
    np.testing.assert_allclose(same, PEERS[method](one_coin), atol=1e-6)


@pytest.mark.parametrize("method", ["IBCC", "BWA"])
def test_published_accuracy_is_reached(method):
    place = file_of("crowd_birds_labels.csv.gz")
    if place is None:
        pytest.skip("the crowds are not in the folder named by ANML_DATA")
    published = {name: known["published"] for name, known in known_sets().items() if "published" in known}
    result = {
        crowd.name: 100 * accuracy(method, crowd)
        for crowd in read_crowds(place.parent)
        if crowd.name in published
    }
    assert result == pytest.approx({name: published[name][method] for name in result}, abs=0.006)
