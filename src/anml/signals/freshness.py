"""T: freshness. Exponential decay by domain, and across domains; ages are in years of 365.25 days."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Floats, as_ages, in_range, one_of
from anml.core.errors import InputError

DAYS_PER_YEAR = 365.25
UNITS: dict[str, float] = {
    "s": 1 / (DAYS_PER_YEAR * 86400),
    "min": 1 / (DAYS_PER_YEAR * 1440),
    "h": 1 / (DAYS_PER_YEAR * 24),
    "d": 1 / DAYS_PER_YEAR,
    "w": 7 / DAYS_PER_YEAR,
    "mo": 1 / 12,
    "y": 1.0,
}

# Decay rates per year of the paper's four domains.
DOMAINS: dict[str, float] = {"mathematics": 0.001, "science": 0.01, "machine-learning": 0.1, "news": 0.5}


def parse_duration(text: str) -> float:
    """Read a duration with its unit."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z]+)\s*", text.lower())
    if match is None:
        raise InputError(f"a duration is a number and a unit such as 7y ({', '.join(UNITS)}), got {text!r}")
    return float(match[1]) * UNITS[one_of("unit of time", match[2], UNITS)]


@dataclass(frozen=True)
class Decay:
    """Exponential decay T = exp(-delta age), delta per year.

    Examples
    --------
    >>> Decay.half_life("7y")([0, 7, 14])
    array([1.  , 0.5 , 0.25])
    """

    delta: float

    def __post_init__(self) -> None:
        in_range("decay rate delta", self.delta, 0, np.inf, open_high=True)

    @classmethod
    def half_life(cls, duration: str | float) -> "Decay":
        """By the time in which T halves: text with a unit, or years."""
        value = parse_duration(duration) if isinstance(duration, str) else duration
        in_range("half-life", value, 0, np.inf, open_low=True)
        return cls(math.log(2) / value)

    @classmethod
    def rate(cls, delta: float, per: str = "y") -> "Decay":
        """By rate per unit of time, so that a rate per day is never read as one per year."""
        return cls(delta / UNITS[one_of("unit of time", per, UNITS)])

    @classmethod
    def domain(cls, name: str) -> "Decay":
        """By one of the paper's domains."""
        return cls(DOMAINS[one_of("domain", name, DOMAINS)])

    def __call__(self, age: Any) -> Floats:
        """T for ages in years."""
        ages = as_ages("age", age)
        return np.exp(-self.delta * ages)


def decay_of(
    half_life: "str | float | Mapping[str, Any] | Decay | ContextDecay | None",
) -> "Decay | ContextDecay":
    """Return the decay of a half-life, of a domain of the paper, of stored settings, or a decay as it is.

    Examples
    --------
    >>> decay_of("science"), decay_of(None)
    (Decay(delta=0.01), Decay(delta=0.0))
    """
    if half_life is None:
        return Decay(0.0)
    if isinstance(half_life, Decay | ContextDecay):
        return half_life
    if isinstance(half_life, Mapping):
        if "weights" not in half_life:
            return Decay(**half_life)
        clocks = {name: Decay(**half_life[name]) for name in ("source", "destination", "relation")}
        return ContextDecay(**clocks, weights=tuple(half_life["weights"]))
    # A duration begins with a number, a domain with a letter.
    if isinstance(half_life, str) and half_life.strip()[:1].isalpha():
        return Decay.domain(half_life)
    return Decay.half_life(half_life)


# Weights of source, destination and relation, by type of relation. The paper names the types and
# leaves the values open; these say which side's clock matters most, and sum to one.
RELATIONS: dict[str, tuple[float, float, float]] = {
    "direct-application": (0.2, 0.6, 0.2),
    "foundational-extension": (0.6, 0.2, 0.2),
    "cross-domain-synthesis": (0.4, 0.4, 0.2),
}


# Reuses that the weights of a type are worth beside those that were observed, and steps of EM at most.
PRIOR_REUSES, EM_STEPS = 10.0, 5_000


@dataclass(frozen=True)
class ContextDecay:
    """T across domains: a convex combination of the decay of source, destination and relation.

    Examples
    --------
    >>> physics, ml = Decay.domain("science"), Decay.domain("machine-learning")
    >>> ContextDecay.between(physics, ml, Decay(0.05), "direct-application")([0, 10]).round(4)
    array([1.   , 0.523])
    """

    source: Decay
    destination: Decay
    relation: Decay
    weights: tuple[float, float, float]

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or not math.isclose(sum(self.weights), 1.0, abs_tol=1e-9):
            raise InputError(f"relation weights must be non-negative and sum to one, got {self.weights}")

    @classmethod
    def between(cls, source: Decay, destination: Decay, relation: Decay, kind: str) -> "ContextDecay":
        """By the type of the relation."""
        return cls(source, destination, relation, RELATIONS[one_of("relation", kind, RELATIONS)])

    @classmethod
    def learned(
        cls, source: Decay, destination: Decay, relation: Decay, kind: str, age: Any, reused: Any,
        exposure: Any = None,
    ) -> "ContextDecay":  # fmt: skip
        """By how often works of some ages, in years, were reused in the destination; few stay with the type.

        `exposure` is how much occasion there was for it (works that could have reused it, say); the same for
        all where it is None.
        """
        fixed = cls.between(source, destination, relation, kind)
        ages, counts = as_ages("age", age), _as_counts("reused", reused)
        occasions = np.ones(len(ages)) if exposure is None else _as_counts("exposure", exposure)
        for name, values in (("reused", counts), ("exposure", occasions)):
            if len(values) != len(ages):
                raise InputError(f"{name} must have a value for each of {len(ages)} ages, got {len(values)}")
        if np.any((occasions == 0) & (counts > 0)):
            raise InputError("a work without exposure cannot have been reused")
        decayed = np.stack([decay(ages) for decay in (source, destination, relation)])
        weights = fit_decay_mixture(decayed, counts, occasions, np.array(fixed.weights))
        return cls(source, destination, relation, weights)

    def __call__(self, age: Any) -> Floats:
        """T for ages in years."""
        parts = (self.source, self.destination, self.relation)
        mixed = [weight * decay(age) for weight, decay in zip(self.weights, parts, strict=True)]
        return np.asarray(np.sum(mixed, axis=0))


def fit_decay_mixture(
    decayed: Floats, counts: Floats, exposure: Floats, prior: Floats
) -> tuple[float, float, float]:
    """Weights of T's parts (3, n) by reuse counts (n,): the most probable, with `usual` worth ten reuses.

    A count is Poisson with mean exposure times rate times the mixture. The logarithm of that likelihood is
    concave in rate times weights, so that steps of EM lead to its one maximum.
    """
    rate = prior * max(float(counts.sum()), 1.0) / max(float(exposure @ (prior @ decayed)), 1e-300)
    occasion = decayed @ exposure
    for _ in range(EM_STEPS):
        share = rate[:, None] * decayed / np.maximum(rate @ decayed, 1e-300)
        # Reuses of new works, whose part is known to be as usual.
        moved = (share @ counts + PRIOR_REUSES * prior) / (occasion + PRIOR_REUSES / rate.sum())
        settled = np.abs(moved - rate).max() <= 1e-9 * rate.sum()
        rate = moved
        if settled:
            break
    source, destination, relation = (float(part) for part in rate / rate.sum())
    return source, destination, relation


def _as_counts(name: str, values: Any) -> Floats:
    counts = np.asarray(values, dtype=np.float64).reshape(-1)
    if not np.all(np.isfinite(counts)) or np.any(counts < 0):
        raise InputError(f"{name} must be counts of zero or more")
    return counts
