"""Per-sample gradients of a user's torch module, batch by batch: read from its layers, or through torch.func.

Where a rule reads every layer with trainable parameters, one forward and one backward pass give what the
gradients are made of. Whether that is so is checked on one sample of the first batch. Any other module is
differentiated sample by sample by `torch.func`.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from anml.core.errors import InputError, UnsupportedError
from anml.gradients.factors import Factors, Part, formed_part
from anml.gradients.losses import SampleLoss, loss_of, sample_losses
from anml.gradients.parts import FormedWhenNeeded, SequenceFactor
from anml.gradients.record import Covered, Unreadable, read, unread
from anml.gradients.sketch import FORMED, SIZE, CountSketch

# Explicit gradients are kept only up to this many bytes.
EXPLICIT_BYTES = 512 * 2**20
# How far a gradient read from layers may be off that of torch, in its own length, by precision.
SAME = {None: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.05}

Progress = Callable[[str, int, int], None]


class Batch(NamedTuple):
    """Inputs of a module (a tensor, several, or several by name) and targets."""

    inputs: Any
    target: Any

    def __len__(self) -> int:
        return len(self.target)


@dataclass(frozen=True)
class Reading:
    """How gradients are read.

    Parameters
    ----------
    loss
        A name in `LOSSES`, or a function from outputs and targets to one loss per sample.
    last
        Only the gradients of this many last layers; None takes all.
    precision
        None, or the type that torch's autocast computes in.
    """

    loss: str | SampleLoss = "softmax"
    last: int | None = None
    precision: torch.dtype | None = None


def exact_factors(
    module: nn.Module, batches: Iterable[Batch], reading: Reading, count: int | None,
    limit_bytes: int = EXPLICIT_BYTES,
) -> Factors:  # fmt: skip
    """Factors of samples that come in batches; refused where they would need more than `limit_bytes`."""
    kept: list[list[Part]] = []
    losses: list[Tensor] = []
    for covered, value in covered_batches(module, batches, reading):
        parts = [settled(part) for _, part in covered]
        if not kept:
            _check_room(module, parts, count, len(value), limit_bytes)
        kept.append(parts)
        losses.append(value)
    layers = [first.joined(rest) if rest else first for first, *rest in zip(*kept, strict=True)]
    return Factors(layers, torch.cat(losses))


def sketched_factors(
    module: nn.Module, batches: Iterable[Batch], reading: Reading, size: int = SIZE, seed: int = 0
) -> Factors:
    """Sketches of the gradients of samples that come in batches, as factors: `size` numbers a sample."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    sketch: CountSketch | None = None
    kept: list[Tensor] = []
    losses: list[Tensor] = []
    for covered, value in covered_batches(module, batches, reading):
        sketch = sketch or CountSketch(parameters, size, seed, value.device)
        kept.append(sketch.of(covered))
        losses.append(value)
    return Factors([formed_part(torch.cat(kept))], torch.cat(losses))


def covered_batches(
    module: nn.Module, batches: Iterable[Batch], reading: Reading
) -> Iterator[tuple[list[Covered], Tensor]]:
    """What covers the trainable parameters, and the losses, of batch after batch."""
    if not any(p.requires_grad for p in module.parameters()):
        raise UnsupportedError(
            f"{type(module).__name__} has no trainable parameters, so samples have no gradients"
        )
    size = sum(p.numel() for p in module.parameters() if p.requires_grad)
    from_layers: bool | None = None
    with in_evaluation(module):
        for batch in batches:
            first = None
            if from_layers is None:
                first = _checked(module, batch, reading)
                from_layers = first is not None
            if from_layers:
                yield first or _read(module, batch, reading)
                continue
            step = max(1, FORMED // (4 * size))
            for start in range(0, len(batch), step):
                yield _formed(module, _rows(batch, slice(start, start + step)), reading)


def settled(part: Part) -> Part:
    """A part as it is kept for exact products: gradients are formed where that costs less."""
    if isinstance(part, SequenceFactor):
        return part.cheaper()
    return formed_part(part.formed()) if isinstance(part, FormedWhenNeeded) else part


@contextmanager
def in_evaluation(module: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the block, and every layer's own mode after it.

    The fast path of frozen transformers in evaluation mode is switched off: it leaves adapters out.
    """
    modes = [(layer, layer.training) for layer in module.modules()]
    fast = torch.backends.mha.get_fastpath_enabled()
    module.eval()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for layer, mode in modes:
            layer.training = mode


def run(module: nn.Module, inputs: Any, precision: torch.dtype | None = None) -> Any:
    """Call a module with a tensor, several, or several by name."""
    with _precise(module, precision):
        if isinstance(inputs, dict):
            return module(**inputs)
        return module(*inputs) if isinstance(inputs, tuple | list) else module(inputs)


def _precise(module: nn.Module, precision: torch.dtype | None) -> AbstractContextManager[Any]:
    if precision is None:
        return nullcontext()
    return torch.autocast(next(module.parameters()).device.type, dtype=precision)


def _called(module: nn.Module, inputs: Any, precision: torch.dtype | None) -> Any:
    try:
        return run(module, inputs, precision)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"{type(module).__name__} cannot be run on a batch of {_described(inputs)}: {said}"
        ) from error


def _described(inputs: Any) -> str:
    if isinstance(inputs, Tensor):
        return f"shape {tuple(inputs.shape)}, {str(inputs.dtype).removeprefix('torch.')}"
    each = inputs.items() if isinstance(inputs, dict) else enumerate(inputs)
    return ", ".join(f"{name}: {_described(one)}" for name, one in each if isinstance(one, Tensor))


def _read(module: nn.Module, batch: Batch, reading: Reading) -> tuple[list[Covered], Tensor]:
    return read(
        module, lambda: _called(module, batch.inputs, reading.precision), batch.target, reading.loss,
        len(batch), reading.last,
    )  # fmt: skip


def _checked(module: nn.Module, batch: Batch, reading: Reading) -> tuple[list[Covered], Tensor] | None:
    """The first batch, read by rules; None where that is not the whole gradient as torch has it."""
    if reading.last is None and unread(module):
        return None
    try:
        covered, losses = _read(module, batch, reading)
    except Unreadable:
        if reading.last is not None:
            raise UnsupportedError(
                f"the last layers of {type(module).__name__} cannot be read ({', '.join(unread(module))}); "
                'use gradients="sketch"'
            ) from None
        return None
    return (covered, losses) if _is_whole(module, batch, reading, covered) else None


def _is_whole(module: nn.Module, batch: Batch, reading: Reading, covered: list[Covered]) -> bool:
    few = _rows(batch, slice(0, 2 if len(batch) > 2 else 1))
    found = {}
    for parameters, part in covered:
        pieces = part.take(slice(0, 1)).formed()[0].split([p.numel() for p in parameters])
        found.update({id(p): piece for p, piece in zip(parameters, pieces, strict=True)})
    wanted = [p for p in module.parameters() if p.requires_grad and (reading.last is None or id(p) in found)]
    with torch.enable_grad():
        value = sample_losses(reading.loss, _called(module, few.inputs, reading.precision), few.target)[0]
        right = torch.autograd.grad(value, wanted, allow_unused=True)
    length = sum(float(g.square().sum()) for g in right if g is not None) ** 0.5
    off = 0.0
    for p, gradient in zip(wanted, right, strict=True):
        ours = found.get(id(p))
        theirs = torch.zeros_like(p) if gradient is None else gradient
        off += float((theirs.flatten().float() - (0.0 if ours is None else ours)).square().sum())
    return bool(off**0.5 <= SAME[reading.precision] * length + 1e-7)


def _formed(module: nn.Module, batch: Batch, reading: Reading) -> tuple[list[Covered], Tensor]:
    """Gradients of every sample through torch.func."""
    named = {name: p for name, p in module.named_parameters() if p.requires_grad}
    trained = {name: p.detach() for name, p in named.items()}
    fixed = {name: p.detach() for name, p in module.named_parameters() if not p.requires_grad}
    fixed |= {name: b.detach() for name, b in module.named_buffers()}
    # As a function: inside of torch.func values cannot be looked at, so targets are not checked there.
    loss = loss_of(reading.loss)

    def one(params: dict[str, Tensor], inputs: Any, target: Any) -> tuple[Tensor, Tensor]:
        args, kwargs = _as_call(_one(inputs))
        with _precise(module, reading.precision):
            outputs = torch.func.functional_call(module, (params, fixed), args, kwargs)
        value = sample_losses(loss, _as_batch(outputs), target.unsqueeze(0))[0]
        return value, value.detach()

    per_sample = torch.func.vmap(torch.func.grad(one, has_aux=True), in_dims=(None, 0, 0))
    with torch.no_grad():
        few = _rows(batch, slice(0, 2))
        sample_losses(reading.loss, _called(module, few.inputs, reading.precision), few.target)
    try:
        gradients, value = per_sample(trained, batch.inputs, batch.target)
    except Exception as error:
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnsupportedError(
            f"no rule reads {_unread_names(module)} of {type(module).__name__}, and torch.func cannot "
            f"differentiate it sample by sample ({said[:120]}); freeze it (requires_grad_(False)), add a "
            'rule to LAYERS, or use gradients="last"'
        ) from error
    covered = [Covered((p,), formed_part(gradients[name].flatten(1).float())) for name, p in named.items()]
    return covered, value.float()


def _unread_names(module: nn.Module) -> str:
    return ", ".join(unread(module)) or "a layer that is used in an unusual way"


def _as_call(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, dict):
        return (), inputs
    return (tuple(inputs), {}) if isinstance(inputs, tuple | list) else ((inputs,), {})


def _as_batch(outputs: Any) -> Any:
    """A sample's output of any shape, as a batch of one."""
    if isinstance(outputs, Tensor) and outputs.dim() < 2:
        return outputs.reshape(1, -1)
    return outputs


def _one(inputs: Any) -> Any:
    """A sample as a batch of one."""
    return each_tensor(inputs, lambda tensor: tensor.unsqueeze(0))


def _rows(batch: Batch, rows: slice) -> Batch:
    return Batch(each_tensor(batch.inputs, lambda tensor: tensor[rows]), batch.target[rows])


def each_tensor(inputs: Any, change: Callable[[Tensor], Any]) -> Any:
    """Inputs with every tensor changed, in dicts and tuples as they came."""
    if isinstance(inputs, dict):
        return {name: each_tensor(value, change) for name, value in inputs.items()}
    if isinstance(inputs, tuple | list):
        return tuple(each_tensor(value, change) for value in inputs)
    return change(inputs) if isinstance(inputs, Tensor) else inputs


def _check_room(module: nn.Module, parts: list[Part], count: int | None, seen: int, limit_bytes: int) -> None:
    needed = (count or seen) * sum(part.bytes_per_sample() for part in parts)
    if needed <= limit_bytes:
        return
    size = sum(p.numel() for p in module.parameters() if p.requires_grad)
    kinds = sorted({type(layer).__name__ for layer in module.modules() if not list(layer.children())})
    raise UnsupportedError(
        f"exact gradients of {type(module).__name__} ({', '.join(kinds)}), {count or seen} samples x {size} "
        f"parameters, need {needed / 2**30:.1f} GiB, above the limit of {limit_bytes / 2**30:.1f} GiB; "
        'use gradients="sketch", score fewer samples or raise limit_bytes'
    )
