"""Attacks and drift, as functions of arrays: run them against your own pipeline.

Every function returns changed copies, changes only the samples marked in `which`, and takes its
randomness as an argument. Credentials of attackers are in `experiments.scenarios`.
"""

from typing import Any

import numpy as np

from anml.core.checks import Bools, Floats, Ints, as_ages, as_booleans, in_range
from anml.core.errors import InputError


def random_subset(n: int, share: float, rng: np.random.Generator) -> Bools:
    """Mark a share of n samples at random; exactly the nearest whole number of them."""
    in_range("share", share, 0, 1)
    marked = np.zeros(n, dtype=bool)
    marked[rng.permutation(n)[: round(share * n)]] = True
    return marked


def flip_labels(y: Any, attacked: Any, classes: int, rng: np.random.Generator) -> Ints:
    """Give marked samples another class, each wrong class alike."""
    labels, marked = _labels(y, attacked, classes)
    return np.where(marked, (labels + rng.integers(1, classes, len(labels))) % classes, labels)


def offset_labels(y: Any, attacked: Any, classes: int, offset: int = 5) -> Ints:
    """Add a fixed offset to the class of marked samples: a flip that is easy to see."""
    labels, marked = _labels(y, attacked, classes)
    if offset % classes == 0:
        raise InputError(f"an offset of {offset} changes nothing among {classes} classes")
    return np.where(marked, (labels + offset) % classes, labels)


def lookalike_labels(x: Any, y: Any, attacked: Any, classes: int) -> Ints:
    """Give marked samples the class whose centre lies nearest to that of their own: a subtle flip."""
    labels, marked = _labels(y, attacked, classes)
    return np.where(marked, nearest_classes(x, labels, classes)[labels], labels)


def nearest_classes(x: Any, y: Any, classes: int) -> Ints:
    """For each class, the other class with the nearest centre."""
    centres = _centres(np.asarray(x, dtype=np.float64), np.asarray(y), classes)
    with np.errstate(invalid="ignore"):  # two classes without samples
        apart = np.square(centres[:, None] - centres[None]).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(np.where(np.isnan(apart), np.inf, apart).argmin(axis=1))


def aligned_poison(x: Any, y: Any, attacked: Any, classes: int, pull: float = 0.5) -> tuple[Floats, Ints]:
    """Poison that looks honest: the wrong class nearest to a sample, which moves the share `pull` to it."""
    labels, marked = _labels(y, attacked, classes)
    features = np.array(x, dtype=np.float64)
    in_range("pull", pull, 0, 1)
    centres = _centres(features, labels, classes)
    apart = np.square(features[:, None] - centres[None]).sum(axis=2)
    apart[np.arange(len(labels)), labels] = np.inf
    target = np.where(np.isnan(apart), np.inf, apart).argmin(axis=1)
    features[marked] += pull * (centres[target[marked]] - features[marked])
    return features, np.where(marked, target, labels)


def shift_targets(
    y: Any, attacked: Any, rng: np.random.Generator | None = None, deviations: float = 2.0
) -> Floats:
    """Shift marked numbers by some standard deviations: up, or either way at random when given an rng."""
    values, marked = _numbers(y, attacked)
    sign = np.ones(len(values)) if rng is None else rng.choice([-1.0, 1.0], len(values))
    return np.asarray(np.where(marked, values + sign * deviations * values.std(), values))


def noisy_targets(y: Any, attacked: Any, rng: np.random.Generator, deviations: float = 2.0) -> Floats:
    """Add noise to marked numbers: right on average, but scattered by some standard deviations."""
    values, marked = _numbers(y, attacked)
    in_range("deviations", deviations, 0, np.inf, open_high=True)
    noise = rng.normal(0.0, deviations * values.std(), len(values))
    return np.asarray(np.where(marked, values + noise, values))


def rescale_targets(y: Any, attacked: Any, factor: float = 2.54) -> Floats:
    """Give marked numbers in another unit: a factor, as between inches and centimetres."""
    values, marked = _numbers(y, attacked)
    if not np.isfinite(factor) or factor == 1:
        raise InputError(f"the factor between units must be a finite number other than 1, got {factor}")
    return np.asarray(np.where(marked, factor * values, values))


def random_targets(y: Any, attacked: Any, rng: np.random.Generator) -> Floats:
    """Give marked samples the number of any sample: plausible values that have nothing to do with them."""
    values, marked = _numbers(y, attacked)
    return np.asarray(np.where(marked, rng.choice(values, len(values)), values))


def shift_to_next_class(y: Any, attacked: Any, classes: int) -> Ints:
    """Give marked samples the next class round the circle: all attackers tell the same lie."""
    return offset_labels(y, attacked, classes, offset=1)


def sybil_split(contributor: Any, attacked: Any, identities: int, rng: np.random.Generator) -> Ints:
    """Split every contributor of marked samples over many identities, which are new codes: sybils."""
    codes = np.array(contributor, dtype=np.int64)
    marked = as_booleans("attacked", attacked, len(codes))
    if identities < 1:
        raise InputError(f"an attacker has at least 1 identity, got {identities}")
    attackers = np.unique(codes[marked])
    split = np.isin(codes, attackers)
    place = np.searchsorted(attackers, codes[split])
    first = int(codes.max(initial=-1)) + 1
    codes[split] = first + place * identities + rng.integers(0, identities, int(split.sum()))
    return codes


def delay_attack(contributor: Any, attacked: Any, share: float) -> Bools:
    """Marks without each contributor's first `share` of marked samples, by time: honest, then turning."""
    codes = np.asarray(contributor, dtype=np.int64)
    marked = as_booleans("attacked", attacked, len(codes)).copy()
    in_range("share", share, 0, 1)
    for attacker in np.unique(codes[marked]):
        rows = np.flatnonzero(marked & (codes == attacker))
        marked[rows[: round(share * len(rows))]] = False
    return marked


def stale_labels(age: Any, rate: float, rng: np.random.Generator) -> Bools:
    """Mark labels gone stale: never for the newest, with probability `rate` for the oldest."""
    ages = as_ages("age", age)
    in_range("drift rate", rate, 0, 1)
    oldest = ages.max()
    chance = rate * ages / oldest if oldest > 0 else np.zeros(len(ages))
    return np.asarray(rng.uniform(size=len(ages)) < chance)


def drift_labels(y: Any, age: Any, rate: float, classes: int, rng: np.random.Generator) -> Ints:
    """Let labels go stale with age: what was right once is now another class."""
    return flip_labels(y, stale_labels(age, rate, rng), classes, rng)


def drift_features(x: Any, age: Any, rate: float, rng: np.random.Generator) -> Floats:
    """Shift features along one random direction, by about `rate` deviations for the oldest sample."""
    features = np.array(x, dtype=np.float64)
    ages = as_ages("age", age, len(features))
    in_range("drift rate", rate, 0, np.inf, open_high=True)
    direction = rng.normal(size=features.shape[1])
    direction *= np.sqrt(features.shape[1]) / np.linalg.norm(direction)
    oldest = ages.max() or 1.0
    return np.asarray(features + np.outer(rate * ages / oldest, direction * features.std(axis=0)))


def _labels(y: Any, attacked: Any, classes: int) -> tuple[Ints, Bools]:
    labels = np.array(y, dtype=np.int64)
    if classes < 2:
        raise InputError(f"a label can only be wrong among two classes or more, got {classes}")
    if labels.ndim != 1 or (len(labels) and not 0 <= labels.min() <= labels.max() < classes):
        raise InputError(f"labels must be one class code per sample, from 0 to {classes - 1}")
    return labels, as_booleans("attacked", attacked, len(labels))


def _numbers(y: Any, attacked: Any) -> tuple[Floats, Bools]:
    values = np.array(y, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("numbers must be one finite value per sample")
    return values, as_booleans("attacked", attacked, len(values))


def _centres(x: Floats, y: Ints, classes: int) -> Floats:
    """Mean of each class; infinitely far away for a class without samples."""
    counts = np.bincount(y, minlength=classes)
    sums = np.zeros((classes, x.shape[1]))
    np.add.at(sums, y, x)
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], np.inf)
