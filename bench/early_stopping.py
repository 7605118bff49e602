"""Share of clean samples in Krum's top 70%, by how long the scoring model trains; 30% of labels flipped."""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

from anml.core.profile import Profile
from anml.networks.scoring import score
from anml.weighting.selection import keep_top

SETS = {"Wine": load_wine, "Breast Cancer": load_breast_cancer, "Digits": load_digits}
LENGTHS = {"20": 20, "50": 50, "200 (profile paper)": 200, "500": 500, "early-stopped (default)": None}


def precision(load: object, epochs: int | None, seed: int) -> float:
    x, y = load(return_X_y=True)  # type: ignore[operator]
    x, _, y, _ = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    classes, n = int(y.max()) + 1, len(y)
    flipped = np.zeros(n, dtype=bool)
    flipped[rng.choice(n, round(0.3 * n), replace=False)] = True
    labels = np.where(flipped, (y + rng.integers(1, classes, n)) % classes, y)
    profile = Profile(epochs=epochs, max_epochs=2 if epochs else 300, folds=2 if epochs else 5, references=0)
    q = score(x, labels, "classification", classes=classes, profile=profile, seed=seed).q
    return float((~flipped)[keep_top(q, 0.7)].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    print(f"| epochs of the scoring model ({seeds} seeds) | {' | '.join(SETS)} |")
    print("| --- | " + "--- | " * len(SETS))
    for name, epochs in LENGTHS.items():
        results = [
            np.mean([precision(load, epochs, seed) for seed in range(seeds)]) for load in SETS.values()
        ]
        print(f"| {name} | " + " | ".join(f"{share:.3f}" for share in results) + " |", flush=True)


if __name__ == "__main__":
    main()
