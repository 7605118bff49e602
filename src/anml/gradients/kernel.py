"""The kernel of `fused.py`, in Triton; imported only where there is a GPU."""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from anml.gradients.factors import Factors, LayerFactor

# Rows and columns of one block, numbers of a factor taken at a time, and how the work is laid out.
BLOCK, STEP, WARPS, STAGES = 128, 32, 8, 3


class Packed(NamedTuple):
    """Factors of all layers side by side, each padded with zeros to whole steps: inputs, then deltas."""

    values: Tensor
    inputs: tuple[int, ...]
    deltas: tuple[int, ...]
    bias: tuple[float, ...]


def pack(factors: Factors) -> Packed:
    """Lay factors out for the kernel; deltas of formed gradients are ones, and left out."""
    pieces: list[Tensor] = []
    inputs, deltas, bias = [], [], []
    for part in factors.layers:
        assert isinstance(part, LayerFactor)
        formed = part.d.shape[1] == 1 and not part.bias
        each = [part.a * part.d] if formed else [part.a, part.d]
        padded = [torch.nn.functional.pad(x, (0, -x.shape[1] % STEP)) for x in each]
        pieces += padded
        inputs.append(padded[0].shape[1])
        deltas.append(0 if formed else padded[1].shape[1])
        bias.append(float(part.bias))
    return Packed(torch.cat(pieces, dim=1).contiguous(), tuple(inputs), tuple(deltas), tuple(bias))


def launch(
    packed: Packed, norms: Tensor, bound: Tensor, lists: Tensor, count: Tensor, rows: slice, columns: slice,
    precision: str,
) -> None:  # fmt: skip
    """Write down distances of a tile that lie below the bound of their row or of their column."""
    grid = (triton.cdiv(rows.stop - rows.start, BLOCK), triton.cdiv(columns.stop - columns.start, BLOCK))
    _tile[grid](
        packed.values, norms, bound, lists, count,
        rows.start, rows.stop, columns.start, columns.stop, packed.values.shape[1],
        INPUTS=packed.inputs, DELTAS=packed.deltas, BIAS=packed.bias, LAYERS=len(packed.inputs),
        ROOM=lists.shape[1], BOTH=rows.start != columns.start, PRECISION=precision, BLOCK=BLOCK, STEP=STEP,
        num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip


@triton.jit  # type: ignore[untyped-decorator]
def _product(
    values, rows, columns, row_ok, column_ok, width, offset, LENGTH: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Inner products of one factor of some rows and some columns."""
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    steps = tl.arange(0, STEP)
    for start in range(0, LENGTH, STEP):
        at = offset + start + steps
        mine = tl.load(values + rows[:, None] * width + at[None, :], mask=row_ok[:, None], other=0.0)
        theirs = tl.load(values + columns[None, :] * width + at[:, None], mask=column_ok[None, :], other=0.0)
        total = tl.dot(mine, theirs, total, input_precision=PRECISION)
    return total


@triton.jit  # type: ignore[untyped-decorator]
def _tile(
    values, norms, bound, lists, count, row_start, row_stop, column_start, column_stop, width,
    INPUTS: tl.constexpr, DELTAS: tl.constexpr, BIAS: tl.constexpr, LAYERS: tl.constexpr,
    ROOM: tl.constexpr, BOTH: tl.constexpr, PRECISION: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """One block of distances; nothing of it is written but what is below a bound."""
    rows = (row_start + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    columns = (column_start + tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    row_ok, column_ok = rows < row_stop, columns < column_stop
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    offset = 0
    for layer in tl.static_range(LAYERS):
        alike = _product(
            values, rows, columns, row_ok, column_ok, width, offset, INPUTS[layer], PRECISION, BLOCK, STEP
        )
        offset += INPUTS[layer]
        if DELTAS[layer] > 0:
            pulled = _product(
                values, rows, columns, row_ok, column_ok, width, offset, DELTAS[layer], PRECISION, BLOCK, STEP
            )
            offset += DELTAS[layer]
            total += (alike + BIAS[layer]) * pulled
        else:
            total += alike
    row_norm = tl.load(norms + rows, mask=row_ok, other=0.0)
    column_norm = tl.load(norms + columns, mask=column_ok, other=0.0)
    distance = row_norm[:, None] + column_norm[None, :] - 2.0 * total
    counts = row_ok[:, None] & column_ok[None, :] & (rows[:, None] != columns[None, :])
    _write(distance, counts, rows, row_ok, bound, lists, count, ROOM, 1)
    if BOTH:
        _write(distance, counts, columns, column_ok, bound, lists, count, ROOM, 0)


@triton.jit  # type: ignore[untyped-decorator]
def _write(distance, counts, own, own_ok, bound, lists, count, ROOM: tl.constexpr, AXIS: tl.constexpr):
    """Append distances below the bound of their sample to its list; what does not fit is only counted."""
    limit = tl.load(bound + own, mask=own_ok, other=float("-inf"))
    near = (counts & (distance < tl.expand_dims(limit, AXIS))).to(tl.int32)
    found = tl.sum(near, axis=AXIS)
    if tl.max(found, axis=0) > 0:
        first = tl.atomic_add(count + own, found, mask=found > 0, sem="relaxed")
        place = tl.expand_dims(first, AXIS) + tl.cumsum(near, axis=AXIS) - 1
        tl.store(lists + tl.expand_dims(own, AXIS) * ROOM + place, distance, mask=(near > 0) & (place < ROOM))


def compiled(target: Any) -> Any:
    """The kernel compiled for a GPU that need not be there: a check that it is sound."""
    constants = {
        "INPUTS": (64, 64), "DELTAS": (64, 0), "BIAS": (1.0, 0.0), "LAYERS": 2, "ROOM": 128, "BOTH": True,
        "PRECISION": "tf32x3", "BLOCK": BLOCK, "STEP": STEP,
    }  # fmt: skip
    kinds = dict.fromkeys(("values", "norms", "bound", "lists"), "*fp32") | {"count": "*i32"}
    sizes = dict.fromkeys(("row_start", "row_stop", "column_start", "column_stop", "width"), "i32")
    signature = {**kinds, **sizes, **dict.fromkeys(constants, "constexpr")}
    source = triton.compiler.ASTSource(fn=_tile, signature=signature, constexprs=constants)
    return triton.compile(source, target=target, options={"num_warps": WARPS})
