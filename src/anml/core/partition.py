"""The contributor model of `evidence/classes.py` for rows in partitions: a pass over them a step, then sums.

A pass takes what is believed of contributors and gives each partition's sums: labels by truth, and how much
likelier each label is by a contributor that is not honest. From the sums of all partitions the next beliefs
follow, in time and memory that depend on the number of contributors alone. Contributors are as specialised as
a fit to a sample says; there are no items, credentials or known labels. While the temperature is held fast,
steps are those of `Annotators`, which a test holds to a millionth.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints
from anml.core.evidence.classes import (
    NOT_HONEST,
    PSEUDO,
    RIGHT,
    STEPS,
    SURE,
    TEMPERATURES,
    Annotators,
    normalised,
)
from anml.core.verdicts import Accusation, accuse, how_they_label

# Rows of a partition that the temperature is tuned on, about.
TUNED_ON = 20_000


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What is believed of contributors and of honest labels before a pass.

    Parameters
    ----------
    noise, temperature, class_prior
        From the fit to a sample.
    size, given, share, usual
        Rows of each contributor (K,), its labels (K, C), share of each label and of each class in all.
    types, base, by_class
        Posterior of the types (K, 3); log-odds that an honest label is right, and by class.
    honest, deviant
        Labels by truth [contributor, label, truth], were it honest, were it deviant; None before a pass.
    odds
        Log Bayes factors of the types against honest (K, 3), by the last pass.
    steps, tune
        Passes so far, and whether the temperature follows the rows.
    """

    noise: str
    temperature: float
    class_prior: float | None
    size: Floats
    given: Floats
    share: Floats
    usual: Floats
    types: Floats
    base: float
    by_class: Floats
    bad_base: float = NOT_HONEST
    honest: Floats | None = None
    deviant: Floats | None = None
    odds: Floats | None = None
    steps: int = 0
    tune: bool = True

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.given.shape[1])

    def right(self) -> Floats:
        """Probability that an honest label is right, by class."""
        if self.noise == "none":
            return np.full(self.classes, special.expit(SURE))
        return np.asarray(special.expit(np.clip(self.base + self.by_class, -12, 12)))

    def wrong_to(self) -> Floats | None:
        """Wrong labels of honest contributors, [truth, label]; None where they are any other class alike."""
        if self.noise != "classes" or self.classes <= 2 or self.honest is None:
            return None
        found = np.einsum("k,kyz->zy", self.types[:, 0], self.honest)
        np.fill_diagonal(found, 0.0)
        return np.asarray(found)

    def pooled(self) -> Floats:
        """The confusion matrix of the other deviants, for each contributor [contributor, label, truth]."""
        assert self.deviant is not None
        counted = self.types[:, 2][:, None, None] * self.deviant
        usual = 0.5 / self.classes + 0.5 * np.eye(self.classes)
        pooled = np.maximum(counted.sum(axis=0) - counted, 0) + 2 * PSEUDO * usual
        return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))


class Posterior(NamedTuple):
    """Of each row of a partition: the truth if its contributor is honest, and if it is deviant (n, C)."""

    honest: Floats
    deviant: Floats


class Sums(NamedTuple):
    """What a partition adds: labels by truth for either type (K, C, C), odds of types and their squares."""

    honest: Floats
    deviant: Floats
    odds: Floats
    squares: Floats
    tuned: Floats

    def plus(self, other: "Sums") -> "Sums":
        """Of both partitions."""
        return Sums(*(a + b for a, b in zip(self, other, strict=True)))


def start(
    fit: Annotators, size: Floats, given: Floats, usual: Floats, base: float, sampled: Ints | None = None
) -> Beliefs:
    """Beliefs before the first pass: settings of a fit to a sample, and what it says of contributors.

    `sampled` are the contributors of the sample, in the order of the fit; who is not among them is as yet
    unknown. Were all unknown, wrong labels of a few would pass for what is usual among the honest, and
    whoever does better would look like a stranger.
    """
    count, classes = given.shape
    types = np.tile([0.88, 0.06, 0.06], (count, 1))
    if sampled is not None:
        types[sampled] = fit.types
    return Beliefs(
        noise=fit.noise, temperature=fit.temperature, class_prior=fit.class_prior, size=size, given=given,
        share=given.sum(axis=0) / given.sum(), usual=usual,
        types=types, base=SURE if fit.noise == "none" else base,
        by_class=np.zeros(classes),
    )  # fmt: skip


def one_pass(
    log_p: Floats, y: Ints, who: Ints, before: Posterior | None, beliefs: Beliefs
) -> tuple[Posterior, Sums]:
    """What is believed of the rows of one partition, and their sums."""
    rows = np.arange(len(y))
    seen = normalised(np.asarray(log_p, dtype=np.float64) / beliefs.temperature)[0]
    honest, deviant = _emissions(y, who, rows, before, beliefs)
    first, second = seen + np.log(honest + 1e-300), seen + np.log(deviant + 1e-300)
    if beliefs.class_prior is not None and before is not None:
        assert beliefs.honest is not None
        assert beliefs.deviant is not None
        first += _specialised(beliefs.honest.sum(axis=1), before.honest, who, beliefs)
        second += _specialised(beliefs.deviant.sum(axis=1), before.deviant, who, beliefs)
    tuned = _tuned(log_p, first - seen, second - seen, who, beliefs)
    log_honest, if_honest = normalised(first)
    log_deviant, if_deviant = normalised(second)
    found = Posterior(np.exp(log_honest), np.exp(log_deviant))
    own = beliefs.given[who, y] - 1 + PSEUDO * beliefs.share[y]
    spam = np.log(own / (beliefs.size[who] - 1 + PSEUDO))
    against = np.column_stack([spam - if_honest, if_deviant - if_honest])
    return found, Sums(
        _by_both(found.honest, y, who, beliefs), _by_both(found.deviant, y, who, beliefs),
        _by_contributor(against, who, len(beliefs.size)), _by_contributor(against**2, who, len(beliefs.size)),
        tuned,
    )  # fmt: skip


def _tried(beliefs: Beliefs) -> list[float]:
    """The temperature, one sharper and one flatter."""
    factor = 1.3 if beliefs.steps < 2 * (STEPS // 6) else 1.12
    now = beliefs.temperature
    return [now, max(now / factor, TEMPERATURES[0]), min(now * factor, TEMPERATURES[1])]


def _tuned(log_p: Floats, first: Floats, second: Floats, who: Ints, beliefs: Beliefs) -> Floats:
    """Log-likelihood of some of the labels at each temperature that is tried."""
    if not beliefs.tune:
        return np.zeros(3)
    # One number for all rows needs few of them, and costs as much as everything else in a pass.
    some = slice(None, None, max(1, len(log_p) // TUNED_ON))
    log_p, first, second = log_p[some], first[some], second[some]
    types, found = beliefs.types[who[some]], []
    for temperature in _tried(beliefs):
        seen = normalised(np.asarray(log_p, dtype=np.float64) / temperature)[0]
        each = types[:, 0] * normalised(seen + first)[1] + types[:, 2] * normalised(seen + second)[1]
        found.append(float(each.sum()))
    return np.array(found)


def _emissions(
    y: Ints, who: Ints, rows: Ints, before: Posterior | None, beliefs: Beliefs
) -> tuple[Floats, Floats]:
    """Probability of each label given every class, by an honest and by a deviant contributor."""
    classes, right = beliefs.classes, beliefs.right()
    to = beliefs.wrong_to()
    if to is None or before is None:
        honest = np.tile((1 - right) / max(classes - 1, 1), (len(y), 1))
    else:
        mine = before.honest * beliefs.types[who, :1]
        mine[rows, y] = 0.0
        others = np.maximum(to[:, y].T - mine, 0) + PSEUDO / (classes - 1)
        honest = (1 - right) * others / (np.maximum(to.sum(axis=1) - mine, 0) + PSEUDO)
    honest[rows, y] = right[y]
    if before is None or beliefs.deviant is None:
        usual = 0.5 / classes + 0.5 * np.eye(classes)
        return honest, usual[y]
    own = np.maximum(beliefs.deviant[who, y] - before.deviant, 0)
    total = np.maximum(beliefs.deviant.sum(axis=1)[who] - before.deviant, 0)
    return honest, (own + 2 * PSEUDO * beliefs.pooled()[who, y]) / (total + 2 * PSEUDO)


def _specialised(counts: Floats, belief: Floats, who: Ints, beliefs: Beliefs) -> Floats:
    """Logs of how much more usual each class is with the contributor than with all, by its other rows."""
    prior = beliefs.class_prior
    assert prior is not None
    others = np.maximum(counts[who] - belief, 0) + prior * beliefs.usual
    return np.asarray(np.log(others / (beliefs.size[who] - 1 + prior)[:, None]) - np.log(beliefs.usual))


def _by_both(belief: Floats, y: Ints, who: Ints, beliefs: Beliefs) -> Floats:
    classes = beliefs.classes
    place = who * classes + y
    sums: list[Any] = [np.bincount(place, column, len(beliefs.size) * classes) for column in belief.T]
    return np.asarray(np.stack(sums, axis=1).reshape(-1, classes, classes))


def _by_contributor(values: Floats, who: Ints, count: int) -> Floats:
    return np.stack([np.bincount(who, column, count) for column in values.T], axis=1)


def learn(beliefs: Beliefs, sums: Sums) -> Beliefs:
    """The next beliefs, from the sums of all partitions."""
    odds = np.column_stack([np.zeros(len(beliefs.size)), sums.odds])
    types, bad_base = beliefs.types, beliefs.bad_base
    # Who is judged by predictions that are still too flat looks deviant, and stays so.
    if beliefs.steps >= STEPS // 6 * (1 + beliefs.tune):
        types, bad_base = _judged(odds, bad_base)
    after = replace(
        beliefs, honest=sums.honest, deviant=sums.deviant, odds=odds, types=types, bad_base=bad_base,
        steps=beliefs.steps + 1, temperature=_tried(beliefs)[int(np.argmax(sums.tuned))],
    )  # fmt: skip
    return after if beliefs.noise == "none" else _moved(after)


def _judged(odds: Floats, bad_base: float) -> tuple[Floats, float]:
    """The posterior of the types, and how usual it is not to be honest."""
    either = bad_base - np.log(2)
    types = special.softmax(odds + np.array([0.0, either, either]), axis=1)
    expected = special.expit(bad_base)
    left = (1 - types[:, 0] - expected).sum()
    step = (left - (bad_base - NOT_HONEST)) / (len(odds) * expected * (1 - expected) + 1)
    return types, float(np.clip(bad_base + np.clip(step, -1, 1), -6.0, 0.0))


def _moved(beliefs: Beliefs) -> Beliefs:
    """One Newton step for how often honest labels are right, in all and by class."""
    assert beliefs.honest is not None
    believed = np.einsum("k,kyz->yz", beliefs.types[:, 0], beliefs.honest)
    right = beliefs.right()
    total = believed.sum(axis=0)
    left, information = np.diag(believed) - total * right, total * right * (1 - right)
    mean, variance = RIGHT
    step = (left.sum() - (beliefs.base - mean) / variance) / (information.sum() + 1 / variance)
    base = float(np.clip(beliefs.base + np.clip(step, -1, 1), 0.0, SURE))
    by_class = beliefs.by_class
    if beliefs.noise == "classes":
        moved = (left - by_class) / (information + 1)
        by_class = np.maximum(by_class + np.clip(moved, -1, 1), -base)
    return replace(beliefs, base=base, by_class=by_class)


def p_correct(log_p: Floats, found: Posterior, who: Ints, beliefs: Beliefs) -> Floats:
    """Probability of every class of each row, the label counted as far as its contributor is trusted."""
    seen = np.exp(normalised(np.asarray(log_p, dtype=np.float64) / beliefs.temperature)[0])
    types = beliefs.types[who]
    return np.asarray(types[:, :1] * found.honest + types[:, 1:2] * seen + types[:, 2:] * found.deviant)


def accused(beliefs: Beliefs, table: Floats, squares: Floats, doubtful: bool) -> Accusation:
    """A verdict on every contributor; `table` are labels by truth [contributor, label, truth], all believed.

    Beyond chance is who is less likely honest than trusted contributors of the same size ever look: by six
    deviations of theirs.
    """
    assert beliefs.odds is not None
    types, size = beliefs.types, np.maximum(beliefs.size, 1)
    trusted = types[:, 0] > 0.5
    rows = max(float(size[trusted].sum()), 1.0)
    mean = beliefs.odds[trusted, 1:].sum(axis=0) / rows
    spread = np.sqrt(np.maximum(squares[trusted].sum(axis=0) / rows - mean**2, 1e-12))
    usual = size[:, None] * mean + 6 * np.sqrt(size)[:, None] * spread
    beyond = (beliefs.odds[:, 1:] > usual).any(axis=1) & bool(trusted.any())
    blind, wrong = how_they_label(table, size, types)
    known: Bools = np.full(len(size), not doubtful)
    return accuse(types, blind, wrong, beyond, known)
