"""Statements of docs/concepts/limits.md on two-stage gating: proofs checked with numbers, counterexamples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.types import Signals
from anml.weighting.combine import correlation
from anml.weighting.weigh import RECIPES, compute_sample_weights


def chance_of_error(n: float, epsilon: float, v: float) -> float:
    """The first bound: how likely a correlation of n samples is off by epsilon or more."""
    means = 4 * np.exp(-n * epsilon / (12 + 4 * np.sqrt(epsilon / (6 * v))))
    return float(6 * np.exp(-n * epsilon**2 * v / (18 + 4 * epsilon)) + means)


def coins(rho: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two fair coins that agree with probability (1 + rho) / 2: variances of 1/4, a correlation of rho."""
    q = rng.integers(0, 2, n).astype(float)
    return q, np.where(rng.uniform(size=n) < (1 + rho) / 2, q, 1 - q)


def spread(rho: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Uniform numbers of which s is q itself with probability rho: variances of 1/12."""
    q, own = rng.uniform(size=(2, n))
    return q, np.where(rng.uniform(size=n) < rho, q, own)


@pytest.mark.parametrize(("draw", "v"), [(coins, 1 / 4), (spread, 1 / 12)])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("n", [8_000, 20_000])
def test_a_correlation_is_off_no_more_often_than_the_bound_says(draw, v, rho, n):
    rng, epsilon = np.random.default_rng([n, round(10 * rho)]), 0.25
    bound = chance_of_error(n, epsilon, v)
    assert bound < 1  # else there is nothing to check
    off = np.array([abs(correlation(*draw(rho, n, rng)) - rho) for _ in range(60)])
    assert np.mean(off >= epsilon) <= bound


@given(st.integers(0, 10**6), st.integers(5, 60), st.sampled_from([0.0, 0.5, 0.9]))
def test_the_step_from_means_to_correlation_holds_for_every_sample(seed, n, rho):
    """Whatever t and u turn out to be, the correlation is off by at most 2 (t + u²)."""
    q, s = coins(rho, n, np.random.default_rng(seed))
    result = correlation(q, s)
    q, s = (2 * q - 1), (2 * s - 1)  # mean 0 and variance 1 in the population
    t = max(abs((q * s).mean() - rho), abs((q * q).mean() - 1), abs((s * s).mean() - 1))
    u = max(abs(q.mean()), abs(s.mean()))
    assert result is None or abs(result - rho) <= 2 * (t + u * u) + 1e-9


@pytest.mark.parametrize(("rho", "branch"), [(0.0, "q_only"), (0.6, "blend")])
def test_the_gate_takes_the_branch_that_the_population_asks_for(rho, branch):
    rng, n, recipe = np.random.default_rng(1), 20_000, RECIPES["adaptive"]
    delta = chance_of_error(n, abs(rho - recipe.tau_c), 1 / 12)
    assert delta < 0.1
    for _ in range(20):
        q, s = spread(rho, n, rng)
        result = compute_sample_weights(Signals.of(q, s), recipe)
        assert result.gate.branch == branch
        # And its weights are those of the branch, exactly.
        only = compute_sample_weights(Signals.of(q, s), RECIPES["softmax" if branch == "blend" else "krum"])
        np.testing.assert_array_equal(result.kept, only.kept)


@pytest.mark.parametrize(("epsilon", "n"), [(0.5, 2_900), (0.2, 17_000)])
def test_how_many_samples_it_takes_before_the_bound_says_anything(epsilon, n):
    assert chance_of_error(0.9 * n, epsilon, 0.05) > 1 > chance_of_error(1.1 * n, epsilon, 0.05)


def risks(limits: np.ndarray, flip: float = 0.1) -> np.ndarray:
    """Exact risk of `x > limit`, where x is uniform and a label is `x > 0.5` but for a tenth."""
    return flip + (1 - 2 * flip) * np.abs(limits - 0.5)


@pytest.mark.parametrize("liars", [0.0, 0.2, 0.4])
def test_weights_by_credentials_keep_the_risk_within_the_bound(liars):
    """A hundred data sets of 400 rows, twenty-one models; who lies says anything, with low credentials."""
    rng, limits, n, delta = np.random.default_rng(2), np.linspace(0, 1, 21), 400, 0.05
    broken = 0
    for _ in range(100):
        x, lies = rng.uniform(size=n), rng.uniform(size=n) < liars
        y = (x > 0.5) ^ (rng.uniform(size=n) < 0.1)
        given_ = np.where(lies, rng.integers(0, 2, n).astype(bool), y)
        w = np.where(lies, rng.uniform(0, 0.5, n), rng.uniform(0.3, 1, n))
        w = w / w.sum()
        losses = w @ ((x[:, None] > limits) != given_[:, None])
        h, effective = float(w[given_ != y].sum()), 1 / float(np.square(w).sum())
        bound = risks(limits).min() + 2 * h + np.sqrt(2 * np.log(2 * len(limits) / delta) / effective)
        broken += risks(limits)[losses.argmin()] > bound
    assert broken <= 100 * delta
    assert effective < n


def test_the_gate_can_be_worse_than_krum():
    """The counterexample, counted: hard honest rows make the correlation, and attackers use it."""
    kinds = {"plain": (60, 0.7, 0.3), "hard": (10, 0.0, 0.05), "bad": (30, 0.65, 0.9)}
    q, s = (np.concatenate([np.full(k[0], k[at]) for k in kinds.values()]) for at in (1, 2))
    q = q + 1e-6 * np.arange(len(q), 0, -1)  # no ties, of which all are kept
    bad = np.arange(100) >= 70
    gate, krum = (compute_sample_weights(Signals.of(q, s), RECIPES[name]) for name in ("adaptive", "krum"))
    assert gate.gate.branch == "blend"
    assert gate.gate.rho_c == pytest.approx(0.35, abs=0.005)
    assert (~bad[gate.kept]).mean() == pytest.approx(40 / 70)
    assert (~bad[krum.kept]).mean() == pytest.approx(60 / 70)
