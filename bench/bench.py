"""`make bench`: what anml costs, as ratios against the obvious alternative in the same run."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from anml.assessment.assess import SampleInfo, SamplePolicy, assess
from anml.core.profile import PROFILES
from anml.core.types import Signals
from anml.gradients import mlp as torch_mlp
from anml.gradients.batches import Batch, GradientSettings
from anml.gradients.modules import exact_factors
from anml.gradients.sample_krum_torch import krum_scores
from anml.gradients.threads import limit_threads
from anml.io.columns import choose_columns
from anml.io.prepare import prepare
from anml.io.tables import read_table
from anml.networks.mlp import LayerWidths, TrainingData, as_data, initialise, train
from anml.networks.scoring import score
from anml.signals.freshness import Decay
from anml.signals.reputation import ColdStart
from anml.weighting.weigh import RECIPES, compute_sample_weights

EPOCHS = 500


def best_of(times: int, work: Callable[[], object]) -> float:
    """Shortest of several runs: the least disturbed by whatever else the machine does."""
    results = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        results.append(time.perf_counter() - start)
    return min(results)


def row(what: str, figure: str, target: str, met: bool) -> bool:
    print(f"{what:<66} {figure:>22}   {target:<22} {'ok' if met else 'MISSED'}")
    return met


def krum_from_factors() -> bool:
    """Exact Krum of a 784-512-256-10 network at n = 1000: factors against gradients and cdist."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(1000, 784, generator=generator), torch.randint(0, 10, (1000,), generator=generator)
    networks = torch_mlp.initialise(LayerWidths(784, (512, 256), 10), [0])
    layers: list[torch.nn.Module] = []
    for weight, bias in networks.layers:
        layer = torch.nn.Linear(weight.shape[1], weight.shape[2])
        layer.weight.data, layer.bias.data = weight[0].T.clone(), bias[0, 0].clone()
        layers += [layer, torch.nn.ReLU()]
    module = torch.nn.Sequential(*layers[:-1])
    result = {}

    def explicit() -> None:
        params = {name: p.detach() for name, p in module.named_parameters()}

        def one(p: dict[str, torch.Tensor], sample: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            out = torch.func.functional_call(module, p, (sample.unsqueeze(0),))
            return torch.nn.functional.cross_entropy(out, target.unsqueeze(0))

        gradients = torch.func.vmap(torch.func.grad(one), in_dims=(None, 0, 0))(params, x, y)
        matrix = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
        distance = torch.cdist(matrix, matrix).square().fill_diagonal_(torch.inf)
        result["explicit"] = torch.topk(distance, 10, largest=False).values.sum(1).numpy()

    def factors() -> None:
        result["factors"] = krum_scores(exact_factors(module, [Batch(x, y)], GradientSettings(), len(y)), 10)

    with limit_threads(0):
        slow, fast = best_of(2, explicit), best_of(5, factors)
    np.testing.assert_allclose(result["factors"], result["explicit"], rtol=1e-2)
    ratio = slow / fast
    return row(
        "exact Krum, 784-512-256-10, n = 1,000: factors vs gradients + cdist",
        f"{ratio:.0f}x ({slow:.2f} s, {fast:.3f} s)", "at least 20x", ratio >= 20,
    )  # fmt: skip


def adult() -> tuple[np.ndarray, np.ndarray, str]:
    """Adult where its file is at hand, else made-up rows of the same shape."""
    folder = os.environ.get("ANML_DATA")
    path = Path(folder) / "adult.csv.gz" if folder else None
    if path is not None and path.is_file():
        table = read_table(path)
        columns, _ = choose_columns(table.frame, label="income")
        prepared = prepare(table, columns)
        return prepared.x, prepared.y, "Adult"
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32_561, 105)).astype(np.float32)
    return x, (x[:, 0] + rng.normal(size=len(x)) > 0).astype(np.int64), "made-up rows of Adult's size"


def whole_cost() -> bool:
    """Scoring model, q, noise, combination and selection against plain training for 500 epochs."""
    x, y, name = adult()
    rng = np.random.default_rng(0)
    noisy = np.where(rng.uniform(size=len(y)) < 0.3, 1 - y, y)
    v, r = rng.uniform(0.2, 0.9, len(y)), rng.uniform(0.2, 0.9, len(y))

    def anml() -> None:
        result = score(x, noisy, "classification", classes=2)
        compute_sample_weights(Signals.of(result.q, v, r), RECIPES["adaptive"])

    def plain(epochs: int) -> None:
        networks = initialise(LayerWidths(x.shape[1], (64, 32), 2), [0])
        inputs, targets = as_data((x - x.mean(0)) / np.maximum(x.std(0), 1e-6), noisy)
        data = TrainingData.shared(inputs, targets, np.ones((1, len(y)), dtype=np.float32))
        with limit_threads(1):
            train(networks, data, "classification", [0], epochs=epochs)

    def evidence() -> None:
        policy = SamplePolicy(RECIPES["evidence"], PROFILES["default"], Decay(0.0), ColdStart())
        assess(x, noisy, "classification", 2, SampleInfo(verification=v, reputation=r), policy)

    # Every epoch costs the same, so a tenth of them is timed.
    theirs = best_of(2, lambda: plain(EPOCHS // 10)) * 10
    met = True
    for what, work, limit in (("q and the gate", anml, 0.15), ("evidence, three rounds", evidence, 0.30)):
        ours = best_of(2, work)
        met &= row(
            f"whole cost of anml ({what}) vs {EPOCHS} epochs, {name}",
            f"{ours / theirs:.1%} ({ours:.1f} s, {theirs:.0f} s)", f"at most {limit:.0%}",
            ours / theirs <= limit,
        )  # fmt: skip
    return met


def combination() -> bool:
    """Combination, gate and selection at n = 32,561."""
    rng = np.random.default_rng(0)
    names = ("q", "v", "r", "t", "p_correct")
    signals = Signals.of(**{name: rng.uniform(size=32_561) for name in names})
    slowest = max(
        best_of(20, lambda recipe=recipe: compute_sample_weights(signals, recipe))  # type: ignore[misc]
        for recipe in RECIPES.values()
    )
    return row(
        "combination and gate, n = 32,561, slowest recipe",
        f"{slowest * 1e3:.2f} ms",
        "under 2 ms",
        slowest < 2e-3,
    )


def peak_of_scoring(n: int) -> float:
    """Peak memory in MiB of everything up to exact Krum scores of n rows, beyond what was there before."""
    code = f"""
import numpy as np, re
from pathlib import Path
from anml.core.profile import PROFILES
from anml.networks.scoring import score

def status(key):
    return int(re.search(key + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

def work(n):
    x = np.random.default_rng(0).normal(size=(n, 20)).astype(np.float32)
    profile = dict(max_epochs=1, references=0, folds=2, hidden=(16,))
    score(x, (x[:, 0] > 0).astype(np.int64), "classification", classes=2, profile=profile)

work(500)
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
work({n})
print(status("VmHWM") - before)
"""
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(ran.stdout)


def memory() -> bool:
    """Ten times the rows take about ten times the memory, with every pair of rows compared."""
    small, large = peak_of_scoring(10_000), peak_of_scoring(100_000)
    growth = large / small
    return row(
        "peak memory of exact scoring, n = 10,000 to 100,000",
        f"{growth:.1f}x ({small:.0f}, {large:.0f} MiB)", "at most 12x", growth <= 12,
    )  # fmt: skip


def main() -> None:
    print(f"{torch.get_num_threads()} thread(s) by default, {len(os.sched_getaffinity(0))} cores\n")
    met = [check() for check in (krum_from_factors, whole_cost, combination, memory)]
    print(f"\npeak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
