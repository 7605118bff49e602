"""`python bench/gpu.py`: exact Krum on one GPU, by the fused kernel and by torch, in fp32 and in tf32.

Needs torch with CUDA, triton and numpy; without an installation set PYTHONPATH=src. Samples are made up, of
the size of Covertype: 581,012 with 54 features, 7 classes, gradients of a 54-64-32-7 network, k = 10.
Products alone are the matrix products that any exact way must do, without distances and selection.
"""

import argparse
import time
import traceback
from collections.abc import Callable

import numpy as np
import torch

from anml.gradients import fused, kernel
from anml.gradients.mlp import initialise
from anml.gradients.sample_krum_torch import krum_scores
from anml.networks.factors import Factors, network_factors
from anml.networks.mlp import LayerWidths

SIZES = (32_768, 131_072, 581_012)


def factors(n: int) -> Factors:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 54, generator=generator)
    y = (x[:, :7] + torch.randn(n, 7, generator=generator)).argmax(1)
    networks = initialise(LayerWidths(54, (64, 32), 7), [0], "cuda")
    return network_factors(networks, x.cuda(), y.cuda(), "classification")


def timed(work: Callable[[], object], times: int = 2) -> float:
    results = []
    for _ in range(times):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        results.append(time.perf_counter() - start)
    return min(results)


def products_alone(given: Factors, side: int = 8_192) -> None:
    n = len(given)
    for i in range(0, n, side):
        first = given.take(slice(i, i + side))
        for j in range(i, n, side):
            first.products(given.take(slice(j, j + side)))


def with_torch(given: Factors) -> np.ndarray:
    before, fused.MIN_SAMPLES = fused.MIN_SAMPLES, 10**12
    try:
        return krum_scores(given, 10)
    finally:
        fused.MIN_SAMPLES = before


def exactly(given: Factors, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and nearest ten of some rows in double precision."""
    subset = _double(given.take(rows))
    best = torch.full((len(rows), 10), torch.inf, dtype=torch.float64, device="cuda")
    where = torch.zeros(len(rows), 10, dtype=torch.int64, device="cuda")
    norms = subset.norms()
    for start in range(0, len(given), 65_536):
        others = _double(given.take(slice(start, start + 65_536)))
        tile = norms[:, None] + others.norms() - 2 * subset.products(others)
        own = torch.arange(start, start + tile.shape[1], device="cuda")
        tile.masked_fill_(rows[:, None] == own, torch.inf)
        both = torch.cat([best, tile], 1)
        at = torch.cat([where, own.expand(len(rows), -1)], 1)
        best, among = both.topk(10, largest=False)
        where = at.gather(1, among)
    return best.sum(1), where


def _double(given: Factors) -> Factors:
    layers = [type(part)(part.a.double(), part.d.double(), part.bias) for part in given.layers]
    return Factors(layers, given.loss.double())


def neighbours_found(given: Factors, rows: torch.Tensor, right: torch.Tensor) -> float:
    """Share of the ten nearest that products of the present precision find, too."""
    subset, norms = given.take(rows), given.norms()
    tiles = []
    for start in range(0, len(given), 65_536):
        part = slice(start, start + 65_536)
        tiles.append(norms[rows][:, None] + norms[part] - 2 * subset.products(given.take(part)))
    whole = torch.cat(tiles, 1)
    whole[torch.arange(len(rows)), rows] = torch.inf
    result = whole.topk(10, largest=False).indices
    return float((result[:, :, None] == right[:, None, :]).any(2).float().mean())


def error(scores: np.ndarray, rows: torch.Tensor, exact: torch.Tensor) -> str:
    ours = torch.as_tensor(scores, device="cuda")[rows]
    off = (ours - exact).abs() / exact.clamp_min(1e-12)
    return f"scores off by {float(off.median()):.1e} (median), {float(off.max()):.1e} (most)"


def measure(n: int) -> None:
    given = factors(n)
    rows = torch.randperm(n, generator=torch.Generator().manual_seed(1))[:512].cuda()
    exact, right = exactly(given, rows)
    for name, tf32 in (("fp32", False), ("tf32", True)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        alone = timed(lambda: products_alone(given))
        by_torch = timed(lambda: with_torch(given), 1)
        print(f"n = {n:>7,} {name}: products alone {alone:.2f} s; torch {by_torch:.2f} s, "
              f"{error(with_torch(given), rows, exact)}", flush=True)  # fmt: skip
        try:
            krum_scores(given, 10)  # compiles
            ours = timed(lambda: krum_scores(given, 10))
            print(f"n = {n:>7,} {name}: fused {ours:.2f} s, {error(krum_scores(given, 10), rows, exact)}; "
                  f"peak {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)  # fmt: skip
        except Exception:
            traceback.print_exc()
        result = neighbours_found(given, rows, right)
        print(
            f"n = {n:>7,} {name}: {result:.4f} of the ten nearest are those of double precision", flush=True
        )
    torch.backends.cuda.matmul.allow_tf32 = False


def tune(n: int) -> None:
    """Seconds by block, step, warps, stages and side of a launch: for choosing them anew."""
    given = factors(n)
    for precision in ("tf32x3", "tf32"):
        for block, step, warps, stages in (
            (64, 64, 4, 2), (64, 64, 4, 1), (64, 32, 4, 2), (128, 32, 8, 3), (128, 64, 8, 2),
        ):  # fmt: skip
            kernel.BLOCK, kernel.STEP, kernel.WARPS, kernel.STAGES = block, step, warps, stages
            for side in (16_384, 32_768):
                try:
                    work = lambda side=side, precision=precision: fused.fused_scores(  # noqa: E731
                        given, 10, side=side, precision=precision
                    )
                    work()
                    seconds = f"{timed(work):.3f} s"
                except Exception as failed:
                    seconds = f"{type(failed).__name__}: {str(failed).splitlines()[0][:80]}"
                print(f"tune n = {n:,} {precision} block {block} step {step} warps {warps} stages {stages} "
                      f"side {side}: {seconds}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--tune", action="store_true", help="also time other shapes of the kernel")
    asked = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("torch sees no GPU here")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, side {fused.TILE_SIZE:,}", flush=True)
    if asked.tune:
        tune(131_072)
    for n in asked.sizes:
        measure(n)


if __name__ == "__main__":
    main()
