"""Gradient factors of a user's torch module: exact from its linear layers, or through torch.func.

A module whose parameters all belong to linear layers, each used once on (n, features), is read by
hooks: one forward and one backward pass give every factor. Any other module is differentiated sample
by sample by `torch.func`, which needs n x parameters numbers, and is refused when they do not fit.
"""

from typing import Any

import torch
from torch import Tensor, nn

from anml.core.errors import UnsupportedError
from anml.gradients.factors import Factors, LayerFactor, Loss, explicit, output_loss

# Explicit gradients are formed only up to this many bytes.
EXPLICIT_BYTES = 2 * 2**30


def module_factors(
    module: nn.Module, x: Tensor, y: Tensor, loss: Loss, limit_bytes: int = EXPLICIT_BYTES
) -> Factors:
    """Factors of each sample's loss gradient in all trainable parameters of a module.

    The module is put into evaluation mode for the pass and back after it, and no parameter or
    gradient of it is changed.
    """
    was_training = module.training
    module.eval()
    try:
        if _only_linear(module):
            factors = _hooked(module, x, y, loss)
            if factors is not None:
                return factors
        return _explicit(module, x, y, loss, limit_bytes)
    finally:
        module.train(was_training)


def _only_linear(module: nn.Module) -> bool:
    """Whether every trainable parameter belongs to exactly one linear layer."""
    linear = [p for layer in module.modules() if type(layer) is nn.Linear for p in layer.parameters()]
    trainable = [p for p in module.parameters() if p.requires_grad]
    return bool(trainable) and {id(p) for p in trainable} == {id(p) for p in linear}


def _hooked(module: nn.Module, x: Tensor, y: Tensor, loss: Loss) -> Factors | None:
    """Record each linear layer's input and output; None when a layer is reused or sees sequences."""
    calls: list[tuple[nn.Linear, Tensor, Tensor]] = []

    def record(layer: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        assert isinstance(layer, nn.Linear)
        calls.append((layer, inputs[0].detach(), output))

    handles = [layer.register_forward_hook(record) for layer in module.modules() if type(layer) is nn.Linear]
    try:
        with torch.enable_grad():
            outputs = _two_dimensional(module(x))
    finally:
        for handle in handles:
            handle.remove()
    layers = [layer for layer, _, _ in calls]
    if len(set(map(id, layers))) != len(layers) or len(layers) != len(handles):
        return None
    if any(a.dim() != 2 or len(a) != len(x) for _, a, _ in calls):
        return None
    delta, value = output_loss(outputs.detach(), y, loss)
    gradients = torch.autograd.grad(outputs, [out for _, _, out in calls], grad_outputs=delta)
    return Factors(
        [
            LayerFactor(a, d, layer.bias is not None)
            for (layer, a, _), d in zip(calls, gradients, strict=True)
        ],
        value,
    )


def _explicit(module: nn.Module, x: Tensor, y: Tensor, loss: Loss, limit_bytes: int) -> Factors:
    parameters = {name: p.detach() for name, p in module.named_parameters() if p.requires_grad}
    fixed = {name: p.detach() for name, p in module.named_parameters() if not p.requires_grad}
    fixed |= {name: b.detach() for name, b in module.named_buffers()}
    size = sum(p.numel() for p in parameters.values())
    needed = len(x) * size * 4
    if not parameters:
        raise UnsupportedError(
            f"{type(module).__name__} has no trainable parameters, so samples have no gradients"
        )
    if needed > limit_bytes:
        kinds = sorted({type(layer).__name__ for layer in module.modules() if not list(layer.children())})
        raise UnsupportedError(
            f"{type(module).__name__} has layers other than once-used linear ones ({', '.join(kinds)}), and "
            f"explicit gradients of {len(x)} samples x {size} parameters need {needed / 2**30:.1f} GiB, "
            f"above the limit of {limit_bytes / 2**30:.1f} GiB; score fewer samples or raise limit_bytes"
        )

    def one(params: dict[str, Tensor], sample: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        out = torch.func.functional_call(module, (params, fixed), (sample.unsqueeze(0),))
        value = _differentiable_loss(_two_dimensional(out), target.unsqueeze(0), loss)
        return value, value.detach()

    per_sample = torch.func.vmap(torch.func.grad(one, has_aux=True), in_dims=(None, 0, 0))
    gradients, value = per_sample(parameters, x, y)
    return explicit(torch.cat([g.flatten(1) for g in gradients.values()], dim=1), value)


def _differentiable_loss(outputs: Tensor, target: Tensor, loss: Loss) -> Tensor:
    if loss == "softmax":
        return nn.functional.cross_entropy(outputs, target)
    if loss == "logistic":
        return nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], target.to(outputs.dtype))
    return (outputs[:, 0] - target).square().mean()


def _two_dimensional(outputs: Tensor) -> Tensor:
    return outputs.unsqueeze(1) if outputs.dim() == 1 else outputs
