"""A layer's rule against gradients of one sample at a time."""

from typing import Any

import torch
from torch import Tensor, nn

from anml.gradients.layers.rules import Read


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def made(layer: nn.Module, seed: int = 0) -> nn.Module:
    """In double precision and evaluation mode, with parameters and statistics that are nothing special."""
    layer = layer.double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        for buffer in layer.buffers():
            if buffer.is_floating_point():
                buffer.copy_(0.5 + torch.rand(buffer.shape, generator=generator, dtype=torch.float64))
    return layer


def one_by_one(layer: nn.Module, a: Tensor, d: Tensor) -> dict[str, Tensor]:
    """Gradient of (output . delta) in each trained parameter, a sample at a time, (n, parameters)."""
    named = {name: p for name, p in layer.named_parameters() if p.requires_grad}
    rows: dict[str, list[Tensor]] = {name: [] for name in named}
    for at in range(len(a)):
        out = layer(a[at : at + 1])
        result = torch.autograd.grad((out * d[at : at + 1]).sum(), list(named.values()))
        for name, gradient in zip(named, result, strict=True):
            rows[name].append(gradient.flatten())
    return {name: torch.stack(each) for name, each in rows.items()}


def formed(read: Read, layer: nn.Module) -> dict[str, Tensor]:
    """Split the result of a rule into the gradients of each parameter."""
    result: dict[str, Tensor] = {}
    for names, part in read.items():
        sizes = [layer.get_parameter(name).numel() for name in names]
        result |= dict(zip(names, part.formed().split(sizes, dim=1), strict=True))
    return result


def assert_reads(rule: Any, layer: nn.Module, a: Tensor, seed: int = 7) -> Read:
    """The rule's gradients are those of one sample at a time; returns what it read."""
    d = normal(*layer(a).shape, seed=seed)
    read: Read = rule(layer, a, d)
    ours, theirs = formed(read, layer), one_by_one(layer, a, d)
    assert ours.keys() == theirs.keys()
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-8, atol=1e-10)
    return read
