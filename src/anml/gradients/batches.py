"""A user's module run on batches: in evaluation mode, with inputs of any form."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from anml.core.errors import InputError
from anml.gradients.losses import SampleLoss


class Batch(NamedTuple):
    """Inputs of a module (a tensor, several, or several by name), targets, and which rows they are."""

    inputs: Any
    target: Any
    rows: Any = None

    def __len__(self) -> int:
        return len(self.target)

    def some(self, rows: slice | list[int]) -> "Batch":
        """Some of the samples; what is the same for all of them stays."""
        n = len(self)

        def cut(tensor: Tensor) -> Tensor:
            return tensor[rows] if tensor.dim() and len(tensor) == n else tensor

        return Batch(map_tensors(self.inputs, cut), self.target[rows])


@dataclass(frozen=True)
class GradientSettings:
    """Settings of gradient computation: loss, number of `last` layers (None: all), and precision.

    Without `from_layers` the layer rules are not used, and torch differentiates each sample separately.
    """

    loss: str | SampleLoss = "softmax"
    last: int | None = None
    precision: torch.dtype | None = None
    from_layers: bool = True


@contextmanager
def in_evaluation(module: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the block, and every layer's own mode after it.

    The fast path of frozen transformers, which leaves adapters out, and torch.compile are switched off.
    """
    eager = torch.compiler.set_stance("force_eager") if hasattr(torch.compiler, "set_stance") else None
    modes = [(layer, layer.training) for layer in module.modules()]
    fast = torch.backends.mha.get_fastpath_enabled()
    module.eval()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with eager or nullcontext():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for layer, mode in modes:
            layer.training = mode


def run(module: nn.Module, inputs: Any, precision: torch.dtype | None = None) -> Any:
    """Call a module with a tensor, several, or several by name."""
    args, named = to_call_args(inputs)
    with autocast_context(module, precision):
        return module(*args, **named)


def autocast_context(module: nn.Module, precision: torch.dtype | None) -> AbstractContextManager[Any]:
    """Torch's autocast where a precision is asked for."""
    if precision is None:
        return nullcontext()
    return torch.autocast(next(module.parameters()).device.type, dtype=precision)


def run_module(module: nn.Module, inputs: Any, precision: torch.dtype | None) -> Any:
    """Run a module on inputs; an error is raised as an `InputError` that describes the inputs."""
    try:
        return run(module, inputs, precision)
    except (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"{type(module).__name__} cannot be run on a batch of {_described(inputs)}: {reason}"
        ) from error


def _described(inputs: Any) -> str:
    if isinstance(inputs, Tensor):
        return f"shape {tuple(inputs.shape)}, {str(inputs.dtype).removeprefix('torch.')}"
    each = inputs.items() if isinstance(inputs, dict) else enumerate(inputs)
    return ", ".join(f"{name}: {_described(one)}" for name, one in each if isinstance(one, Tensor))


def to_call_args(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs as a call has them: by place, and by name."""
    if isinstance(inputs, dict):
        return (), inputs
    return (tuple(inputs), {}) if isinstance(inputs, tuple | list) else ((inputs,), {})


def map_tensors(inputs: Any, change: Callable[[Tensor], Any]) -> Any:
    """Inputs with every tensor changed, in dicts and tuples as they came."""
    if isinstance(inputs, dict):
        return {name: map_tensors(value, change) for name, value in inputs.items()}
    if isinstance(inputs, tuple | list):
        return tuple(map_tensors(value, change) for value in inputs)
    return change(inputs) if isinstance(inputs, Tensor) else inputs
