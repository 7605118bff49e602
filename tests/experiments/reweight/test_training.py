"""Common parts of reweighting methods: gradients, steps, batches, validation."""

import numpy as np
import pytest
import torch
from plain_networks import loss, made_blobs, outputs

from anml.core.errors import InputError
from anml.gradients.mlp import initialise
from anml.networks.mlp import LayerWidths, NetworkBatch
from experiments.reweight.training import (
    Adam,
    Reweighted,
    Schedule,
    batches,
    check_training_data,
    gradient_of,
    loss_of,
    one_hot,
    setup_training,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blobs():
    return made_blobs()


def test_gradient_is_that_of_autograd(blobs):
    rows = check_training_data("data", blobs[0], blobs[1], 3)
    networks = initialise(LayerWidths(4, (5,), 3), [0])
    each, flat = loss(networks, rows.x, rows.y)
    each.mean().backward()
    weight = torch.full((1, len(rows.y)), 1 / len(rows.y))
    mine = gradient_of(networks, rows.x, one_hot(rows.y, 3).unsqueeze(0), weight)
    assert mine[0].numpy() == pytest.approx(flat.grad[0].numpy(), abs=1e-6)


def plan(**more):
    return Schedule(**{"hidden": (5,), "batch": 7, **more})


class TestRows:
    @pytest.mark.parametrize(
        ("x", "y", "says"),
        [
            ([[1.0]], [0, 1], r"must be rows of features with one class each, got \(1, 1\) and \(2,\)"),
            ([1.0], [0], r"got \(1,\) and \(1,\)"),
            ([[np.inf]], [0], "has features that are missing or infinite"),
            ([[1.0]], [3], "must have class codes from 0 to 2"),
            ([[1.0]], [-1], "must have class codes from 0 to 2"),
            ([[1.0]], [0.5], "must have class codes"),
            (np.zeros((0, 2)), [], "rows of features"),
        ],
    )
    def test_what_is_wrong_names_whose_rows_they_are(self, x, y, says):
        with pytest.raises(InputError, match=f"clean data .*{says}"):
            check_training_data("clean data", x, y, 3)

    def test_good_rows_pass(self):
        rows = check_training_data("data", [[1, 2], [3, 4]], np.array([0, 2], dtype=np.uint8), 3)
        assert rows.x.dtype == torch.float32
        assert rows.y.tolist() == [0, 2]


class TestGradient:
    def test_soft_targets_mix_the_gradients_of_classes(self, blobs):
        rows = check_training_data("data", blobs[0][:8], blobs[1][:8], 3)
        networks = initialise(LayerWidths(4, (5,), 3), [0])
        weight = torch.ones(1, 8)
        each = [
            gradient_of(networks, rows.x, one_hot(torch.full((8,), c), 3)[None], weight) for c in range(3)
        ]
        share = torch.tensor([0.2, 0.3, 0.5])
        mixed = gradient_of(networks, rows.x, share.expand(1, 8, 3), weight)
        torch.testing.assert_close(mixed, sum(s * g for s, g in zip(share, each, strict=True)))

    def test_samples_of_no_weight_pull_nothing(self, blobs):
        rows = check_training_data("data", blobs[0][:8], blobs[1][:8], 3)
        networks = initialise(LayerWidths(4, (5,), 3), [0])
        target, weight = one_hot(rows.y, 3)[None], torch.ones(1, 8)
        weight[0, 4:] = 0
        subset = gradient_of(networks, rows.x[:4], target[:, :4], torch.ones(1, 4))
        torch.testing.assert_close(gradient_of(networks, rows.x, target, weight), subset)


def test_steps_are_those_of_torchs_adam(blobs):
    rows = check_training_data("data", blobs[0], blobs[1], 3)
    networks = initialise(LayerWidths(4, (5,), 3), [0])
    flat = torch.nn.Parameter(networks.flat.clone())
    theirs = torch.optim.Adam([flat], lr=0.01)
    ours = Adam(networks, 0.01)
    weight = torch.full((1, len(rows.y)), 1 / len(rows.y))
    for _ in range(5):
        theirs.zero_grad()
        torch.nn.functional.cross_entropy(outputs(networks.shape, flat, rows.x), rows.y).backward()
        theirs.step()
        ours.step(rows.x.unsqueeze(0), one_hot(rows.y, 3).unsqueeze(0), weight)
    torch.testing.assert_close(networks.flat, flat.detach(), rtol=1e-4, atol=1e-5)


def test_batches_hold_every_row_once_in_an_order_of_their_own():
    generator = torch.Generator().manual_seed(0)
    one, two = batches(20, plan(), generator), batches(20, plan(), generator)
    assert [len(part) for part in one] == [7, 7, 6]
    assert torch.cat(one).sort().values.tolist() == list(range(20))
    assert torch.cat(one).tolist() != torch.cat(two).tolist()


def test_networks_start_from_different_weights_by_seed(blobs):
    first, second = setup_training(*blobs[:2], 3, plan(), 2)[2].flat
    assert not torch.equal(first, second)
    assert torch.equal(setup_training(*blobs[:2], 3, plan(), 1)[2].flat[0], first)
    assert not torch.equal(setup_training(*blobs[:2], 3, plan(seed=1), 1)[2].flat[0], first)


def test_several_networks_vote_by_their_mean_probability():
    shape = LayerWidths(1, (), 2)
    # Weights (in x out) then biases: the first is hardly for class 1, the second surely for class 0.
    flat = torch.tensor([[0.0, 0.0, 0.0, 0.1], [0.0, 0.0, 5.0, 0.0]])
    assert Reweighted(NetworkBatch(shape, flat), np.ones(1)).predict([[1.0]]).tolist() == [0]
    assert Reweighted(NetworkBatch(shape, flat[:1]), np.ones(1)).predict([[1.0]]).tolist() == [1]


def test_losses_of_each_network_and_row(blobs):
    rows = check_training_data("data", blobs[0][:6], blobs[1][:6], 3)
    networks = setup_training(*blobs[:2], 3, plan(), 2)[2]
    result = loss_of(networks, rows)
    assert result.shape == (2, 6)
    each, _ = loss(networks.pick([0]), rows.x, rows.y)
    np.testing.assert_allclose(result[0], each.detach(), rtol=1e-5)
