"""`make bench`: q of a convolutional network, exact and sketched, streamed and in memory.

Made-up pictures of ten classes, a quarter of the labels wrong; the network has learned for two epochs.
"""

import resource
import subprocess
import sys
import time

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import anml
from anml.gradients.threads import limit_threads
from anml.torch import module_quality
from anml.torch.data import samples_of
from anml.torch.quality import Gradients, Scoring, module_gradients

IMAGES, CLASSES, WRONG = 2_000, 10, 0.25


def pictures(n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Blurred shapes of ten classes in noise, labels with wrong ones among them, and which are wrong."""
    rng = np.random.default_rng(seed)
    prototypes = np.random.default_rng(7).normal(size=(CLASSES, 3, 8, 8))
    y = rng.integers(0, CLASSES, n)
    small = prototypes[y] + 0.8 * rng.normal(size=(n, 3, 8, 8))
    x = torch.as_tensor(small, dtype=torch.float32).repeat_interleave(4, 2).repeat_interleave(4, 3)
    x += 0.5 * torch.as_tensor(rng.normal(size=tuple(x.shape)), dtype=torch.float32)
    wrong = rng.uniform(size=n) < WRONG
    labels = np.where(wrong, (y + rng.integers(1, CLASSES, n)) % CLASSES, y)
    return x, torch.as_tensor(labels), torch.as_tensor(wrong)


def network() -> nn.Sequential:
    """545,098 parameters."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(4_096, 128), nn.ReLU(), nn.Linear(128, CLASSES),
    )  # fmt: skip


def deep() -> nn.Sequential:
    """As many parameters, nearly all of them in convolutions, whose gradients must be formed."""
    torch.manual_seed(0)
    blocks: list[nn.Module] = []
    for inside, out in ((3, 32), (32, 64), (64, 128), (128, 352)):
        blocks += [nn.Conv2d(inside, out, 3, padding=1), nn.GroupNorm(8, out), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(352, CLASSES))


def train(module: nn.Module, x: torch.Tensor, y: torch.Tensor, epochs: int) -> float:
    """Seconds of one epoch of plain training."""
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)
    loader = DataLoader(
        TensorDataset(x, y), batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(0)
    )
    results = []
    for _ in range(epochs):
        start = time.perf_counter()
        for inputs, targets in loader:
            optimiser.zero_grad()
            nn.functional.cross_entropy(module(inputs), targets).backward()
            optimiser.step()
        results.append(time.perf_counter() - start)
    return min(results)


def nearest(module: nn.Module, x: torch.Tensor, y: torch.Tensor, **settings: object) -> torch.Tensor:
    """The ten nearest neighbours of each sample."""
    scoring = Scoring(gradients=Gradients(**settings))
    factors = module_gradients(module, samples_of(x, y), scoring, torch.device("cpu"), None)
    norms = factors.norms()
    distance = norms[:, None] + norms - 2 * factors.products(factors)
    return distance.fill_diagonal_(torch.inf).topk(10, largest=False).indices


def fidelity(make, exact_bytes: int) -> list[tuple[str, float, float, float, float]]:
    """(gradients, seconds in epochs, Spearman, share of neighbours, points of wrong labels kept more)."""
    x, y, wrong = pictures(IMAGES)
    module = make()
    epoch = train(module, x, y, 2)
    rows = []
    kept = {}
    exact_near = None
    exact = None
    for how in ("exact", "sketch", "last"):
        start = time.perf_counter()
        q = module_quality(module, x, y, gradients={"method": how, "limit_bytes": exact_bytes})
        seconds = time.perf_counter() - start
        near = nearest(module, x, y, method=how, limit_bytes=exact_bytes)
        exact_near, exact = (near, q) if how == "exact" else (exact_near, exact)
        same = float((near[:, :, None] == exact_near[:, None, :]).any(2).float().mean())
        kept[how] = float(wrong[anml.weigh(q, recipe="krum").kept].float().mean())
        rho, more = float(spearmanr(q, exact)[0]), 100 * (kept[how] - kept["exact"])
        rows.append((how, seconds / epoch, rho, same, more))
    print(f"# one epoch {epoch:.1f} s, {sum(p.numel() for p in module.parameters()):,} parameters, "
          f"{100 * kept['exact']:.1f}% of what exact q keeps is wrong")  # fmt: skip
    return rows


def alone(attacked: str, how: str, streamed: bool) -> None:
    """In a process of its own: seconds in epochs, and peak memory above what torch takes by itself."""
    x, y, _ = pictures(IMAGES)
    module = {"network": network, "deep": deep}[attacked]()
    with limit_threads(0):
        epoch = train(module, x, y, 2)
        start = time.perf_counter()
        batch = 64 if streamed else IMAGES
        module_quality(module, x, y, gradients=how, batch_size=batch)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{seconds / epoch:.2f} {peak:.2f} {epoch:.2f}")


def measured(attacked: str, how: str, streamed: bool = True) -> tuple[float, float, float]:
    """Run `alone` in a process and return its figures: epochs, GiB, seconds per epoch."""
    command = [sys.executable, __file__, attacked, how, str(int(streamed))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    first, second, third = done.stdout.split()
    return float(first), float(second), float(third)


def row(what: str, figure: str, target: str, met: bool) -> bool:
    print(f"{what:<66} {figure:>22}   {target:<22} {'ok' if met else 'MISSED'}")
    return met


def main() -> bool:
    met = True
    for attacked, message in (("network", "two convolutions"), ("deep", "four convolutions")):
        epochs, peak, _ = measured(attacked, "auto")
        met &= row(f"q of a CNN, 545,000 parameters, {message}, 2,000 images",
                   f"{epochs:.1f} epochs, {peak:.2f} GiB", "6 epochs, 2 GiB",
                   epochs <= 6 and peak < 2)  # fmt: skip
    with limit_threads(0):
        for how, epochs, rho, same, more in fidelity(deep, 2**33):
            target = ".999, .90, 0.5 points" if how == "sketch" else ""
            good = how != "sketch" or (rho >= 0.999 and same >= 0.9 and more <= 0.5)
            met &= row(f"  {how}: rank correlation, neighbours, wrong kept more, epochs",
                       f"{rho:.4f} {same:.3f} {more:+.1f} {epochs:.1f}", target, good)  # fmt: skip
    first, second = measured("network", "sketch"), measured("network", "sketch", streamed=False)
    return met & row("sketch streamed, against one batch of all images: memory",
                     f"{first[1]:.2f} against {second[1]:.2f} GiB", "less", first[1] < second[1])  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) == 4:
        alone(sys.argv[1], sys.argv[2], bool(int(sys.argv[3])))
    else:
        raise SystemExit(0 if main() else 1)
