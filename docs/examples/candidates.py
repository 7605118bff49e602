"""Predict held-out choices with and without features of the candidates, informative or not."""

import sys
from pathlib import Path

import numpy as np

from anml.annotators.preferences.model import fit_pairs

# Experiments are outside the installed package.
sys.path.insert(0, str(Path(__file__).parents[2]))
from experiments.pairs import predict

CANDIDATES, PEOPLE, EACH, WIDTH, SESSIONS = 600, 30, 40, 8, 5


def session(share: float, seed: int) -> tuple[np.ndarray, ...]:
    """Comparisons of candidates that seldom repeat; features explain `share` of the variance of scores."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(CANDIDATES, WIDTH))
    line = features @ rng.normal(size=WIDTH)
    own = rng.normal(size=CANDIDATES)
    score = 2 * (np.sqrt(share) * line / line.std() + np.sqrt(1 - share) * own)
    judge = np.repeat(np.arange(PEOPLE), EACH)
    first = rng.integers(CANDIDATES, size=len(judge))
    second = (first + rng.integers(1, CANDIDATES, len(judge))) % CANDIDATES
    choice = (rng.random(len(judge)) > 1 / (1 + np.exp(score[second] - score[first]))).astype(int)
    return first, second, choice, judge, features


def loss(first, second, choice, judge, features) -> float:
    """Log-loss of every fifth choice, predicted by the others."""
    held_out = np.arange(len(judge)) % 5 == 0
    fit = fit_pairs(*(part[~held_out] for part in (first, second, choice, judge)), features=features)
    p = predict(fit, first[held_out], second[held_out], judge[held_out])
    return float(-np.log(p[np.arange(len(p)), choice[held_out]]).mean())


for name, share in (("informative", 0.8), ("useless", 0.0)):
    made = [session(share, seed) for seed in range(SESSIONS)]
    without = np.array([loss(*parts[:4], np.zeros((CANDIDATES, 1))) for parts in made])
    gain = without - [loss(*parts) for parts in made]
    error = gain.std(ddof=1) / np.sqrt(SESSIONS)
    print(
        f"{name} features: {without.mean():.3f} without, {gain.mean():.3f} ± {2 * error:.3f} less with them"
    )
