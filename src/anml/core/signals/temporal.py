"""T: freshness. Exponential decay with units, by domain, and across domains.

Ages are in years (of 365.25 days) and rates are per year, everywhere; text with a unit is converted
at the door.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Floats, as_ages, in_range
from anml.core.errors import InputError, UnknownNameError

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


def years(text: str) -> float:
    """Read a duration with its unit.

    Examples
    --------
    >>> years("7y"), years("6 mo"), round(years("90d"), 4)
    (7.0, 0.5, 0.2464)
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z]+)\s*", text.lower())
    if match is None:
        raise InputError(
            f"a duration is a number and a unit such as 7y or 90d, got {text!r}; units: {', '.join(UNITS)}"
        )
    if match[2] not in UNITS:
        raise UnknownNameError("unit of time", match[2], UNITS)
    return float(match[1]) * UNITS[match[2]]


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
        value = years(duration) if isinstance(duration, str) else duration
        in_range("half-life", value, 0, np.inf, open_low=True)
        return cls(math.log(2) / value)

    @classmethod
    def rate(cls, delta: float, per: str = "y") -> "Decay":
        """By rate per unit of time, so that a rate per day is never read as one per year."""
        if per not in UNITS:
            raise UnknownNameError("unit of time", per, UNITS)
        return cls(delta / UNITS[per])

    @classmethod
    def domain(cls, name: str) -> "Decay":
        """By one of the paper's domains."""
        if name not in DOMAINS:
            raise UnknownNameError("domain", name, DOMAINS)
        return cls(DOMAINS[name])

    def __call__(self, age: Any) -> Floats:
        """T for ages in years."""
        ages = as_ages("age", age)
        return np.exp(-self.delta * ages)


# Weights of source, destination and relation, by type of relation. The paper names the types and
# leaves the values open; these say which side's clock matters most, and sum to one.
RELATIONS: dict[str, tuple[float, float, float]] = {
    "direct-application": (0.2, 0.6, 0.2),
    "foundational-extension": (0.6, 0.2, 0.2),
    "cross-domain-synthesis": (0.4, 0.4, 0.2),
}


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
        if kind not in RELATIONS:
            raise UnknownNameError("relation", kind, RELATIONS)
        return cls(source, destination, relation, RELATIONS[kind])

    def __call__(self, age: Any) -> Floats:
        """T for ages in years."""
        parts = (self.source, self.destination, self.relation)
        mixed = [weight * decay(age) for weight, decay in zip(self.weights, parts, strict=True)]
        return np.asarray(np.sum(mixed, axis=0))
