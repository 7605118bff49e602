"""Ten conditions in which people are easily misjudged, each a function of a seed.

Bad is only who lies, does not look, or is careless by 25 points of accuracy or more.
"""

import numpy as np

from anml.core.checks import Floats, Ints
from experiments.bank import sources
from experiments.bank.sources import TEST_ROWS, BankRows, Make, build_case, clusters
from experiments.seen import Case

# Metres per second in a knot.
KNOT = 0.514


def _random(seed: int) -> np.random.Generator:
    """Draws of contributors, apart from those of the rows."""
    return np.random.default_rng([1, seed])


def _with_noise(rng: np.random.Generator, y: Ints, rate: float, classes: int) -> Ints:
    """Labels of which a share is wrong, any other class alike."""
    other = (y + rng.integers(1, classes, len(y))) % classes
    return np.where(rng.uniform(size=len(y)) < rate, other, y)


def _credential(rng: np.random.Generator, mean: Floats, spread: float) -> Floats:
    return np.clip(rng.normal(mean, spread), 0.02, 0.98)


def _skills(seed: int) -> Case:
    """Everybody has a skill of their own, Beta(9, 2), none 25 points below the median; credentials follow it.

    Each is right on exactly that share of their rows: by chance alone nobody becomes worse than meant.
    """
    rng, rows = _random(seed), sources.blobs(seed, 1_200, 4, 6)
    contributor = rng.integers(0, 24, 1_200)
    skill = rng.beta(9, 2, 24)
    skill = np.clip(skill, np.median(skill) - 0.20, 0.98)
    label = rows.y.copy()
    for code in range(24):
        own = rng.permutation(np.flatnonzero(contributor == code))
        wrong = own[round(skill[code] * len(own)) :]
        label[wrong] = _with_noise(rng, label[wrong], 1.0, 4)
    v = _credential(rng, skill[contributor] - 0.2, 0.15)
    return build_case(rows, label, contributor, v=v, r=_credential(rng, skill, 0.08)[contributor])


def _expert_among_mistaken(seed: int) -> Case:
    rng, rows = _random(seed), clusters(seed, 1_200, 3)
    contributor = np.where(rng.uniform(size=1_200) < 0.08, 0, rng.integers(1, 15, 1_200))
    wrong = (contributor > 0) & (rng.uniform(size=1_200) < 0.35)
    step = np.where(rng.uniform(size=1_200) < 0.75, 1, 2)
    return build_case(rows, np.where(wrong, (rows.y + step) % 3, rows.y), contributor)


def _machine_confuses_a_pair(seed: int) -> Case:
    rng, rows = _random(seed), sources.digits(seed, 1_100)
    machine = rng.uniform(size=1_100) < 0.6
    contributor = np.where(machine, 0, rng.integers(1, 13, 1_100))
    swapped = np.isin(rows.y, [4, 9]) & (rng.uniform(size=1_100) < 0.65)
    by_machine = np.where(swapped, 13 - rows.y, rows.y)
    return build_case(rows, np.where(machine, by_machine, _with_noise(rng, rows.y, 0.07, 10)), contributor)


def _lenient_and_severe(seed: int) -> Case:
    rng = _random(seed)
    x, direction = rng.normal(size=(1_300 + TEST_ROWS, 10)), rng.normal(size=10)
    worth = x @ direction / np.linalg.norm(direction) + 0.3 * x[:, 0] * x[:, 1]
    worth = worth / worth.std()
    limits = np.quantile(worth, [0.12, 0.35, 0.65, 0.88])
    rows = sources.train_test_cut(x, np.digitize(worth, limits), 1_300)
    contributor = rng.integers(0, 12, 1_300)
    shift = rng.permutation(np.linspace(-0.27, 0.27, 12))[contributor]
    label = np.digitize(worth[:1_300] + shift + rng.normal(0, 0.15, 1_300), limits)
    v = _credential(rng, 0.85 - 0.22 * np.abs(label - 2), 0.08)
    return build_case(rows, label, contributor, v=v, r=rng.uniform(0.3, 0.9, 12)[contributor])


def _lazy_from_the_middle(seed: int) -> Case:
    rng, rows = _random(seed), sources.forests(seed, 1_200, (1, 2, 4, 6))
    n = len(rows.y)
    contributor, time = rng.integers(0, 10, n), np.arange(n) / n
    lazy = (contributor < 2) & (time > 0.5)
    label = np.where(lazy, rng.integers(0, 4, n), _with_noise(rng, rows.y, 0.05, 4))
    return build_case(rows, label, contributor, [0, 1], age=time.max() - time)


def _hard_rows_for_the_expert(seed: int) -> Case:
    rng, rows = _random(seed), sources.digits(seed, 1_100)
    other, margin = sources.second_class(rows, seed)
    ease = np.argsort(np.argsort(margin, kind="stable")) / 1_100
    contributor = np.where(ease < 0.15, 0, rng.integers(1, 14, 1_100))
    label = _with_noise(rng, rows.y, 0.04, 10)
    label = np.where(contributor == 0, np.where(rng.uniform(size=1_100) < 0.10, other, rows.y), label)
    guessed = np.isin(contributor, [1, 2]) & (ease < 0.5)
    return build_case(rows, np.where(guessed, rng.integers(0, 10, 1_100), label), contributor, [1, 2])


def _few_rows_each(seed: int) -> Case:
    rng = _random(seed)
    counts = rng.integers(3, 9, 200)
    n = int(counts.sum())
    rows = clusters(seed, n, 4, apart=1.2)
    contributor = rng.permutation(np.repeat(np.arange(200), counts))
    spammers = np.sort(rng.permutation(200)[:20])
    label = np.where(np.isin(contributor, spammers), rng.integers(0, 4, n), _with_noise(rng, rows.y, 0.05, 4))
    return build_case(rows, label, contributor, spammers)


def _one_class_inverted(seed: int) -> Case:
    rng, rows = _random(seed), clusters(seed, 950, 3)
    contributor = np.where(rng.uniform(size=950) < 0.18, 0, rng.integers(1, 12, 950))
    turned = (contributor == 0) & (rows.y == 2)
    return build_case(rows, np.where(turned, 0, _with_noise(rng, rows.y, 0.03, 3)), contributor, [0])


def _metres_for_knots(seed: int) -> Case:
    rng, n = _random(seed), 900 + TEST_ROWS
    station = np.where(rng.uniform(size=n) < 0.2, 2, rng.integers(0, 10, n))
    height = rng.uniform(0, 0.6, 10)
    height[2], height[6] = 0.3, 2.2
    x = np.column_stack([rng.normal(size=(n, 6)), height[station] + rng.normal(0, 0.15, n)])
    mean = 14 + 3 * x[:, 0] + 2 * np.sin(2 * x[:, 1]) + 1.5 * x[:, 2] * (x[:, 3] > 0) + 4 * x[:, 6]
    mean = np.maximum(mean, 0.5)
    wind = np.maximum(mean + rng.normal(0, 1.2, n), 0)
    rows, contributor = BankRows(x[:900], wind[:900], x[900:], mean[900:]), station[:900]
    return build_case(rows, np.where(contributor == 2, KNOT * rows.y, rows.y), contributor, [2], numeric=True)


# What the columns that nine labelling functions look at, and three others, have to do with the state.
SIGNS = np.array([0.7, -0.6, 0.5, -0.6, 0.65, 0.6, -0.55, 0.6, 0.5, 0.0, 0.0, 0.0])
# Functions that can say one class only, and the one that says the opposite.
ONE_SIDED, INVERTED = (0, 1, 4, 7), 5


def _labelling_functions(seed: int) -> Case:
    rng, items = _random(seed), 620
    state = rng.normal(size=items + TEST_ROWS)
    x = np.outer(state, SIGNS) + np.sqrt(1 - SIGNS**2) * rng.normal(size=(len(state), len(SIGNS)))
    truth = (state > 0).astype(np.int64)
    item, contributor, label = (np.empty(0, dtype=np.int64) for _ in range(3))
    for function in range(9):
        sign = x[:items, function] * np.sign(SIGNS[function])
        fires = np.flatnonzero(sign > 0.7 if function in ONE_SIDED else np.abs(sign) > 0.95)
        message = (sign[fires] > 0) != (function == INVERTED)
        item, contributor = np.append(item, fires), np.append(contributor, np.full(len(fires), function))
        label = np.append(label, _with_noise(rng, message.astype(np.int64), 0.03, 2))
    order = np.argsort(item, kind="stable")
    item, contributor, label = item[order], contributor[order], label[order]
    rows = BankRows(x[item], truth[item], x[items:], truth[items:])
    return build_case(rows, label, contributor, [INVERTED], item=np.unique(item, return_inverse=True)[1])


CONTRIBUTOR_CONDITIONS: dict[str, Make] = {
    "beta_skill_crowd": _skills,
    "expert_vs_crowd35": _expert_among_mistaken,
    "llm60_confuses_pair": _machine_confuses_a_pair,
    "ordinal_lenient_severe": _lenient_and_severe,
    "drift_lazy_second_half": _lazy_from_the_middle,
    "active_hard_guessers": _hard_rows_for_the_expert,
    "microtask_10spam": _few_rows_each,
    "one_class_attack": _one_class_inverted,
    "reg_units": _metres_for_knots,
    "weak_supervision_lf": _labelling_functions,
}
