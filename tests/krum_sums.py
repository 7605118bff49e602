"""Krum scores by their definition, from gradients that are points."""

import numpy as np


def directly(points: np.ndarray, k: int) -> np.ndarray:
    """Sums of squared distances to the k nearest other points."""
    squared = np.square(points[:, None] - points[None]).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    return np.sort(squared, axis=1)[:, :k].sum(axis=1)


def by_references(points: np.ndarray, k: int, references: int, seed: int) -> np.ndarray:
    """The same, to the k nearest of `references` points that are drawn, without the point itself."""
    chosen = np.sort(np.random.default_rng(seed).choice(len(points), references, replace=False))
    sums = []
    for i in range(len(points)):
        others = [j for j in chosen if j != i]
        sums.append(np.sort(np.square(points[i] - points[others]).sum(axis=1))[:k].sum())
    return np.array(sums)


def with_outliers(n: int, far: int) -> np.ndarray:
    """Points near the origin, and after them some that are far from all others."""
    near = np.random.default_rng(0).normal(size=(n, 5))
    return np.r_[near, np.full((far, 5), 9.0) * np.arange(1, far + 1)[:, None]]
