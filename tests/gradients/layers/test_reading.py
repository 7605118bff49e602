"""Trainable parameters of layers."""

import torch
from torch import nn

from anml.gradients.layers.rules import trainable_parameter


def test_a_parameter_is_read_where_it_is_trained():
    layer = nn.Linear(2, 2)
    assert trainable_parameter(layer, "weight")
    assert trainable_parameter(layer, "bias")
    layer.bias.requires_grad_(False)
    assert not trainable_parameter(layer, "bias")


def test_what_is_not_there_is_not_read():
    assert not trainable_parameter(nn.Linear(2, 2, bias=False), "bias")
    assert not trainable_parameter(nn.Linear(2, 2), "nothing")


def test_a_plain_tensor_or_buffer_is_no_parameter():
    layer = nn.BatchNorm1d(2)
    layer.scale = torch.ones(2, requires_grad=True)
    assert not trainable_parameter(layer, "running_mean")
    assert not trainable_parameter(layer, "scale")
