"""Real crowds: who is truly fine and bad with the truth in hand, and what is measured of a method."""

import numpy as np
import pytest

from experiments.crowds import CROWDS, METHODS, load_crowd, measures, true_groups
from experiments.data import DataMissingError
from experiments.measures import Outcome
from experiments.seen import Case, GroundTruth, MethodInput

pytestmark = pytest.mark.slow


@pytest.fixture
def three():
    """Two classes, forty items; of three people one is right, one guesses, one has labelled five items."""
    item = np.r_[np.arange(40), np.arange(40), np.arange(5)]
    truth = item % 2
    contributor = np.repeat([0, 1, 2], [40, 40, 5])
    y = np.where(contributor == 1, (item // 2) % 2, truth)
    return Case(MethodInput(np.zeros((85, 0)), y, 2, contributor.astype(str), item), GroundTruth(y=truth))


def test_truly_fine_and_bad(three):
    fine, bad, accuracy, rows = true_groups(three)
    assert fine.tolist() == [True, False, False]
    assert bad.tolist() == [False, False, False]  # half right of forty: bad with 85% only
    assert accuracy.tolist() == [1.0, 0.5, 1.0]
    assert rows.tolist() == [40, 40, 5]


def test_what_is_measured(three):
    items = np.eye(2)[np.arange(40) % 2] * 0.8 + 0.1
    verdict = np.array(["reliable", "no better than guessing", "inconclusive"])
    low, high = np.array([0.9, 0.6, 0.0]), np.array([1.0, 0.7, 1.0])
    result = measures(three, Outcome(posterior=items, verdict=verdict, low=low, high=high))
    assert result["consensus"] == 100
    assert result["calibration"] == pytest.approx(0.1)
    assert result["cover"] == 50  # of those with ten labels
    assert (result["fine"], result["fine_reliable"], result["fine_accused"]) == (1, 1, 0)


def test_a_consensus_alone_says_nothing_of_people(three):
    assert "fine" not in measures(three, Outcome(posterior=np.full((40, 2), 0.5)))


@pytest.mark.parametrize("method", ["anml", "majority vote", "Dawid-Skene"])
def test_methods_give_a_posterior_for_every_item(three, method):
    messages = METHODS[method](three)
    assert messages.posterior.shape == (40, 2)
    np.testing.assert_allclose(messages.posterior.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", CROWDS)
def test_crowds_are_loaded(name):
    try:
        result = load_crowd(name)
    except DataMissingError as missing:
        pytest.skip(str(missing))
    inputs = result.seen
    assert len(inputs.y) == len(inputs.who) == len(inputs.item) == len(result.truth.y)
    assert inputs.item.max() + 1 >= 100
