"""A count sketch of a whole gradient: inner products are off by about sqrt(1 / size) of the two lengths.

Each parameter's numbers are cut into runs of the sketch's length, given random signs, turned by a random
offset and added. Outer products of a wide layer are sketched by a Fourier transform, and never formed.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from anml.gradients.factors import GradientFactor, LayerFactor, LookupFactor
from anml.gradients.record import Covered

SIZE = 4_096
# Bytes of gradients that are formed at a time.
FORMED = 64 * 2**20
# A weight larger than this many sketches is sketched from its factors.
WIDE = 16


class CountSketch:
    """Random signs and offsets of every parameter, the same for all batches."""

    def __init__(self, parameters: list[nn.Parameter], size: int, seed: int, device: torch.device) -> None:
        self.size, self.device = size, device
        generator = torch.Generator().manual_seed(seed)
        seeds = torch.randint(2**62, (len(parameters),), generator=generator).tolist()
        self.seeds = {id(p): each for p, each in zip(parameters, seeds, strict=True)}
        self.signs: dict[int, tuple[Tensor, list[int]]] = {}
        self.hashes: dict[int, tuple[Tensor, ...]] = {}

    def of(self, covered: Sequence[Covered]) -> Tensor:
        """Sketches (n, size) of the gradients that these parts make together."""
        first = covered[0].part.norms()
        total = first.new_zeros(len(first), self.size)
        for parameters, part in covered:
            if isinstance(part, LookupFactor):
                self._add_lookup(total, parameters[0], part)
            elif isinstance(part, LayerFactor) and part.a.shape[1] * part.d.shape[1] > WIDE * self.size:
                self._add_outer(total, parameters[0], part)
            else:
                self._add_formed(total, parameters, part)
        return total

    def add(self, total: Tensor, parameter: nn.Parameter, gradients: Tensor) -> None:
        """Add gradients (n, numbers) of one parameter to sketches (n, size)."""
        signs, offsets = self._signs(parameter)
        for run, offset in enumerate(offsets):
            start = run * self.size
            stop = min(start + self.size, gradients.shape[1])
            turn = min(stop - start, self.size - offset)
            middle = start + turn
            total[:, offset : offset + turn].addcmul_(gradients[:, start:middle], signs[start:middle])
            if middle < stop:
                total[:, : stop - middle].addcmul_(gradients[:, middle:stop], signs[middle:stop])

    def _add_formed(self, total: Tensor, parameters: tuple[nn.Parameter, ...], part: GradientFactor) -> None:
        step = max(1, FORMED // (4 * sum(p.numel() for p in parameters)))
        for start in range(0, len(total), step):
            rows = slice(start, start + step)
            for parameter, piece in Covered(parameters, part.take(rows)).pieces():
                self.add(total[rows], parameter, piece)

    def _add_lookup(self, total: Tensor, parameter: nn.Parameter, part: LookupFactor) -> None:
        signs, offsets = self._signs(parameter)
        width = part.d.shape[2]
        at = part.rows.unsqueeze(2) * width + torch.arange(width, device=part.d.device)
        turned = torch.tensor(offsets, device=part.d.device)[at // self.size]
        places = (at % self.size + turned) % self.size
        total.scatter_add_(1, places.flatten(1), (part.d * signs[at]).flatten(1))

    def _add_outer(self, total: Tensor, parameter: nn.Parameter, part: LayerFactor) -> None:
        """Sketch factors apart and convolve them: the sketch of the outer product."""
        a = torch.cat([part.a, torch.ones_like(part.a[:, :1])], dim=1) if part.bias else part.a
        if id(parameter) not in self.hashes:
            self.hashes[id(parameter)] = self._hashed(parameter, a.shape[1], part.d.shape[1])
        a_at, a_sign, d_at, d_sign = self.hashes[id(parameter)]
        short = total.new_zeros(len(total), self.size).index_add_(1, a_at, a * a_sign)
        other = total.new_zeros(len(total), self.size).index_add_(1, d_at, part.d * d_sign)
        total += torch.fft.irfft(torch.fft.rfft(short) * torch.fft.rfft(other), n=self.size)

    def _signs(self, parameter: nn.Parameter) -> tuple[Tensor, list[int]]:
        if id(parameter) not in self.signs:
            generator = torch.Generator().manual_seed(self.seeds[id(parameter)])
            numbers = parameter.numel()
            signs = torch.randint(0, 2, (numbers,), generator=generator, dtype=torch.int8)
            runs = -(-numbers // self.size)
            offsets = torch.randint(self.size, (runs,), generator=generator).tolist()
            self.signs[id(parameter)] = (signs.to(self.device).float().mul_(2).sub_(1), offsets)
        return self.signs[id(parameter)]

    def _hashed(self, parameter: nn.Parameter, wide: int, out: int) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(self.seeds[id(parameter)])
        draws: list[Tensor] = []
        for length in (wide, out):
            draws.append(torch.randint(self.size, (length,), generator=generator))
            draws.append(torch.randint(0, 2, (length,), generator=generator).float().mul_(2).sub_(1))
        return tuple(each.to(self.device) for each in draws)
