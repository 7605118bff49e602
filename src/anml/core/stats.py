"""Standard units, intervals, paired tests and effect sizes."""

from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats


def standardise(x: Floats) -> Floats:
    """Centre and scale columns; constant columns become 0."""
    spread = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0))


def wilson(mean: Any, n: Any, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson interval for the mean of n values in [0, 1].

    A value in [0, 1] varies at most as much as a coin with the same mean, so the interval is honest
    for scores too, and stays inside [0, 1] and wide for small n.
    """
    p, count = np.asarray(mean, dtype=np.float64), np.asarray(n, dtype=np.float64)
    from scipy import special  # slow to load: those who only name these functions do not wait for it

    z = special.ndtri(0.5 + confidence / 2)
    centre = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)


def beta_interval(good: Floats, bad: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Central interval of a beta distribution with these pseudo-counts."""
    tail = (1 - confidence) / 2
    a, b = np.maximum(good, 1e-9), np.maximum(bad, 1e-9)
    from scipy import special

    return special.betaincinv(a, b, tail), special.betaincinv(a, b, 1 - tail)


class Estimate(NamedTuple):
    """A mean with its interval."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """Plain values, for JSON; a bound that is not known is None."""
        return {name: value if np.isfinite(value) else None for name, value in self._asdict().items()}


def mean_interval(values: Any, confidence: float = 0.95) -> Estimate:
    """Mean and t-interval over trials; the interval is the whole line for a single trial."""
    x = np.asarray(values, dtype=np.float64)
    mean = float(x.mean())
    if len(x) < 2:
        return Estimate(mean, float("-inf"), float("inf"))
    from scipy import special

    half = float(special.stdtrit(len(x) - 1, 0.5 + confidence / 2) * x.std(ddof=1) / np.sqrt(len(x)))
    return Estimate(mean, mean - half, mean + half)


class PairedTest(NamedTuple):
    """A paired comparison of a with b: mean difference a - b, its interval, p-value, Cohen's d."""

    difference: Estimate
    p: float
    d: float


def paired(a: Any, b: Any) -> PairedTest:
    """Compare two methods on the same trials, by paired t-test.

    Where all differences are equal the t-test is undefined: p is then 1 for no difference, else 0.
    """
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    estimate = mean_interval(difference)
    spread = difference.std(ddof=1) if len(difference) > 1 else 0.0
    if spread < 1e-12:
        same = abs(estimate.mean) < 1e-12
        return PairedTest(
            estimate, 1.0 if same else 0.0, 0.0 if same else float(np.sign(estimate.mean) * np.inf)
        )
    from scipy import special

    t = estimate.mean / (spread / np.sqrt(len(difference)))
    p = 2 * special.stdtr(len(difference) - 1, -abs(t))
    return PairedTest(estimate, float(p), float(estimate.mean / spread))


def significant_differences(
    before: Floats, after: Floats, rate: float
) -> tuple[Floats, Floats, Floats, Bools]:
    """Differences of estimates with 95% intervals, and which are more than chance gives.

    `before` and `after` have rows of estimate, low and high. Estimates that share data differ less by chance
    than is assumed, so that too few are said to differ, not too many. Of those said to differ, the share
    `rate` may do so by chance, on average (Benjamini and Hochberg).
    """
    from scipy import special, stats

    z = special.ndtri(0.975)
    width = (before[2] - before[1]) ** 2 + (after[2] - after[1]) ** 2
    error = np.maximum(np.sqrt(width) / (2 * z), 1e-9)
    difference = after[0] - before[0]
    chance = 2 * special.ndtr(-np.abs(difference) / error)
    changed = stats.false_discovery_control(chance) <= rate
    return difference, difference - z * error, difference + z * error, changed
