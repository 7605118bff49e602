"""The kernel of `fused.py`, in Triton; imported only where there is a GPU."""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from anml.gradients.factors import LayerFactor
from anml.networks.factors import Factors

# Rows and columns of one block, numbers of a factor taken at a time, and how the work is laid out. Blocks are
# small, so that several share a processor and one computes while another waits for memory.
BLOCK, STEP, WARPS, STAGES = 64, 64, 4, 2


class Packed(NamedTuple):
    """Factors of all layers side by side: inputs, then deltas.

    Each is padded with zeros to whole steps, or to a power of two where it is shorter than a step.
    """

    values: Tensor
    inputs: tuple[int, ...]
    deltas: tuple[int, ...]
    bias: tuple[float, ...]


def pack(factors: Factors) -> Packed:
    """Lay factors out for the kernel; deltas of formed gradients are ones, and not stored."""
    pieces: list[Tensor] = []
    inputs, deltas, bias = [], [], []
    for part in factors.layers:
        assert isinstance(part, LayerFactor)
        formed = part.d.shape[1] == 1 and not part.bias
        each = [part.a * part.d] if formed else [part.a, part.d]
        padded = [torch.nn.functional.pad(x, (0, _length(x.shape[1]) - x.shape[1])) for x in each]
        pieces += padded
        inputs.append(padded[0].shape[1])
        deltas.append(0 if formed else padded[1].shape[1])
        bias.append(float(part.bias))
    return Packed(torch.cat(pieces, dim=1).contiguous(), tuple(inputs), tuple(deltas), tuple(bias))


def _length(width: int) -> int:
    """Length that the kernel can take: whole steps, or a power of two (at least 16) below one."""
    return -(-width // STEP) * STEP if width >= STEP else max(16, 1 << (width - 1).bit_length())


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
    TAKEN: tl.constexpr = STEP if LENGTH > STEP else LENGTH
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    steps = tl.arange(0, TAKEN)
    for start in range(0, LENGTH, TAKEN):
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
        input_product = _product(
            values, rows, columns, row_ok, column_ok, width, offset, INPUTS[layer], PRECISION, BLOCK, STEP
        )
        offset += INPUTS[layer]
        if DELTAS[layer] > 0:
            pulled = _product(
                values, rows, columns, row_ok, column_ok, width, offset, DELTAS[layer], PRECISION, BLOCK, STEP
            )
            offset += DELTAS[layer]
            total += (input_product + BIAS[layer]) * pulled
        else:
            total += input_product
    row_norm = tl.load(norms + rows, mask=row_ok, other=0.0)
    column_norm = tl.load(norms + columns, mask=column_ok, other=0.0)
    distance = row_norm[:, None] + column_norm[None, :] - 2.0 * total
    counts = row_ok[:, None] & column_ok[None, :] & (rows[:, None] != columns[None, :])
    _write(distance, counts, rows, row_ok, bound, lists, count, ROOM, 1)
    if BOTH:
        _write(distance, counts, columns, column_ok, bound, lists, count, ROOM, 0)


@triton.jit  # type: ignore[untyped-decorator]
def _write(distance, counts, own, own_ok, bound, lists, count, ROOM: tl.constexpr, AXIS: tl.constexpr):
    """Append distances below the bound of their sample to its list; what does not fit is only counted.

    Few are, so that each takes its place separately: sums along a row cost more than products.
    """
    limit = tl.load(bound + own, mask=own_ok, other=float("-inf"))
    near = counts & (distance < tl.expand_dims(limit, AXIS))
    mine = tl.broadcast_to(tl.expand_dims(own, AXIS), distance.shape)
    place = tl.atomic_add(count + mine, 1, mask=near, sem="relaxed")
    tl.store(lists + mine * ROOM + place, distance, mask=near & (place < ROOM))
