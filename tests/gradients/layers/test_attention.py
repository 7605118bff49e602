"""Multi-head attention: a forward pass equal to torch's own, and gradients of its four maps."""

import pytest
import torch
from layer_checks import made, normal
from torch import nn

from anml.gradients.layers.attention import attention, forward, supported

SETTINGS = {
    "plain": {},
    "one head": {"num_heads": 1},
    "no bias": {"bias": False},
    "places first": {"batch_first": False},
    "narrow keys": {"kdim": 3, "vdim": 5},
}


def layer_of(**settings):
    return made(nn.MultiheadAttention(**{"embed_dim": 4, "num_heads": 2, "batch_first": True, **settings}))


def given(layer, same, n=3, t=5, s=6):
    """Query, key and value as the layer takes them."""
    query = normal(n, t, 4)
    if same:
        return (query,) * 3
    shapes = ((n, t, 4), (n, s, layer.kdim), (n, s, layer.vdim))
    each = tuple(normal(*shape, seed=at) for at, shape in enumerate(shapes))
    return each if layer.batch_first else tuple(x.transpose(0, 1) for x in each)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("weights", [True, False])
def test_the_forward_pass_is_torchs_own(settings, weights):
    layer = layer_of(**settings)
    q, k, v = given(layer, same=False)
    (ours, our_weights), _ = forward(layer, q, k, v, need_weights=weights)
    theirs, their_weights = layer(q, k, v, need_weights=weights)
    torch.testing.assert_close(ours, theirs)
    if weights:
        torch.testing.assert_close(our_weights, their_weights)
    else:
        assert our_weights is None


@pytest.mark.parametrize("kind", ["truth values", "numbers", "of every head"])
def test_masks_of_every_kind(kind):
    layer = layer_of()
    q, k, v = given(layer, same=False)
    mask = torch.zeros(5, 6, dtype=torch.bool)
    mask[:, 3] = True
    if kind == "numbers":
        mask = torch.zeros(5, 6, dtype=torch.float64).masked_fill(mask, -1e9)
    if kind == "of every head":
        mask = mask.expand(6, 5, 6)
    padding = torch.zeros(3, 6, dtype=mask.dtype)
    padding[:, -1] = True if mask.dtype == torch.bool else -1e9
    ours = forward(layer, q, k, v, padding, attn_mask=mask)[0]
    theirs = layer(q, k, v, padding, attn_mask=mask)
    torch.testing.assert_close(ours[0], theirs[0])
    torch.testing.assert_close(ours[1], theirs[1])


def test_weights_of_each_head_where_they_are_asked_for():
    layer = layer_of()
    q, k, v = given(layer, same=False)
    ours = forward(layer, q, k, v, average_attn_weights=False)[0][1]
    torch.testing.assert_close(ours, layer(q, k, v, average_attn_weights=False)[1])


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("same", [True, False])
def test_gradients_are_those_of_one_sample_at_a_time(settings, same):
    layer = layer_of(**settings)
    if same and not layer._qkv_same_embed_dim:
        return  # to itself, keys are as wide as queries
    q, k, v = given(layer, same)
    if same and not layer.batch_first:
        q = k = v = q.transpose(0, 1)
    (out, _), seen = forward(layer, q, k, v)
    delta = normal(*out.shape, seed=9)
    d = torch.autograd.grad((out * delta).sum(), seen.outputs)
    inputs = tuple(each.detach() for each in seen.inputs)
    if same:
        inputs = (inputs[0],) * 3 + inputs[3:]
    read = attention(layer, inputs, tuple(each.detach() for each in d))
    named = dict(layer.named_parameters())
    assert {name for names in read for name in names} == set(named)
    batch = 0 if layer.batch_first else 1
    for at in range(3):
        one = [x.narrow(batch, at, 1) for x in (q, k, v)]
        total = (layer(*one)[0] * delta.narrow(batch, at, 1)).sum()
        theirs = dict(zip(named, torch.autograd.grad(total, list(named.values())), strict=True))
        for names, part in read.items():
            ours = part.formed()[at].split([named[name].numel() for name in names])
            for name, gradient in zip(names, ours, strict=True):
                torch.testing.assert_close(gradient, theirs[name].flatten(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "expected"), [({}, True), ({"add_bias_kv": True}, False), ({"add_zero_attn": True}, False)]
)
def test_what_the_forward_pass_lacks_is_not_read(settings, expected):
    assert supported(nn.MultiheadAttention(4, 2, **settings)) == expected


def test_frozen_maps_are_not_read():
    layer = layer_of()
    layer.in_proj_weight.requires_grad_(False)
    layer.out_proj.bias.requires_grad_(False)
    q, k, v = given(layer, same=True)
    (out, _), seen = forward(layer, q, k, v)
    d = torch.autograd.grad(out.sum(), seen.outputs)
    read = attention(layer, tuple(x.detach() for x in seen.inputs), d)
    assert sorted(read) == [("in_proj_bias",), ("out_proj.weight",)]
