"""`python bench/scale.py [ROWS ...]`: what the evidence recipe costs from a hundred rows to a million.

A tenth of the labels is wrong, all of them from a tenth of the contributors; 20 measured columns, 5 classes
and credentials that say nothing. Each size runs in a process of its own, so that its peak memory is its own.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

from anml.assessment.assess import Assessment, SampleInfo, SamplePolicy, assess
from anml.core.checks import Bools, Floats, Ints
from anml.core.profile import PROFILES
from anml.gradients.mlp import initialise
from anml.gradients.threads import limit_threads
from anml.networks.mlp import LayerWidths, TrainingData, train
from anml.signals.freshness import Decay
from anml.signals.reputation import ColdStart
from anml.weighting.weigh import RECIPES

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
EPOCHS = 500
COLUMNS, CLASSES = 20, 5


def table(n: int) -> tuple[Floats, Ints, SampleInfo, Bools]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, CLASSES, n)
    x = (rng.normal(size=(n, COLUMNS)) + 1.5 * np.eye(CLASSES, COLUMNS)[truth]).astype(np.float32)
    contributors = rng.integers(0, 10 * max(1, n // 1_000), n)
    wrong = contributors % 10 == 0
    labels = np.where(wrong, (truth + rng.integers(1, CLASSES, n)) % CLASSES, truth)
    return x, labels, SampleInfo(contributor=contributors, verification=rng.uniform(0.2, 0.9, n)), wrong


def evidence(x: Floats, y: Ints, known: SampleInfo) -> Assessment:
    policy = SamplePolicy(RECIPES["evidence"], PROFILES["default"], Decay(0.0), ColdStart())
    return assess(x, y, "classification", CLASSES, known, policy)


def plain_training(x: Floats, y: Ints) -> float:
    """Seconds of a plain training; every epoch costs the same, so that some are timed."""
    n = len(y)
    subset = max(1, min(50, 2_000_000 // n))
    networks = initialise(LayerWidths(COLUMNS, (64, 32), CLASSES), [0])
    data = TrainingData.shared(torch.as_tensor(x), torch.as_tensor(y), torch.ones(1, n))
    with limit_threads(1):
        train(networks, data, "classification", [0], epochs=1)
        start = time.perf_counter()
        train(networks, data, "classification", [0], epochs=subset)
    return (time.perf_counter() - start) / subset * EPOCHS


def gigabytes(key: str) -> float:
    result = re.search(key + r":\s+(\d+)", Path("/proc/self/status").read_text())
    return int(result[1]) / 2**20 if result else float("nan")


def one(n: int) -> None:
    evidence(*table(400)[:3])  # libraries are loaded, and their memory is taken
    x, y, known, wrong = table(n)
    Path("/proc/self/clear_refs").write_text("5")
    before, start = gigabytes("VmRSS"), time.perf_counter()
    kept = evidence(x, y, known).weighting.kept
    ours, peak = time.perf_counter() - start, gigabytes("VmHWM") - before
    print(
        f"{n:>9,} {ours:>8.1f} s {ours / plain_training(x, y):>8.1%} {1e3 * ours / n:>9.2f} ms "
        f"{peak:>8.2f} GiB {1 - wrong[kept].mean():>9.2%} {kept.mean():>7.1%}",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        return one(int(sys.argv[2]))
    print(
        f"     rows   evidence  of {EPOCHS} epochs   per row      memory  kept are right    kept", flush=True
    )
    for n in [int(size) for size in sys.argv[1:]] or SIZES:
        subprocess.run([sys.executable, __file__, "--one", str(n)], check=True)
    return None


if __name__ == "__main__":
    main()
