"""Learning to reweight: weights of a look-ahead step."""

import pytest
import torch
from plain_networks import loss, made_blobs, outputs

from anml.core.errors import InputError
from anml.gradients.mlp import initialise
from anml.networks.mlp import LayerWidths
from experiments.reweight.learning_to_reweight import agreement, learning_to_reweight
from experiments.reweight.training import Schedule, TensorData, check_training_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blobs():
    return made_blobs()


def test_weights_are_those_of_a_look_ahead_step(blobs):
    """minus d(clean loss)/d(weight of a sample) after one step from weights of zero, by autograd."""
    subset = check_training_data("data", blobs[0][:6], blobs[1][:6], 3)
    clean = check_training_data("data", blobs[4], blobs[5], 3)
    networks = initialise(LayerWidths(4, (5,), 3), [1])
    each, flat = loss(networks, subset.x, subset.y)
    gradients = [torch.autograd.grad(one, flat, retain_graph=True)[0] for one in each]
    weights = torch.zeros(6, requires_grad=True)
    moved = networks.flat - sum(w * g for w, g in zip(weights, gradients, strict=True))
    ahead = outputs(networks.shape, moved, clean.x)
    torch.nn.functional.cross_entropy(ahead, clean.y).backward()
    assert agreement(networks, subset, clean, 3).numpy() == pytest.approx(-weights.grad.numpy(), abs=1e-5)


PLAN = Schedule(hidden=(8,), epochs=6, batch=40, lr=1e-2)


def test_a_copy_of_clean_data_agrees_and_its_opposite_does_not(blobs):
    clean = check_training_data("data", blobs[4], blobs[5], 3)
    networks = initialise(LayerWidths(4, (5,), 3), [1])
    right = agreement(networks, clean, clean, 3).mean()
    wrong = agreement(networks, TensorData(clean.x, (clean.y + 1) % 3), clean, 3).mean()
    assert right > 0 > wrong


def test_each_sample_is_judged_by_itself(blobs):
    subset, clean = (
        check_training_data("data", blobs[0][:9], blobs[1][:9], 3),
        check_training_data("data", blobs[4], blobs[5], 3),
    )
    networks = initialise(LayerWidths(4, (5,), 3), [1])
    whole = agreement(networks, subset, clean, 3)
    alone = torch.cat(
        [
            agreement(networks, TensorData(subset.x[at : at + 1], subset.y[at : at + 1]), clean, 3)
            for at in range(9)
        ]
    )
    torch.testing.assert_close(whole, alone, rtol=1e-4, atol=1e-5)


def test_samples_that_disagree_weigh_nothing(blobs):
    result = learning_to_reweight(blobs[0], blobs[1], blobs[4], blobs[5], 3, PLAN)
    assert (result.weights == 0).any()
    assert result.weights.max() == 1


def test_clean_data_is_checked_as_rows_are(blobs):
    with pytest.raises(InputError, match="clean data must have class codes from 0 to 2"):
        learning_to_reweight(blobs[0], blobs[1], blobs[4], blobs[5] + 9, 3, PLAN)
