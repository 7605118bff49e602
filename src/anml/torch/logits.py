"""Weights of samples in a loss that a model or a trainer computes, through its logits.

The gradient at the logits of a sample is scaled by its weight; that the loss is a sum over
samples is checked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from anml.core.errors import UnsupportedError
from anml.gradients.batches import in_evaluation


class Logits:
    """The logits of a model, found whenever it runs."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.used, self.checked = model, 0, 0
        self.edges: list[GradientEdge] = []
        self._weights: Tensor | None = None

    @contextmanager
    def weighed(self, weights: Tensor) -> Iterator[None]:
        """Inside, what runs forward counts each sample by its weight when it runs backward."""
        self._weights = weights
        # Nothing is left in a model that is copied or saved whole.
        hook = self.model.register_forward_hook(self._found)
        try:
            yield
        finally:
            self._weights = None
            hook.remove()

    def check(self, model: nn.Module, run: Callable[[], tuple[Tensor, Any]], rows: int) -> None:
        """Refuse a loss that cannot be weighed; once for one sample, and once for several."""
        if self.checked >= min(rows, 2):
            return
        weights = torch.ones(rows, device=next(model.parameters()).device)
        # Random numbers of the training stay where they are.
        with in_evaluation(model), torch.enable_grad(), self.weighed(weights), torch.random.fork_rng():
            loss, outputs = run()
        edges, name = self.edges, type(model).__name__
        reached = torch.autograd.grad(loss, edges, create_graph=True, allow_unused=True) if edges else ()
        if all(each is None for each in reached):
            raise _unsupported_loss(f"the loss of {name} does not come from logits that it returns")
        self._check_apart(name, [(z, g) for z, g in zip(edges, reached, strict=True) if g is not None], rows)
        weights.zero_()
        trained = [p for p in model.parameters() if p.requires_grad]
        past = torch.autograd.grad(loss, trained, allow_unused=True)
        if getattr(outputs, "aux_loss", None) is None and any(g is not None and g.any() for g in past):
            raise _unsupported_loss(f"the loss of {name} reaches its parameters past its logits")
        self.checked, self.edges = min(rows, 2), []

    def _check_apart(self, name: str, reached: list[tuple[GradientEdge, Tensor]], rows: int) -> None:
        """Require that the loss of a sample does not depend on the logits of other samples.

        Samples are halved by each binary digit of their index, so that any two are separated in one halving.
        """
        edges = [edge for edge, _ in reached]
        for digit in range((rows - 1).bit_length()):
            half = (torch.arange(rows) >> digit) % 2 == 0
            firsts = [g[half.to(g.device)].flatten() for _, g in reached]
            mixed = torch.stack([g @ torch.linspace(1, 2, len(g)).to(g) for g in firsts]).sum()
            try:
                moves = torch.autograd.grad(mixed, edges, retain_graph=True, allow_unused=True)
            except RuntimeError:
                # Linear in the logits: only a hinge over pairs could mix samples; it is not detected.
                if all(not g.requires_grad for _, g in reached):
                    return
                raise _unsupported_loss(
                    f"that the loss of {name} is a sum over samples cannot be shown"
                ) from None
            if any(d is not None and bool(d[~half.to(d.device)].any()) for d in moves):
                raise _unsupported_loss(f"the loss of {name} compares samples with each other")

    def _found(self, module: nn.Module, args: Any, output: Any) -> None:
        weights = self._weights
        if weights is None:
            return
        self.edges = []
        for logits in logits_in(output):
            if len(logits) != len(weights):
                given = f"{type(module).__name__} gives logits of {len(logits)}"
                raise _unsupported_loss(f"{given} for a batch of {len(weights)} samples")
            edge = _original_logits(logits)
            self.edges.append(edge)
            edge.node.register_prehook(partial(self._scaled, weights, edge.output_nr))

    def _scaled(self, weights: Tensor, at: int, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        own = gradients[at]
        if own is None:
            return gradients
        self.used += 1
        own = own * weights.to(own.dtype).reshape(-1, *(1,) * (own.dim() - 1))
        return (*gradients[:at], own, *gradients[at + 1 :])


def _unsupported_loss(why: str) -> UnsupportedError:
    return UnsupportedError(f'{why}, so samples cannot be weighed in it; use by="draws"')


def _original_logits(logits: Tensor) -> GradientEdge:
    """Return the gradient edge of the logits before they were cast to another precision."""
    node, at = logits.grad_fn, logits.output_nr
    while node is not None and node.name() == "ToCopyBackward0" and node.next_functions[0][0] is not None:
        node, at = node.next_functions[0]
    assert node is not None  # logits need a gradient, and no parameter is one
    return GradientEdge(node, at)


def logits_in(output: Any) -> list[Tensor]:
    """Logits among what a model returns: by name, or what stands beside the loss."""
    if isinstance(output, Tensor):
        logits = [output]
    elif isinstance(output, dict):
        logits = [
            each for name, each in output.items() if name.endswith("logits") and name != "router_logits"
        ]
    else:
        logits = [each for each in output if isinstance(each, Tensor) and each.dim() > 0][:1]
    return [each for each in logits if isinstance(each, Tensor) and each.requires_grad and each.dim() > 0]
