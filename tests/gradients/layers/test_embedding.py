"""Look-up tables: deltas at the rows that were looked up, and nowhere else."""

import pytest
import torch
from layer_checks import assert_reads, made, normal
from torch import nn

from anml.gradients.layers.rules import embedding


def test_by_hand():
    # Row 2 is looked up twice, by deltas (1, 2) and (10, 20); row 0 once.
    layer = nn.Embedding(3, 2)
    rows, d = torch.tensor([[2, 0, 2]]), torch.tensor([[[1.0, 2.0], [5.0, 5.0], [10.0, 20.0]]])
    part = embedding(layer, rows, d)["weight",]
    assert part.formed().tolist() == [[5, 5, 0, 0, 11, 22]]
    assert part.norms().tolist() == [5**2 + 5**2 + 11**2 + 22**2]


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 2, 3)])
def test_one_or_many_look_ups_a_sample(shape):
    rows = torch.randint(0, 9, shape, generator=torch.Generator().manual_seed(0))
    layer = made(nn.Embedding(9, 3))
    assert_reads(embedding, layer, rows)


def test_the_row_that_pads_has_no_gradient():
    rows = torch.tensor([[1, 2, 2], [2, 2, 2]])
    part = assert_reads(embedding, made(nn.Embedding(4, 3, padding_idx=2)), rows)["weight",]
    assert not part.formed().reshape(2, 4, 3)[:, 2].any()
    assert not part.formed()[1].any()


def test_samples_that_share_no_row_are_at_right_angles():
    part = embedding(nn.Embedding(6, 2), torch.tensor([[0, 1], [2, 3], [0, 5]]), normal(3, 2, 2))["weight",]
    products = part.products(part)
    assert products[0, 1] == 0
    assert products[0, 2] != 0


def test_shorter_batches_are_filled_up_with_nothing():
    layer = made(nn.Embedding(6, 2))
    long = embedding(layer, torch.tensor([[1, 2, 3]]), normal(1, 3, 2))["weight",]
    short = embedding(layer, torch.tensor([[4]]), normal(1, 1, 2, seed=1))["weight",]
    joined = long.joined([short])
    torch.testing.assert_close(joined.formed(), torch.cat([long.formed(), short.formed()]))
    torch.testing.assert_close(joined.norms(), torch.cat([long.norms(), short.norms()]))
