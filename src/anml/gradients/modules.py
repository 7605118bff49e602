"""Per-sample gradients of a user's torch module, batch by batch: read from its layers, or through torch.func.

Gradients from layers, in one pass, are checked against torch on the samples that reach each parameter most.
Any other module is differentiated by `torch.func`, or sample by sample where that fails.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from anml.core.errors import InputError, UnsupportedError
from anml.gradients.batches import (
    Batch,
    GradientSettings,
    autocast_context,
    in_evaluation,
    map_tensors,
    run_module,
    to_call_args,
)
from anml.gradients.factors import (
    GradientFactor,
    LazyGradient,
    SequenceFactor,
    formed_part,
    materialised_factors,
)
from anml.gradients.losses import loss_of, sample_losses
from anml.gradients.own_loss import loss_as_trained
from anml.gradients.record import Covered, UnsupportedLayer, record_gradients, unsupported_layers
from anml.gradients.selfcheck import SelfCheck, flat, same_within
from anml.gradients.sketch import FORMED, SIZE, CountSketch
from anml.networks.factors import Factors

# Explicit gradients are kept only up to this many bytes.
EXPLICIT_BYTES = 512 * 2**20
# Bytes of gradients that a GPU forms at a time: a few samples take it as long as many.
FORMED_ON_GPU = 2**30
# Factors that cover the trainable parameters, and the losses, of a batch.
WithLoss = tuple[list[Covered], Tensor]


def exact_factors(
    module: nn.Module, batches: Iterable[Batch], reading: GradientSettings, count: int | None,
    limit_bytes: int = EXPLICIT_BYTES,
) -> Factors:  # fmt: skip
    """Factors of samples that come in batches; refused where they would need more than `limit_bytes`."""
    kept: list[list[Covered]] = []
    losses: list[Tensor] = []
    for covered, value in covered_batches(module, batches, reading):
        parts = [Covered(parameters, choose_representation(part)) for parameters, part in covered]
        if not kept:
            _check_room(module, [part for _, part in parts], count, len(value), limit_bytes)
        kept.append(parts)
        losses.append(value)
    return Factors(_joined(kept, losses), torch.cat(losses))


def _joined(kept: list[list[Covered]], losses: list[Tensor]) -> list[GradientFactor]:
    """The parts of all batches; formed, by parameter, where batches were read in different ways."""
    ways = [[([id(p) for p in c.parameters], type(c.part)) for c in covered] for covered in kept]
    if all(way == ways[0] for way in ways):
        return [first.part.joined([c.part for c in rest]) if rest else first.part
                for first, *rest in zip(*kept, strict=True)]  # fmt: skip
    formed = [{id(p): piece for c in covered for p, piece in c.pieces()} for covered in kept]
    every = {id(p): p for covered in kept for c in covered for p in c.parameters}
    return [
        formed_part(torch.cat([
            pieces[at] if at in pieces else value.new_zeros(len(value), p.numel())
            for pieces, value in zip(formed, losses, strict=True)
        ]))
        for at, p in every.items()
    ]  # fmt: skip


def sketched_factors(
    module: nn.Module, batches: Iterable[Batch], reading: GradientSettings, size: int = SIZE, seed: int = 0
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
    return materialised_factors(torch.cat(kept), torch.cat(losses))


def covered_batches(
    module: nn.Module, batches: Iterable[Batch], reading: GradientSettings
) -> Iterator[WithLoss]:
    """Yield per-sample gradients of the trainable parameters, and the losses, of each batch."""
    if not any(p.requires_grad for p in module.parameters()):
        raise UnsupportedError(
            f"{type(module).__name__} has no trainable parameters, so nothing has gradients"
        )
    if any(p.is_complex() for p in module.parameters()):
        raise UnsupportedError(
            f"{type(module).__name__} has complex parameters, whose gradients are not scored"
        )
    size = sum(p.numel() for p in module.parameters() if p.requires_grad)
    step = max(1, (FORMED_ON_GPU if next(module.parameters()).is_cuda else FORMED) // (4 * size))
    read_by: _Way | None = None
    with in_evaluation(module):
        for batch in batches:
            if read_by is None:
                reading = replace(reading, loss=loss_as_trained(module, batch, reading))
                read_by = _choose_method(module, batch, reading)
            if isinstance(read_by, _Layers):
                yield read_by(batch)
                continue
            for start in range(0, len(batch), step):
                yield read_by(batch.some(slice(start, start + step)))


_Way = Callable[[Batch], WithLoss]


class _Layers:
    """Reads batches from layers, and checks every parameter once some sample has a gradient of it."""

    def __init__(self, module: nn.Module, reading: GradientSettings) -> None:
        self.module, self.reading = module, reading
        self.check = SelfCheck(module, reading.precision, reading.last is not None)
        self.tried: WithLoss | None = None
        self.once: dict[int, int] = {}

    def __call__(self, batch: Batch) -> WithLoss:
        if self.tried is not None:
            first, self.tried = self.tried, None
            return first
        covered, losses = record_gradients(
            self.module, lambda: run_module(self.module, batch.inputs, self.reading.precision), batch.target,
            self.reading.loss, len(batch), self.reading.last, self.once,
        )  # fmt: skip
        rows = self.check.rows(covered)
        if rows:
            trial = batch.some(rows)
            with torch.enable_grad():
                outputs = run_module(self.module, trial.inputs, self.reading.precision)
                value = sample_losses(self.reading.loss, outputs, trial.target)
            if not self.check.same(covered, rows, value):
                raise UnsupportedLayer
        return covered, losses


def _choose_method(module: nn.Module, batch: Batch, reading: GradientSettings) -> _Way:
    """Choose the gradient method by a trial on a batch: layer rules, torch.func, or sample by sample."""
    if reading.from_layers and (reading.last is not None or not unsupported_layers(module)):
        layers = _Layers(module, reading)
        try:
            layers.tried = layers(batch)
            return layers
        except (UnsupportedLayer, InputError):
            # No rule fits this layer. Input that the module cannot process is reported below.
            pass
    if reading.last is not None:
        raise UnsupportedError(
            f"the last layers of {type(module).__name__} cannot be read "
            f"({', '.join(unsupported_layers(module))}); "
            'use gradients="sketch"'
        )
    with torch.no_grad():
        together = sample_losses(
            reading.loss, run_module(module, batch.inputs, reading.precision), batch.target
        )
    trial, within = batch.some(slice(0, 2)), same_within(module, reading.precision)
    right, losses = _one_by_one(module, trial, reading)
    if not torch.allclose(together[: len(trial)].float(), losses, rtol=within, atol=within):
        raise UnsupportedError(
            f"{type(module).__name__} compares the samples of a batch with each other, or draws random "
            "numbers in evaluation mode, so that samples have no separate gradients"
        )
    try:
        parts, _ = _formed(module, trial, reading)
    except Exception:
        return lambda rest: _one_by_one(module, rest, reading)
    mine, theirs = (torch.cat([part.formed() for _, part in each], dim=1) for each in (parts, right))
    same = bool((mine - theirs).norm() <= within * theirs.norm() + 1e-7)
    return lambda rest: (_formed if same else _one_by_one)(module, rest, reading)


def choose_representation(part: GradientFactor) -> GradientFactor:
    """A part as it is kept for exact products: gradients are formed where that costs less."""
    if isinstance(part, SequenceFactor):
        return part.cheaper()
    return formed_part(part.formed()) if isinstance(part, LazyGradient) else part


def _formed(module: nn.Module, batch: Batch, reading: GradientSettings) -> WithLoss:
    """Gradients of every sample through torch.func."""
    named = {name: p for name, p in module.named_parameters() if p.requires_grad}
    trained = {name: p.detach() for name, p in named.items()}
    fixed = {name: p.detach() for name, p in module.named_parameters() if not p.requires_grad}
    fixed |= {name: b.detach() for name, b in module.named_buffers()}
    # As a function: inside of torch.func values cannot be looked at, so targets are not checked there.
    loss = loss_of(reading.loss)

    def one(params: dict[str, Tensor], inputs: Any, target: Any) -> tuple[Tensor, Tensor]:
        args, kwargs = to_call_args(map_tensors(inputs, lambda tensor: tensor.unsqueeze(0)))
        with autocast_context(module, reading.precision):
            outputs = torch.func.functional_call(module, (params, fixed), args, kwargs)
        if isinstance(outputs, Tensor) and outputs.dim() < 2:
            outputs = outputs.reshape(1, -1)
        value = sample_losses(loss, outputs, target.unsqueeze(0))[0]
        return value, value.detach()

    per_sample = torch.func.vmap(torch.func.grad(one, has_aux=True), in_dims=(None, 0, 0))
    with warnings.catch_warnings():
        # Of what torch does one sample after another, as attention on a processor: it is fast enough.
        warnings.filterwarnings("ignore", "There is a performance drop")
        gradients, value = per_sample(trained, batch.inputs, batch.target)
    covered = [Covered((p,), formed_part(gradients[name].flatten(1).float())) for name, p in named.items()]
    return covered, value.float()


def _one_by_one(module: nn.Module, batch: Batch, reading: GradientSettings) -> WithLoss:
    """Return the gradients of each sample by a separate pass: slow, for any module that torch trains."""
    trained = [p for p in module.parameters() if p.requires_grad]
    collected: list[list[Tensor]] = []
    losses: list[Tensor] = []
    for at in range(len(batch)):
        one = batch.some(slice(at, at + 1))
        with torch.enable_grad():
            value = sample_losses(reading.loss, run_module(module, one.inputs, reading.precision), one.target)
            gradients = _gradients(module, value, trained)
        pairs = zip(trained, gradients, strict=True)
        collected.append([flat(torch.zeros_like(p) if g is None else g) for p, g in pairs])
        losses.append(value.detach().float())
    columns = zip(trained, zip(*collected, strict=True), strict=True)
    return [Covered((p,), formed_part(torch.stack(each))) for p, each in columns], torch.cat(losses)


def _gradients(module: nn.Module, value: Tensor, trained: list[nn.Parameter]) -> tuple[Tensor | None, ...]:
    if not value.requires_grad:
        return (None,) * len(trained)
    try:
        return torch.autograd.grad(value.sum(), trained, allow_unused=True)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0][:120]
        raise UnsupportedError(
            f"torch cannot differentiate {type(module).__name__} in evaluation mode ({reason}); freeze what "
            'need not be scored (requires_grad_(False)), or use gradients="last"'
        ) from error


def _check_room(
    module: nn.Module, parts: list[GradientFactor], count: int | None, batch_size: int, limit_bytes: int
) -> None:
    needed = (count or batch_size) * sum(part.bytes_per_sample() for part in parts)
    if needed <= limit_bytes:
        return
    size = sum(p.numel() for p in module.parameters() if p.requires_grad)
    kinds = sorted({type(layer).__name__ for layer in module.modules() if not list(layer.children())})
    raise UnsupportedError(
        f"exact gradients of {type(module).__name__} ({', '.join(kinds)}), {count or batch_size} samples "
        f"x {size} parameters, need {needed / 2**30:.1f} GiB, above the limit of {limit_bytes / 2**30:.1f} "
        'GiB; use gradients="sketch", score fewer samples or raise limit_bytes'
    )
