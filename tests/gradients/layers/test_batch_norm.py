"""Normalisation by running statistics: a sample's gradient does not depend on its batch."""

import pytest
import torch
from layer_checks import assert_reads, made, normal
from torch import nn

from anml.gradients.layers.rules import batch_norm


@pytest.mark.parametrize(
    ("kind", "shape"), [(nn.BatchNorm1d, (4, 3)), (nn.BatchNorm1d, (4, 3, 5)), (nn.BatchNorm2d, (4, 3, 5, 2))]
)
def test_every_shape(kind, shape):
    assert_reads(batch_norm, made(kind(3)), normal(*shape))


def test_by_hand():
    # Running mean 1 and variance 4: an input of 5 is normalised to 2.
    layer = nn.BatchNorm1d(1, eps=0.0).eval()
    layer.running_mean.fill_(1.0)
    layer.running_var.fill_(4.0)
    read = batch_norm(layer, torch.tensor([[5.0]]), torch.tensor([[10.0]]))
    assert read["weight",].formed().tolist() == [[20]]
    assert read["bias",].formed().tolist() == [[10]]


def test_samples_do_not_mix_and_statistics_stay():
    layer = made(nn.BatchNorm1d(3))
    before = layer.running_mean.clone()
    a, d = normal(5, 3), normal(5, 3, seed=1)
    whole = batch_norm(layer, a, d)["weight",].formed()
    alone = batch_norm(layer, a[2:3], d[2:3])["weight",].formed()
    torch.testing.assert_close(whole[2:3], alone)
    assert torch.equal(layer.running_mean, before)
