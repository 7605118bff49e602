"""Explicit gradients, sample by sample, held against automatic differentiation one sample at a time."""

import pytest
import torch

from anml.gradients.mlp import Shape, forward, initialise
from anml.lab.cited.gradients import explicit_gradients


@pytest.mark.parametrize("hidden", [(4,), (5, 3)])
def test_each_row_is_the_gradient_of_its_own_loss(hidden):
    network = initialise(Shape(3, hidden, 4), [0])
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(6, 3, generator=generator), torch.tensor([0, 1, 2, 3, 1, 0])
    found = explicit_gradients(network, x, y)
    assert found.shape == (6, network.flat.shape[1])
    for place in range(6):
        # A nudge of each parameter in turn, both ways: the slope of this sample's loss.
        slope = torch.zeros_like(found[place])
        for at in range(0, len(slope), 3):
            losses = []
            for step in (1e-2, -1e-2):
                moved = initialise(Shape(3, hidden, 4), [0])
                moved.flat[0, at] += step
                logits = forward(moved, x[place : place + 1])[-1][0]
                losses.append(torch.nn.functional.cross_entropy(logits, y[place : place + 1]))
            slope[at] = (losses[0] - losses[1]) / 2e-2
        assert found[place, ::3] == pytest.approx(slope[::3].numpy(), abs=3e-3)
