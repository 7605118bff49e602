"""One forward and one backward pass of a module, and what each of its layers saw.

Deltas are taken where a layer's output was made: a later change in place, as of ReLU, does not matter then.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge

from anml.gradients.factors import GradientFactor, formed_part
from anml.gradients.layers.rules import is_supported, rule_of
from anml.gradients.losses import SampleLoss, sample_losses

Forward = Callable[[], Any]


class UnsupportedLayer(Exception):
    """A layer did something that no rule reads; gradients must be formed in another way."""


class LayerCall(NamedTuple):
    """One use of a layer: what went in, and the edge of the graph at what came out."""

    layer: nn.Module
    given: Tensor
    edge: Any


class Covered(NamedTuple):
    """A part, and the parameters that it covers, in the order in which it forms them."""

    parameters: tuple[nn.Parameter, ...]
    part: GradientFactor

    def pieces(self) -> Iterator[tuple[nn.Parameter, Tensor]]:
        """Each parameter with its gradients, formed, (n, numbers)."""
        formed = torch.split(self.part.formed(), [p.numel() for p in self.parameters], dim=1)
        return zip(self.parameters, formed, strict=True)


def unsupported_layers(module: nn.Module) -> list[str]:
    """Kinds of layers with trainable parameters that no rule reads."""
    read = {
        id(p) for layer in module.modules() if is_supported(layer) for p in layer.parameters(recurse=False)
    }
    kinds = {
        type(layer).__name__
        for layer in module.modules()
        for p in layer.parameters(recurse=False)
        if p.requires_grad and id(p) not in read
    }
    return sorted(kinds)


def record_gradients(
    module: nn.Module, run: Forward, target: Any, loss: str | SampleLoss, n: int, last: int | None = None,
    once: dict[int, int] | None = None,
) -> tuple[list[Covered], Tensor]:  # fmt: skip
    """Parts that cover every trainable parameter (of the `last` layers, where given), and the losses.

    `once` keeps which tables were looked up once for all samples, and at how many dimensions of places: in a
    batch as large as its sequences are long, that cannot be told from one look-up a sample.
    """
    uses: list[LayerCall] = []
    with _record_layers(module, uses, n, {} if once is None else once), torch.enable_grad():
        value = sample_losses(loss, run(), target)
    if last is not None:
        kept = {id(use.layer) for use in list({id(use.layer): use for use in uses}.values())[-last:]}
        uses = [use for use in uses if id(use.layer) in kept]
    if not uses:
        raise UnsupportedLayer
    deltas = torch.autograd.grad(value.sum(), [use.edge for use in uses], allow_unused=True)
    covered: list[Covered] = []
    for use, delta in zip(uses, deltas, strict=True):
        # An output that does not reach the loss has no gradient.
        if delta is not None:
            covered += _covered(use, delta.detach().float())
    return _merged(covered), value.detach().float()


def _covered(use: LayerCall, delta: Tensor) -> list[Covered]:
    rule = rule_of(use.layer)
    assert rule is not None  # only layers that a rule reads are recorded
    read = rule(use.layer, use.given.float() if use.given.is_floating_point() else use.given, delta)
    return [Covered(tuple(use.layer.get_parameter(n) for n in names), part) for names, part in read.items()]


def _merged(covered: list[Covered]) -> list[Covered]:
    """One part for each parameter: those of a layer used twice, or of tied weights, are formed and added."""
    uses = Counter(id(p) for parameters, _ in covered for p in parameters)
    alone = [c for c in covered if all(uses[id(p)] == 1 for p in c.parameters)]
    several = [c for c in covered if any(uses[id(p)] > 1 for p in c.parameters)]
    totals: dict[int, tuple[nn.Parameter, Tensor]] = {}
    for p, piece in chain.from_iterable(c.pieces() for c in several):
        totals[id(p)] = (p, piece + totals[id(p)][1] if id(p) in totals else piece)
    return alone + [Covered((p,), formed_part(total)) for p, total in totals.values()]


@contextmanager
def _record_layers(module: nn.Module, uses: list[LayerCall], n: int, once: dict[int, int]) -> Iterator[None]:
    """Write down every use of a layer with trainable parameters while the block runs."""
    handles, hook = [], partial(_note, uses, n, once)
    for layer in module.modules():
        if is_supported(layer) and any(p.requires_grad for p in layer.parameters(recurse=False)):
            handles.append(layer.register_forward_hook(hook, with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _note(
    uses: list[LayerCall], n: int, once: dict[int, int], layer: nn.Module, args: Any, named: dict[str, Any],
    output: Any,
) -> Any:  # fmt: skip
    given = args[0] if args else next(iter(named.values()), None)
    if not isinstance(given, Tensor) or not isinstance(output, Tensor) or not output.requires_grad:
        raise UnsupportedLayer
    shared = given.dim() == 1 or len(given) == 1
    if isinstance(layer, nn.Embedding) and shared and (len(given) != n or id(layer) in once):
        # Looked up once for all samples, as positions are: each sample gets a separate use.
        places = once.setdefault(id(layer), given.dim() - (len(given) == 1))
        output = output.expand(n, *output.shape[-1 - places :])
        given = given.expand(n, *given.shape[given.dim() - places :])
    if len(output) != n or len(given) != n:
        raise UnsupportedLayer
    uses.append(LayerCall(layer, given.detach(), get_gradient_edge(output)))
    return output
