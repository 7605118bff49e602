"""One forward and one backward pass of a module, and what each of its layers saw.

Deltas are taken where a layer's output was made: a later change in place, as of ReLU, does not matter then.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge

from anml.gradients.factors import Part, formed_part
from anml.gradients.layers import attention
from anml.gradients.layers.rules import Read, readable, rule_of
from anml.gradients.losses import SampleLoss, sample_losses

Forward = Callable[[], Any]


class Unreadable(Exception):
    """A layer did something that no rule reads; gradients must be formed in another way."""


class Use(NamedTuple):
    """One use of a layer: what went in, and the edges of the graph at what came out."""

    layer: nn.Module
    inputs: tuple[Tensor, ...]
    edges: tuple[Any, ...]


class Covered(NamedTuple):
    """A part, and the parameters that it covers, in the order in which it forms them."""

    parameters: tuple[nn.Parameter, ...]
    part: Part


def unread(module: nn.Module) -> list[str]:
    """Kinds of layers with trainable parameters that no rule reads."""
    covered: set[int] = set()
    for layer in module.modules():
        if isinstance(layer, nn.MultiheadAttention) and attention.supported(layer):
            covered |= {id(p) for p in layer.parameters()}
        elif readable(layer):
            covered |= {id(p) for p in layer.parameters(recurse=False)}
    kinds = {
        type(layer).__name__
        for layer in module.modules()
        for p in layer.parameters(recurse=False)
        if p.requires_grad and id(p) not in covered
    }
    return sorted(kinds)


def read(
    module: nn.Module, run: Forward, target: Any, loss: str | SampleLoss, n: int, last: int | None = None,
    once: dict[int, int] | None = None,
) -> tuple[list[Covered], Tensor]:  # fmt: skip
    """Parts that cover every trainable parameter (of the `last` layers, where given), and the losses.

    `once` keeps which tables were looked up once for all samples, and at how many dimensions of places: in a
    batch as large as its sequences are long, that cannot be told from one look-up a sample.
    """
    uses: list[Use] = []
    with _recording(module, uses, n, {} if once is None else once), torch.enable_grad():
        value = sample_losses(loss, run(), target)
    if last is not None:
        kept = {id(use.layer) for use in list({id(use.layer): use for use in uses}.values())[-last:]}
        uses = [use for use in uses if id(use.layer) in kept]
    if not uses:
        raise Unreadable
    edges = [edge for use in uses for edge in use.edges]
    found = torch.autograd.grad(value.sum(), edges, allow_unused=True)
    deltas = iter(found)
    covered: list[Covered] = []
    for use in uses:
        own = [next(deltas) for _ in use.edges]
        # What an output does not reach the loss from has no gradient there.
        if all(d is None for d in own):
            continue
        if any(d is None for d in own):
            raise Unreadable
        covered += _covered(use, [d.detach().float() for d in own])
    return _merged(covered), value.detach().float()


def _covered(use: Use, deltas: list[Tensor]) -> list[Covered]:
    read: Read
    inputs = tuple(each.float() if each.is_floating_point() else each for each in use.inputs)
    if isinstance(use.layer, nn.MultiheadAttention):
        read = attention.attention(use.layer, use.inputs, tuple(deltas))
    else:
        rule = rule_of(use.layer)
        assert rule is not None  # only layers that a rule reads are recorded
        read = rule(use.layer, inputs[0], deltas[0])
    return [Covered(tuple(use.layer.get_parameter(n) for n in names), part) for names, part in read.items()]


def _merged(covered: list[Covered]) -> list[Covered]:
    """One part for each parameter: those of a layer used twice, or of tied weights, are formed and added."""
    uses: dict[int, int] = {}
    for parameters, _ in covered:
        for p in parameters:
            uses[id(p)] = uses.get(id(p), 0) + 1
    alone = [c for c in covered if all(uses[id(p)] == 1 for p in c.parameters)]
    totals: dict[int, tuple[nn.Parameter, Tensor]] = {}
    for parameters, part in covered:
        if all(uses[id(p)] == 1 for p in parameters):
            continue
        pieces = torch.split(part.formed(), [p.numel() for p in parameters], dim=1)
        for p, piece in zip(parameters, pieces, strict=True):
            before = totals.get(id(p))
            totals[id(p)] = (p, piece if before is None else before[1] + piece)
    return alone + [Covered((p,), formed_part(total)) for p, total in totals.values()]


@contextmanager
def _recording(module: nn.Module, uses: list[Use], n: int, once: dict[int, int]) -> Iterator[None]:
    """Write down every use of a layer with trainable parameters while the block runs."""
    handles, replaced = [], []
    inside: set[int] = set()
    for layer in module.modules():
        if id(layer) in inside or not any(p.requires_grad for p in layer.parameters()):
            continue
        if isinstance(layer, nn.MultiheadAttention) and attention.supported(layer):
            inside |= {id(below) for below in layer.modules()}
            replaced.append(layer)
            layer.forward = partial(_attend, layer, uses, n)  # type: ignore[method-assign]
        elif readable(layer) and any(p.requires_grad for p in layer.parameters(recurse=False)):
            hook = partial(_note, uses, n, once)
            handles.append(layer.register_forward_hook(hook, with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for attending in replaced:
            del attending.forward


def _note(
    uses: list[Use], n: int, once: dict[int, int], layer: nn.Module, args: Any, named: dict[str, Any],
    output: Any,
) -> Any:  # fmt: skip
    given = args[0] if args else next(iter(named.values()), None)
    if not isinstance(given, Tensor) or not isinstance(output, Tensor) or not output.requires_grad:
        raise Unreadable
    shared = given.dim() == 1 or len(given) == 1
    if isinstance(layer, nn.Embedding) and shared and (len(given) != n or id(layer) in once):
        # Looked up once for all samples, as positions are: each sample gets a use of its own.
        places = once.setdefault(id(layer), given.dim() - (len(given) == 1))
        output = output.expand(n, *output.shape[-1 - places :])
        given = given.expand(n, *given.shape[given.dim() - places :])
    if len(output) != n or len(given) != n:
        raise Unreadable
    uses.append(Use(layer, (given.detach(),), (get_gradient_edge(output),)))
    return output


def _attend(layer: nn.MultiheadAttention, uses: list[Use], n: int, *args: Any, **named: Any) -> Any:
    result, seen = attention.forward(layer, *args, **named)
    if seen.inputs[0].dim() != 3 or any(len(each) != n for each in seen.inputs):
        raise Unreadable
    # Equal inputs stay one object: self-attention is read as one map.
    first = seen.inputs[0].detach().float()
    same = args[0] is args[1] is args[2] if len(args) >= 3 else False
    inputs = (first,) * 3 if same else tuple(each.detach().float() for each in seen.inputs[:3])
    edges = tuple(get_gradient_edge(each) for each in seen.outputs)
    uses.append(Use(layer, (*inputs, seen.inputs[3].detach().float()), edges))
    return result
