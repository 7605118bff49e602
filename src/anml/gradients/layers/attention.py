"""Multi-head attention: four linear maps that only the layer's own forward pass sees.

While gradients are read, that pass is replaced by an equal one that shows what each map saw.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from anml.gradients.factors import SequenceFactor, formed_part
from anml.gradients.layers.rules import Read, outer, trained


class Maps(NamedTuple):
    """What went into the maps and came out of them: query, key, value and the output."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def forward(
    layer: nn.MultiheadAttention, query: Tensor, key: Tensor, value: Tensor,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[tuple[Tensor, Tensor | None], Maps]:  # fmt: skip
    """The layer's own forward pass, in evaluation mode, with what its maps saw."""
    given = (query, key, value)
    if not layer.batch_first:
        given = tuple(each.transpose(0, 1) for each in given)  # type: ignore[assignment]
    q, k, v = (functional.linear(each, *_map(layer, at)) for at, each in enumerate(given))
    heads = [each.view(*each.shape[:2], layer.num_heads, -1).transpose(1, 2) for each in (q, k, v)]
    mask = _mask(layer, attn_mask, key_padding_mask, query.dtype)
    mixed, weights = _mixed(heads[0], heads[1], heads[2], mask, need_weights)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    joined = mixed.transpose(1, 2).flatten(2)
    out = functional.linear(joined, layer.out_proj.weight, layer.out_proj.bias)
    shown = out if layer.batch_first else out.transpose(0, 1)
    return (shown, weights), Maps((*given, joined), (q, k, v, out))


def supported(layer: nn.MultiheadAttention) -> bool:
    """Whether this forward pass has everything that the layer's own has."""
    return layer.bias_k is None and not layer.add_zero_attn


def _mixed(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, need_weights: bool) -> tuple[Tensor, Any]:
    if not need_weights:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask), None
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
    return weights @ v, weights


def attention(layer: nn.Module, seen: tuple[Tensor, ...], d: tuple[Tensor, ...]) -> Read:
    """Parts of the projections that lie in one table or in three, and of the output's."""
    assert isinstance(layer, nn.MultiheadAttention)
    read: Read = {}
    out = layer.out_proj
    for names, part in outer(seen[3], d[3], trained(out, "weight"), trained(out, "bias")).items():
        read[tuple(f"out_proj.{name}" for name in names)] = part
    bias = trained(layer, "in_proj_bias")
    if layer._qkv_same_embed_dim:
        if seen[0] is seen[1] is seen[2]:
            joint = torch.cat(d[:3], dim=2)
            weight = trained(layer, "in_proj_weight")
            return read | outer(seen[0], joint, weight, bias, ("in_proj_weight", "in_proj_bias"))
        if trained(layer, "in_proj_weight"):
            each = [SequenceFactor(a, e, bias=False).formed() for a, e in zip(seen[:3], d[:3], strict=True)]
            read["in_proj_weight",] = formed_part(torch.cat(each, dim=1))
    else:
        for a, e, name in zip(seen[:3], d[:3], ("q", "k", "v"), strict=True):
            if trained(layer, f"{name}_proj_weight"):
                read[f"{name}_proj_weight",] = SequenceFactor(a, e, bias=False)
    if bias:
        read["in_proj_bias",] = formed_part(torch.cat([e.sum(1) for e in d[:3]], dim=1))
    return read


def _map(layer: nn.MultiheadAttention, at: int) -> tuple[Tensor, Tensor | None]:
    width = layer.embed_dim
    rows = slice(at * width, (at + 1) * width)
    bias = None if layer.in_proj_bias is None else layer.in_proj_bias[rows]
    if layer._qkv_same_embed_dim:
        return layer.in_proj_weight[rows], bias
    return getattr(layer, f"{'qkv'[at]}_proj_weight"), bias


def _mask(layer: nn.MultiheadAttention, mask: Any, padding: Any, dtype: torch.dtype) -> Tensor | None:
    """One mask of what is added to the scores, (n or 1, heads or 1, T, S)."""
    masks = []
    if mask is not None:
        added = _added(mask, dtype)
        masks.append(
            added.view(-1, layer.num_heads, *added.shape[1:]) if added.dim() == 3 else added[None, None]
        )
    if padding is not None:
        masks.append(_added(padding, dtype)[:, None, None])
    return sum(masks[1:], masks[0]) if masks else None


def _added(mask: Tensor, dtype: torch.dtype) -> Tensor:
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(mask, float("-inf"))
