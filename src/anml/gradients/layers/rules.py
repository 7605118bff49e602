"""Gradient rules by layer type. User-defined modules can be registered here.

A rule takes a layer, its input (n, ...) and the gradient of the loss at its output (n, ...).
"""

import re
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from anml.gradients.factors import (
    GradientFactor,
    LayerFactor,
    LazyGradient,
    LookupFactor,
    SequenceFactor,
    formed_part,
)

# Parts by the names of the layer's parameters that they cover, in the order in which they are formed.
Read = dict[tuple[str, ...], GradientFactor]
Rule = Callable[[nn.Module, Tensor, Tensor], Read]


def trainable_parameter(layer: nn.Module, name: str) -> bool:
    """True if the layer has this parameter and it is trainable."""
    parameter = getattr(layer, name, None)
    return isinstance(parameter, nn.Parameter) and parameter.requires_grad


def linear(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """Outer products of inputs and deltas, summed over the places of a sequence."""
    return weight_and_bias(a, d, trainable_parameter(layer, "weight"), trainable_parameter(layer, "bias"))


def transposed_linear(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """The same where the weight lies the other way round (in x out), as in GPT-2's `Conv1D`."""
    a, d = (a, d) if d.dim() == 2 else (a.flatten(1, -2), d.flatten(1, -2))
    return weight_and_bias(d, a, trainable_parameter(layer, "weight"), False) | weight_and_bias(
        a, d, False, trainable_parameter(layer, "bias")
    )


def weight_and_bias(a: Tensor, d: Tensor, weight: bool, bias: bool) -> Read:
    """Parts of a weight (out x in) and a bias, or of that one of them that is trained."""
    if not weight:
        return {("bias",): formed_part(d.flatten(1, -2).sum(1) if d.dim() > 2 else d)} if bias else {}
    covered = ("weight", "bias") if bias else ("weight",)
    if a.dim() == 2:
        return {covered: LayerFactor(a, d, bias)}
    return {covered: SequenceFactor(a.flatten(1, -2), d.flatten(1, -2), bias)}


def conv(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """A linear layer on every patch: grouped, dilated, strided, with any padding."""
    assert isinstance(layer, nn.Conv1d | nn.Conv2d)
    read: Read = {}
    if trainable_parameter(layer, "weight"):
        unfold = partial(_as_sequence, layer) if layer.groups == 1 else None
        read["weight",] = LazyGradient(a, d, partial(_over_patches, layer), unfold)
    if trainable_parameter(layer, "bias"):
        read["bias",] = formed_part(d.flatten(2).sum(2))
    return read


def _patches(layer: nn.Conv1d | nn.Conv2d, a: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """Patches (n x groups, in x kernel, places) and the deltas (n x groups, out, places) at them."""
    groups = len(a) * layer.groups
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    padded = functional.pad(a, layer._reversed_padding_repeated_twice, mode=mode)
    if padded.dim() == 3:
        padded = padded.unsqueeze(2)
    one = (1,) * (2 - len(layer.kernel_size))
    patches = functional.unfold(
        padded, one + layer.kernel_size, dilation=one + layer.dilation, stride=one + layer.stride
    )
    return patches.view(groups, -1, patches.shape[-1]), d.reshape(groups, -1, patches.shape[-1])


def _over_patches(layer: nn.Conv1d | nn.Conv2d, a: Tensor, d: Tensor) -> Tensor:
    patches, deltas = _patches(layer, a, d)
    return torch.bmm(deltas, patches.mT).view(len(a), -1)


def _as_sequence(layer: nn.Conv1d | nn.Conv2d, a: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    patches, deltas = _patches(layer, a, d)
    return patches.mT, deltas.mT


def embedding(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """The deltas, at the rows that were looked up."""
    assert isinstance(layer, nn.Embedding)
    rows = a.reshape(len(a), -1).long()
    deltas = d.reshape(*rows.shape, -1)
    if layer.padding_idx is not None:
        deltas = deltas * (rows != layer.padding_idx).unsqueeze(2)
    return {("weight",): LookupFactor(rows, deltas, layer.num_embeddings)}


def layer_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """Normalisation of each vector of a sample."""
    assert isinstance(layer, nn.LayerNorm)
    normal = functional.layer_norm(a, layer.normalized_shape, eps=layer.eps)
    return scale_and_shift(layer, normal, d, range(1, d.dim() - len(layer.normalized_shape)))


def rms_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """The same without a mean."""
    assert isinstance(layer, nn.RMSNorm)
    normal = functional.rms_norm(a, list(layer.normalized_shape), eps=layer.eps)
    return scale_and_shift(layer, normal, d, range(1, d.dim() - len(layer.normalized_shape)))


def transformers_rms_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """The same as transformers' language models write it, over the last dimension."""
    # The epsilon is `variance_epsilon` in some models and `eps` in others.
    epsilon: float = getattr(layer, "variance_epsilon", getattr(layer, "eps", 1e-6))
    normal = a * torch.rsqrt(a.square().mean(-1, keepdim=True) + epsilon)
    return scale_and_shift(layer, normal, d, range(1, d.dim() - 1))


def group_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """Normalisation of each group of channels of a sample."""
    assert isinstance(layer, nn.GroupNorm)
    return scale_and_shift(
        layer, functional.group_norm(a, layer.num_groups, eps=layer.eps), d, range(2, d.dim())
    )


def batch_norm(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """Normalisation by running statistics: in evaluation mode samples do not mix."""
    assert isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d)
    normal = functional.batch_norm(a, layer.running_mean, layer.running_var, training=False, eps=layer.eps)
    return scale_and_shift(layer, normal, d, range(2, d.dim()))


def scale_and_shift(layer: nn.Module, normal: Tensor, d: Tensor, places: range) -> Read:
    """Parts of a scale and a shift: deltas times normalised inputs, and deltas, summed over the places."""
    return {
        (name,): formed_part((each.sum(tuple(places)) if places else each).flatten(1))
        for name, each in (("weight", normal * d), ("bias", d))
        if trainable_parameter(layer, name)
    }


LAYERS: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Conv1d: conv,
    nn.Conv2d: conv,
    nn.Embedding: embedding,
    nn.LayerNorm: layer_norm,
    nn.RMSNorm: rms_norm,
    nn.GroupNorm: group_norm,
    nn.BatchNorm1d: batch_norm,
    nn.BatchNorm2d: batch_norm,
}
# Of packages that are not imported for it.
LAYERS_BY_NAME: dict[str, Rule] = {"transformers.pytorch_utils.Conv1D": transposed_linear}
# Normalisation layers of transformers (`LlamaRMSNorm`, `Qwen3RMSNorm`, ...) by the end of their name; those
# of Gemma scale by one plus the weight, which has the same gradient.
RMS_NORMS = re.compile(r"transformers\.models\..*RMSNorm")


def rule_of(layer: nn.Module) -> Rule | None:
    """The rule of a kind of layer, if there is one."""
    kind = type(layer)
    name = f"{kind.__module__}.{kind.__name__}"
    rule = LAYERS.get(kind) or LAYERS_BY_NAME.get(name)
    return transformers_rms_norm if rule is None and RMS_NORMS.fullmatch(name) else rule


def is_supported(layer: nn.Module) -> bool:
    """True if a rule supports this layer with its settings."""
    if isinstance(layer, nn.Embedding):
        return rule_of(layer) is not None and layer.max_norm is None and not layer.scale_grad_by_freq
    if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
        return rule_of(layer) is not None and layer.running_mean is not None
    return rule_of(layer) is not None
