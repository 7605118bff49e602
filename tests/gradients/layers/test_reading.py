"""Which parameters are read: those that are there and are trained."""

import torch
from torch import nn

from anml.gradients.layers.rules import trained


def test_a_parameter_is_read_where_it_is_trained():
    layer = nn.Linear(2, 2)
    assert trained(layer, "weight")
    assert trained(layer, "bias")
    layer.bias.requires_grad_(False)
    assert not trained(layer, "bias")


def test_what_is_not_there_is_not_read():
    assert not trained(nn.Linear(2, 2, bias=False), "bias")
    assert not trained(nn.Linear(2, 2), "nothing")


def test_a_plain_tensor_or_buffer_is_no_parameter():
    layer = nn.BatchNorm1d(2)
    layer.scale = torch.ones(2, requires_grad=True)
    assert not trained(layer, "running_mean")
    assert not trained(layer, "scale")
