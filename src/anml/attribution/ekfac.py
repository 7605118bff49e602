"""EK-FAC curvature of a torch module, and sums of gradients by contributor in its eigenbasis.

A layer's gradient is a matrix (out, in), the sum of d a^T over the places of a sample. K-FAC takes the second
moments of inputs a and of deltas d; the eigenvalues of EK-FAC are the mean squares of per-sample gradients in
the eigenbasis of both (George et al., NeurIPS 2018). Nothing is truncated.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anml.core.errors import InputError
from anml.gradients.batches import Batch, GradientSettings
from anml.gradients.factors import GradientFactor, LayerFactor, LazyGradient, LookupFactor, SequenceFactor
from anml.gradients.modules import covered_batches

# Sides of a layer wider than this stay in their own basis; the eigenvalues hold in any basis.
WIDEST = 4_096
# Bytes of per-sample gradients that are formed at a time.
FORMED_BYTES = 256 * 2**20

Batches = Callable[[], Iterable[Batch]]


@dataclass(frozen=True)
class LayerCurvature:
    """Bases of deltas and inputs (None: their own), and eigenvalues (out, in), of one layer."""

    left: Tensor | None
    right: Tensor | None
    eigenvalues: Tensor

    def rotate(self, gradient: Tensor) -> Tensor:
        """Gradients (..., out, in) in the eigenbasis."""
        turned = gradient if self.left is None else self.left.T @ gradient
        return turned if self.right is None else turned @ self.right

    def restore(self, gradient: Tensor) -> Tensor:
        """Gradients (..., out, in) of the eigenbasis in the basis of the parameters."""
        turned = gradient if self.left is None else self.left @ gradient
        return turned if self.right is None else turned @ self.right.T

    def damped(self, damping: float) -> Tensor:
        """Eigenvalues plus `damping` times their mean."""
        mean = float(self.eigenvalues.mean())
        return self.eigenvalues + max(damping * mean, 1e-30)


# Layers by the names of the parameters that they cover.
Curvature = dict[str, LayerCurvature]


class GradientReader:
    """Per-sample gradients of a module as matrices (out, in) of each layer."""

    def __init__(self, module: nn.Module, settings: GradientSettings) -> None:
        self.module, self.settings = module, settings
        self.parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
        self._names = {id(p): name for name, p in self.parameters.items()}
        # Parameters of each layer, and whether it is a table, whose matrix is the transposed parameter.
        self.layers: dict[str, tuple[list[str], bool]] = {}

    def read(self, batches: Iterable[Batch]) -> Iterator[tuple[dict[str, GradientFactor], Tensor]]:
        """Yield the factors of each layer by name, and the losses, of each batch."""
        for covered, losses in covered_batches(self.module, batches, self.settings):
            result = {}
            for parameters, part in covered:
                names = [self._names[id(p)] for p in parameters]
                key = "|".join(names)
                self.layers[key] = (names, isinstance(part, LookupFactor))
                result[key] = part
            yield result, losses

    def as_changes(self, matrices: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Matrices of layers as changes of the parameters, by name."""
        changes: dict[str, Tensor] = {}
        for key, matrix in matrices.items():
            names, table = self.layers[key]
            sizes = [self.parameters[name].numel() for name in names]
            if table:
                matrix = matrix.T
            elif len(names) == 2:  # a weight, and a bias as the last column
                matrix = torch.cat([matrix[:, :-1].flatten(), matrix[:, -1]])
            for name, piece in zip(names, torch.split(matrix.flatten(), sizes), strict=True):
                changes[name] = piece.view_as(self.parameters[name])
        return changes


def places(part: GradientFactor) -> tuple[Tensor, Tensor, int]:
    """Inputs (n, T, in), or table rows (n, T), deltas (n, T, out), and the width of inputs."""
    if isinstance(part, LookupFactor):
        return part.rows, part.d, part.size
    if isinstance(part, LazyGradient) and part.unfold is not None:
        a, d = part.unfold(part.inputs, part.deltas)
        return a, d, a.shape[2]
    if isinstance(part, SequenceFactor):
        a, d, bias = part.a, part.d, part.bias
    elif isinstance(part, LayerFactor):
        a, d, bias = part.a.unsqueeze(1), part.d.unsqueeze(1), part.bias
    else:
        formed = part.formed()
        a, d, bias = formed.unsqueeze(1), torch.ones_like(formed[:, :1]).unsqueeze(1), False
    if bias:
        a = torch.cat([a, torch.ones_like(a[..., :1])], dim=2)
    return a, d, a.shape[2]


def rotated(part: GradientFactor, layer: LayerCurvature) -> Tensor:
    """Per-sample gradients (n, out, in) in the eigenbasis."""
    a, d, width = places(part)
    left = d if layer.left is None else d @ layer.left
    if not a.is_floating_point():
        table = left.new_zeros(len(a), width, left.shape[2])
        return table.scatter_add_(1, a.unsqueeze(2).expand_as(left), left).mT
    return torch.bmm(left.mT, a if layer.right is None else a @ layer.right)


def in_blocks(part: GradientFactor, numbers: int, count: int) -> Iterator[GradientFactor]:
    """Yield the part in blocks of samples whose formed gradients fit into memory."""
    step = max(1, FORMED_BYTES // (4 * max(numbers, 1)))
    for start in range(0, count, step):
        yield part.take(slice(start, start + step))


def total_gradients(part: GradientFactor, weight: Tensor, group: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Yield each group of a batch and its weighted sum of gradients (out, in)."""
    a, d, width = places(part)
    d = d * weight.view(-1, 1, 1)
    for one in sorted(set(group.tolist())):
        rows = group == one
        inputs, deltas = a[rows].flatten(0, 1), d[rows].flatten(0, 1)
        if a.is_floating_point():
            yield one, deltas.T @ inputs
        else:
            yield one, deltas.new_zeros(width, deltas.shape[1]).index_add_(0, inputs, deltas).T


def fit_curvature(reader: GradientReader, batches: Batches, widest: int = WIDEST) -> Curvature:
    """Fit EK-FAC by two passes over the batches: second moments, then eigenvalues."""
    moments: dict[str, list[Tensor]] = {}
    for parts, _ in reader.read(batches()):
        for key, part in parts.items():
            a, d, width = places(part)
            if key not in moments:
                out = d.shape[2]
                right = d.new_zeros(width, width) if width <= widest and a.is_floating_point() else d[:0]
                moments[key] = [d.new_zeros(out, out) if out <= widest else d[:0], right]
            for total, side in zip(moments[key], (d, a), strict=True):
                if len(total):
                    flat = side.flatten(0, 1)
                    total += flat.T @ flat
    bases = {key: (_eigenvectors(one), _eigenvectors(two)) for key, (one, two) in moments.items()}
    del moments
    squares: dict[str, Tensor] = {}
    rows = 0
    for parts, losses in reader.read(batches()):
        rows += len(losses)
        for key, part in parts.items():
            if key not in bases:  # a layer that no sample of the first pass reached
                continue
            unit = LayerCurvature(*bases[key], losses[:0])
            result = _squares(part, unit, len(losses))
            squares[key] = result if key not in squares else squares[key] + result
    return {key: LayerCurvature(*bases[key], total / rows) for key, total in squares.items()}


def _eigenvectors(moment: Tensor) -> Tensor | None:
    if not len(moment):
        return None
    if not bool(torch.isfinite(moment).all()):
        raise InputError("the loss of subset training rows has gradients that are not finite")
    vectors: Tensor = torch.linalg.eigh(moment.double())[1]
    return vectors.float().contiguous()


def _squares(part: GradientFactor, layer: LayerCurvature, count: int) -> Tensor:
    """Sum over samples of the squares of gradients in the eigenbasis, (out, in)."""
    a, d, width = places(part)
    if a.is_floating_point():
        blocks = in_blocks(part, d.shape[2] * width, count)
        return torch.stack([rotated(subset, layer).square().sum(0) for subset in blocks]).sum(0)
    # Rows of a table that a sample looked up several times count by their sum; the others are zero.
    left = (d if layer.left is None else d @ layer.left).flatten(0, 1)
    owner = torch.arange(len(a), device=a.device).unsqueeze(1) * width
    code, place = torch.unique(a + owner, return_inverse=True)
    sums = left.new_zeros(len(code), left.shape[1]).index_add_(0, place.flatten(), left)
    return left.new_zeros(width, left.shape[1]).index_add_(0, code % width, sums.square()).T


@dataclass
class Sums:
    """Sums of gradients of each contributor in the eigenbasis, in one byte a number with scales.

    `values[layer]` is (contributors, out, in) as int8, `scales[layer]` (contributors, out, 1).
    """

    values: dict[str, Tensor]
    scales: dict[str, Tensor]

    def layer(self, key: str) -> Tensor:
        """The sums of one layer, (contributors, out, in)."""
        return self.values[key].float() * self.scales[key]

    def put(self, key: str, contributor: int, count: int, total: Tensor) -> None:
        """Store the sum of one contributor."""
        if key not in self.values:
            self.values[key] = torch.zeros(count, *total.shape, dtype=torch.int8, device=total.device)
            self.scales[key] = total.new_zeros(count, len(total), 1)
        scale = total.abs().amax(1, keepdim=True) / 127
        self.values[key][contributor] = (total / scale.clamp_min(1e-38)).round().to(torch.int8)
        self.scales[key][contributor] = scale


def contributor_sums(
    reader: GradientReader, curvature: Curvature, batches: Iterable[tuple[Batch, Tensor, Tensor]], count: int
) -> Sums:
    """Add up each contributor's gradients; rows come sorted by contributor, with weights and contributors."""
    sums = Sums({}, {})
    running: dict[int, dict[str, Tensor]] = {}
    pending: list[tuple[Tensor, Tensor]] = []

    def inputs() -> Iterator[Batch]:
        for batch, weight, group in batches:
            pending.append((weight, group))
            yield batch

    def finish(upto: int) -> None:
        for member in [each for each in running if each < upto]:
            for key, total in running.pop(member).items():
                sums.put(key, member, count, curvature[key].rotate(total))

    done = 0
    for parts, losses in reader.read(inputs()):
        # A batch may be read in several pieces.
        weight, group = pending[0]
        subset = slice(done, done + len(losses))
        for key, part in parts.items():
            if key in curvature:
                for member, total in total_gradients(part, weight[subset], group[subset]):
                    mine = running.setdefault(member, {})
                    mine[key] = mine[key] + total if key in mine else total
        done += len(losses)
        finish(int(group[subset][0]))
        if done == len(weight):
            pending.pop(0)
            done = 0
    finish(count)
    for key, layer in curvature.items():
        if key not in sums.values:
            sums.put(key, 0, count, torch.zeros_like(layer.eigenvalues))
    return sums


def score_queries(
    reader: GradientReader, curvature: Curvature, sums: Sums, queries: Iterable[Batch],
    dampings: Sequence[float],
) -> Tensor:  # fmt: skip
    """Influence of each contributor on each query, (dampings, queries, contributors).

    The value is the increase of the loss, to first order, if the contributor's rows are excluded, times the
    number of rows.
    """
    result: list[Tensor] = []
    for parts, losses in reader.read(queries):
        count = len(next(iter(sums.values.values())))
        scores = losses.new_zeros(len(dampings), len(losses), count)
        for key, part in parts.items():
            if key not in curvature:
                continue
            layer, total = curvature[key], sums.layer(key).flatten(1)
            inverse = [1 / layer.damped(each) for each in dampings]
            start = 0
            for subset in in_blocks(part, layer.eigenvalues.numel(), len(losses)):
                gradient = rotated(subset, layer)
                rows = slice(start, start + len(gradient))
                for at, each in enumerate(inverse):
                    scores[at, rows] += (gradient * each).flatten(1) @ total.T
                start = rows.stop
        result.append(scores)
    return torch.cat(result, dim=1)


def query_direction(
    reader: GradientReader, curvature: Curvature, queries: Iterable[tuple[Batch, Tensor]], damping: float
) -> dict[str, Tensor]:
    """Weighted sum of the queries' gradients times the inverse curvature, as a change of each parameter."""
    totals: dict[str, Tensor] = {}
    weights: list[Tensor] = []

    def inputs() -> Iterator[Batch]:
        for batch, weight in queries:
            weights.append(weight)
            yield batch

    for parts, losses in reader.read(inputs()):
        weight, weights[0] = weights[0][: len(losses)], weights[0][len(losses) :]
        if not len(weights[0]):
            weights.pop(0)
        one = torch.zeros(len(losses), dtype=torch.long, device=losses.device)
        for key, part in parts.items():
            if key in curvature:
                total = next(total_gradients(part, weight, one))[1]
                totals[key] = totals[key] + total if key in totals else total
    solved = {
        key: curvature[key].restore(curvature[key].rotate(total) / curvature[key].damped(damping))
        for key, total in totals.items()
    }
    return reader.as_changes(solved)


@torch.no_grad()
def losses_along(
    parameters: Mapping[str, Tensor], change: Mapping[str, Tensor], losses: Callable[[], Tensor],
    step: float = 1e-3,
) -> Tensor:  # fmt: skip
    """Derivative of each row's loss along a change of the parameters, by two passes without gradients.

    The step is relative to the length of the parameters. They are restored to the bit afterwards.
    """
    length = sum(float(each.double().square().sum()) for each in change.values()) ** 0.5
    whole = sum(float(parameters[name].double().square().sum()) for name in change) ** 0.5
    size = step * whole / max(length, 1e-300)
    before = {name: parameters[name].clone() for name in change}
    result: list[Tensor] = []
    try:
        for sign in (1, -1):
            for name, each in change.items():
                parameters[name].copy_(before[name] + sign * size * each)
            result.append(losses())
    finally:
        for name, value in before.items():
            parameters[name].copy_(value)
    change_of_loss: Tensor = (result[0] - result[1]) / (2 * size)
    return change_of_loss
