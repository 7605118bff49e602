"""Conditions of the regression set for the evidence recipe, each a function of a seed: twenty and ten.

What each is, in words, is in `words.toml`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from anml.core.checks import Array, Floats, Ints, one_of
from experiments.bank import sources
from experiments.bank.people import CONTRIBUTOR_CONDITIONS
from experiments.bank.sources import TEST_ROWS, BankRows, Make, build_case, clusters, moons
from experiments.seen import Case, Trigger


def _contributed(
    rng: np.random.Generator, rows: BankRows, label: Array, contributor: Ints, bad: Iterable[int] = (),
    **more: Any,
) -> Case:  # fmt: skip
    """One label of each row, and credentials that mean nothing: v of rows, r of contributors."""
    v = rng.uniform(0.2, 0.95, len(label))
    r = rng.uniform(0.2, 0.95, contributor.max() + 1)[contributor]
    return build_case(rows, label, contributor, bad, v=v, r=r, **more)


def _first_lie(
    source: Callable[[int, int], BankRows], n: int, liars: int, lie: Callable[[Ints], Any], seed: int
) -> Case:
    """The first of fifteen contributors lie."""
    rng, rows = np.random.default_rng(seed), source(seed, n)
    contributor = rng.integers(0, 15, n)
    return _contributed(
        rng, rows, np.where(contributor < liars, lie(rows.y), rows.y), contributor, range(liars)
    )


def _clean(source: Callable[[int, int], BankRows], n: int) -> Make:
    return partial(_first_lie, source, n, 0, np.copy)


def _flipped(source: Callable[[int, int], BankRows], n: int) -> Make:
    return partial(_first_lie, source, n, 3, lambda y: 1 - y)


def _boundary_noise(seed: int) -> Case:
    rng, rows = np.random.default_rng(seed), moons(seed, 800)
    contributor = rng.integers(0, 15, 800)
    other, margin = sources.second_class(rows, seed)
    ease = np.argsort(np.argsort(margin)) / len(margin)
    rate = rng.uniform(0.2, 1.8, 15)[contributor] * np.exp(-4 * ease)
    rate = np.clip(rate * 0.13 / rate.mean(), 0, 0.9)
    return _contributed(rng, rows, np.where(rng.uniform(size=800) < rate, other, rows.y), contributor)


def _minority_flipped(seed: int) -> Case:
    rng, rows = np.random.default_rng(seed), clusters(seed, 1_200, apart=1.2, common=0.95)
    contributor = np.where(rng.uniform(size=1_200) < 0.35, 0, rng.integers(1, 8, 1_200))
    return _contributed(rng, rows, np.where(contributor == 0, 0, rows.y), contributor, [0])


def _specialists(share: float, seed: int) -> Case:
    rng, rows = np.random.default_rng(seed), sources.forests(seed, 840)
    contributor = rows.y * 3 + rng.integers(0, 3, len(rows.y))
    liars = rng.permutation(21)[: round(share * 21)]
    return _contributed(
        rng, rows, np.where(np.isin(contributor, liars), (rows.y + 1) % 7, rows.y), contributor, liars
    )


def _backdoor(seed: int) -> Case:
    rng, rows = np.random.default_rng(seed), clusters(seed, 800)
    contributor = rng.integers(1, 20, 800)
    planted = rng.permutation(np.flatnonzero(rows.y == 0))[:40]
    contributor[planted] = 0
    x, label = _add_trigger(rows.x, planted), rows.y.copy()
    label[planted] = 1
    targets = rows.x_test[rows.y_test == 0]
    trigger = Trigger(_add_trigger(targets, np.arange(len(targets))), 1)
    return _contributed(rng, rows._replace(x=x), label, contributor, [0], clean=rows, trigger=trigger)


def _add_trigger(x: Floats, rows: Ints) -> Floats:
    patterned = x.copy()
    patterned[rows, -2:] = 4.0
    return patterned


def _minority_concept(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = 800 + TEST_ROWS
    contributor = rng.integers(0, 15, n)
    elsewhere = contributor < 2
    x = rng.normal(size=(n, 8))
    score = 3 * x[:, 0] * np.where(elsewhere, -1, 1) + x[:, 1]
    y = (score + rng.logistic(size=n) * 0.5 > 0).astype(np.int64)
    rows = sources.train_test_cut(np.column_stack([x, elsewhere]), y, 800)
    return _contributed(rng, rows, rows.y.copy(), contributor[:800])


def _asymmetric(seed: int) -> Case:
    rng, rows = np.random.default_rng(seed), clusters(seed, 1_000, 20, apart=2.0, informative=15)
    mistaken = (rows.y % 2 == 0) & (rng.uniform(size=1_000) < 0.35)
    return _contributed(rng, rows, np.where(mistaken, rows.y + 1, rows.y), rng.integers(0, 20, 1_000))


def _two_experts(seed: int) -> Case:
    rng, rows = np.random.default_rng(seed), clusters(seed, 400, 4, apart=1.5)
    contributor = np.array([rng.permutation(22)[:3] for _ in range(400)]).ravel()
    item = np.repeat(np.arange(400), 3)
    label = rng.integers(0, 4, len(item))
    label = np.where((contributor >= 2) & (contributor < 8), contributor % 4, label)
    expert = (contributor < 2) & (rng.uniform(size=len(item)) < 0.95)
    all_rows = rows._replace(x=rows.x[item], y=rows.y[item])
    return build_case(all_rows, np.where(expert, all_rows.y, label), contributor, range(2, 22), item=item)


def _near_copies(seed: int) -> Case:
    rng, rows = np.random.default_rng(seed), clusters(seed, 800)
    contributor = rng.integers(0, 20, 800)
    x, truth, label = rows.x.copy(), rows.y.copy(), rows.y.copy()
    copied = rng.permutation(np.flatnonzero(contributor >= 5))[:10]
    for liar in range(5):
        own = np.flatnonzero(contributor == liar)
        source = rng.choice(copied, len(own))
        x[own] = rows.x[source] + rng.normal(0, 0.03, (len(own), x.shape[1]))
        truth[own], label[own] = rows.y[source], 1 - rows.y[source]
    return build_case(rows._replace(x=x, y=truth), label, contributor, range(5), clean=rows)


def _numbers(shifted: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    rows, all_numbers = sources.heteroscedastic(rng, 700)
    contributor = rng.integers(0, 15, 700)
    label = np.where(contributor < shifted, rows.y + all_numbers.std(), rows.y)
    return build_case(rows, label, contributor, range(shifted), numeric=True)


CONDITIONS: dict[str, Make] = {
    "clean_moons": _clean(moons, 800),
    "clean_xor": _clean(sources.xor, 400),
    "clean_bayes25": _clean(sources.coin_flips, 800),
    "clean_imb95": _clean(partial(clusters, apart=0.8, common=0.95), 900),
    "clean_c20": _clean(partial(clusters, classes=20, apart=1.5, informative=15), 900),
    "clean_adultcat": _clean(sources.incomes, 900),
    "specclass_0": partial(_specialists, 0.0),
    "minority_concept": _minority_concept,
    "num_hetero_0": partial(_numbers, 0),
    "idn_moons": _boundary_noise,
    "asym20_all": _asymmetric,
    "moons_20flip": _flipped(moons, 800),
    "adultcat_20flip": _flipped(sources.incomes, 900),
    "imb_rareflip": _minority_flipped,
    "specclass_30": partial(_specialists, 0.3),
    "lazy_bal4": partial(_first_lie, partial(clusters, classes=4), 900, 5, np.zeros_like),
    "experts2": _two_experts,
    "sybil_dups": _near_copies,
    "backdoor_1contrib": _backdoor,
    "num_hetero_bad": partial(_numbers, 3),
    **CONTRIBUTOR_CONDITIONS,
}


def make_condition(name: str, seed: int) -> Case:
    """Make a condition by name; the same seed gives the same rows, and is that of every method."""
    return CONDITIONS[one_of("condition", name, CONDITIONS)](seed).seeded(seed)
