"""GLISTER: the subset that clean data asks for."""

import pytest
import torch
from plain_networks import made_blobs

from anml.core.errors import InputError
from anml.gradients.mlp import initialise
from anml.networks.mlp import LayerWidths, NetworkBatch
from experiments.reweight.glister import glister, greedy_subset
from experiments.reweight.training import Schedule, check_training_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blobs():
    return made_blobs()


def test_glister_takes_the_samples_that_agree_with_clean_data():
    """One feature, two classes: with the last layer at zero the gain is x times the clean mean, by hand."""
    networks = NetworkBatch(LayerWidths(1, (), 2), torch.zeros(1, 4))
    rows = check_training_data("data", [[1.0], [2.0], [-1.0], [3.0]], [1, 1, 1, 0], 2)
    clean = check_training_data("data", [[1.0]], [1], 2)
    # (x * 1 + 1) times (p - y) . (p - y): 1, 1.5, 0 for class 1, and minus 2 for the one of class 0.
    assert sorted(greedy_subset(networks, rows, clean, 2, 2).tolist()) == [0, 1]


PLAN = Schedule(hidden=(8,), epochs=21, batch=40, lr=1e-2)


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_as_many_rows_are_chosen_as_asked_for_and_none_twice(size, blobs):
    rows, clean = (
        check_training_data("data", blobs[0], blobs[1], 3),
        check_training_data("clean", blobs[4], blobs[5], 3),
    )
    chosen = greedy_subset(initialise(LayerWidths(4, (5,), 3), [0]), rows, clean, 3, size)
    assert len(set(chosen.tolist())) == size


@pytest.mark.parametrize("keep", [0.25, 0.75])
def test_the_share_that_is_kept_is_the_one_asked_for(keep, blobs):
    result = glister(blobs[0], blobs[1], blobs[4], blobs[5], 3, keep, PLAN)
    assert result.weights.mean() == pytest.approx(keep, abs=0.01)


@pytest.mark.parametrize("keep", [0.0, 1.5])
def test_shares_outside_are_refused(keep, blobs):
    with pytest.raises(InputError, match=r"keep must lie in \(0, 1\]"):
        glister(blobs[0], blobs[1], blobs[4], blobs[5], 3, keep)
