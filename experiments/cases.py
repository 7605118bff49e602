"""Cases made from a setting; each purpose has its own randomness, so that conditions compare in pairs."""

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from anml.core.checks import Bools, Floats, Ints
from anml.core.errors import InputError
from anml.core.stats import standardise
from anml.signals.freshness import Decay
from experiments import attacks, scenarios
from experiments.data import Dataset, load_dataset
from experiments.seen import Case, GroundTruth, MethodInput
from experiments.spec import Setting, random_stream


def digest(*parts: Any) -> str:
    """The same text for the same arrays and values."""
    result = hashlib.sha256()
    for part in parts:
        result.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return result.hexdigest()


def make_case(setting: Setting, trial: int, seed: int) -> Case:
    """Simulate one data set."""

    def rng(purpose: str) -> np.random.Generator:
        return random_stream(seed, trial, purpose, setting.dataset)

    data = load_dataset(setting.dataset)
    train, test = split(data, setting, rng("split"))
    item = np.repeat(np.arange(len(train)), setting.labels) if setting.labels > 1 else None
    train = np.repeat(train, setting.labels)
    spread = data.x[train].std(axis=0)
    x_test = (data.x[test] - data.x[train].mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    x = standardise(data.x[train])
    truth = data.y[train]
    if setting.scatter:  # honest labels of one thing are not quite the same number
        truth = truth + rng("scatter").normal(0.0, setting.scatter * truth.std(), len(truth))
    n = len(truth)
    contributor, bad = _contributors(setting, n, rng("bad"))
    if contributor is not None and setting.sybils > 1:
        contributor = attacks.sybil_split(contributor, bad, setting.sybils, rng("sybils"))
    age = rng("age").integers(0, setting.periods, n) * (setting.oldest / max(1, setting.periods - 1))
    if setting.drift == "feature":
        x = attacks.drift_features(x, age, setting.drift_rate, rng("drift"))
    turned = bad if contributor is None else attacks.delay_attack(contributor, bad, setting.honest_first)
    x, y = ATTACKS[setting.attack](Target(x, truth, turned, data.classes, setting, rng("attack")))
    lies = turned & (y != truth)
    if setting.drift == "label":
        y = attacks.drift_labels(y, age, setting.drift_rate, data.classes, rng("drift"))
    tier = scenarios.assign_tiers(bad, rng("tier")) if setting.scenario == "tiers" else None
    if tier is not None:
        # Honest mistakes of legitimate contributors, by tier; attackers are wrong already.
        chance, errors = np.array([0.0, *(level.wrong for level in scenarios.TIERS[1:])])[tier], rng("errors")
        y = attacks.flip_labels(y, errors.uniform(size=n) < chance, data.classes, errors)
    v, r = _credentials(setting, bad, tier, rng("credentials"))
    y_test, unit = data.y[test], 1.0
    if data.classes == 1:  # in units of their own spread, about their mean
        centre, unit = float(y.mean()), float(y.std()) or 1.0
        y, y_test = (y - centre) / unit, (y_test - centre) / unit
    wrong = lies | (y != truth) if data.classes > 1 else turned
    ages = age if np.ptp(Decay(setting.decay)(age)) > 0 else None
    seed = int(rng("network").integers(2**31))
    return Case(
        MethodInput(x, y, data.classes, contributor, item, v, r, ages, seed),
        GroundTruth(x_test, y_test, truth if data.classes > 1 else None, wrong, bad, tier, unit=unit),
    )


def split(data: Dataset, setting: Setting, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """70/30 stratified split of the rows used, then the share of the training part."""

    def part(rows: Ints, **size: float) -> Any:
        strata = data.y[rows] if data.classes > 1 else None
        return train_test_split(rows, stratify=strata, random_state=int(rng.integers(2**31)), **size)

    rows = np.arange(len(data.y))
    if setting.size:
        rows = rng.permutation(rows)[: setting.size]
    try:
        train, test = part(rows, test_size=0.3)
        if setting.fraction < 1:
            train, _ = part(train, train_size=setting.fraction)
        return train, test
    except ValueError as error:  # scikit-learn's, where a class has too few rows
        raise InputError(
            f"{setting.dataset} has too few rows to be split at size = {setting.size} and "
            f"fraction = {setting.fraction:g}: {str(error).rstrip('.')}"
        ) from None


def _contributors(setting: Setting, n: int, rng: np.random.Generator) -> tuple[Ints | None, Bools]:
    if not setting.contributors:
        return None, attacks.random_subset(n, setting.bad, rng)
    if setting.labels > 1:
        # Nobody labels a thing twice.
        order = rng.permuted(np.tile(np.arange(setting.contributors), (n // setting.labels, 1)), axis=1)
        holder = order[:, : setting.labels].ravel()
    else:
        holder = rng.permutation(n) % setting.contributors
    return holder, attacks.random_subset(setting.contributors, setting.bad, rng)[holder]


class Target(NamedTuple):
    """Inputs of an attack: samples, mask of malicious contributors, setting, and random generator."""

    x: Floats
    y: Any
    bad: Bools
    classes: int
    setting: Setting
    rng: np.random.Generator


def _mixed(on: Target) -> tuple[Floats, Any]:
    """Obvious flips, a share of them replaced by subtle ones."""
    subtle = on.bad & (on.rng.uniform(size=len(on.y)) < on.setting.subtle)
    plain = on.bad & ~subtle
    if on.setting.obvious == "offset":
        obvious = attacks.offset_labels(on.y, plain, on.classes)
    else:
        obvious = attacks.flip_labels(on.y, plain, on.classes, on.rng)
    return on.x, np.where(subtle, attacks.lookalike_labels(on.x, on.y, subtle, on.classes), obvious)


def _pairwise_confusion(on: Target) -> tuple[Floats, Any]:
    """Everybody takes classes for the same look-alikes, some far more often than others."""
    slips = on.rng.uniform(size=len(on.y)) < np.where(on.bad, on.setting.often, on.setting.seldom)
    return on.x, attacks.lookalike_labels(on.x, on.y, slips, on.classes)


# Features and labels after each attack.
ATTACKS: dict[str, Callable[[Target], tuple[Floats, Any]]] = {
    "flip": lambda on: (on.x, attacks.flip_labels(on.y, on.bad, on.classes, on.rng)),
    "mixed": _mixed,
    "aligned": lambda on: attacks.aligned_poison(on.x, on.y, on.bad, on.classes, on.setting.pull),
    "confused": _pairwise_confusion,
    "collude": lambda on: (on.x, attacks.shift_to_next_class(on.y, on.bad, on.classes)),
    "shift": lambda on: (on.x, attacks.shift_targets(on.y, on.bad, on.rng)),
    "bias": lambda on: (on.x, attacks.shift_targets(on.y, on.bad, deviations=1.0)),
    "noisy": lambda on: (on.x, attacks.noisy_targets(on.y, on.bad, on.rng)),
    "unit": lambda on: (on.x, attacks.rescale_targets(on.y, on.bad)),
    "random": lambda on: (on.x, attacks.random_targets(on.y, on.bad, on.rng)),
}

# Credentials that are not one of `experiments.scenarios.SCENARIOS`.
CREDENTIALS = (*scenarios.SCENARIOS, "tiers", "correlated", "none")


def _credentials(
    setting: Setting, bad: Bools, tier: Ints | None, rng: np.random.Generator
) -> tuple[Floats | None, Floats | None]:
    if setting.scenario == "none":
        return None, None
    if setting.scenario == "correlated":
        v, r = scenarios.correlated_credentials(bad, setting.correlation, rng)
    elif tier is not None:
        v, r = scenarios.tiered_credentials(tier, rng)
    else:
        v, r = scenarios.draw_credentials(bad, setting.scenario, rng)
    if setting.faked:
        v, r = scenarios.fake_credentials(v, r, bad, rng, share=setting.faked)
    return v, r
