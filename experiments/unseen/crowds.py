"""Five crowds without features: unequal numbers of labels, names as text, and a known true class.

Each is a function of a seed and returns the case that real crowds have (`experiments.crowds`).
"""

from collections.abc import Iterable

import numpy as np

from anml.core.checks import Ints
from experiments.bank.sources import BankRows, Make
from experiments.seen import Case
from experiments.unseen.annotators import (
    copy_answers,
    exact_accuracy,
    guesses,
    item_slips,
    with_slips,
    with_slips_to,
)
from experiments.unseen.parts import Rng, assign_unequally, listed_in, repeated_case

CROWDS: dict[str, Make] = {}


def _without_features(
    truth: Ints, item: Ints, contributor: Ints, label: Ints, bad: Iterable[int] = ()
) -> Case:
    """Build a case of labels alone; contributors without a label do not occur."""
    empty = np.zeros((len(truth), 0))
    names = np.array([f"w{code:03d}" for code in range(contributor.max() + 1)])
    rows = BankRows(empty, truth, empty[:0], truth[:0])
    return repeated_case(
        rows, item, names[contributor], label, names[[code for code in bad if code <= contributor.max()]]
    )


@listed_in(CROWDS)
def _answers_changed(rng: Rng) -> Case:
    """Items have one to nine labels, of which 6% replace an earlier one; eight of sixty spam in four ways."""
    truth = rng.choice(4, 600, p=[0.4, 0.3, 0.2, 0.1])
    item, contributor = assign_unequally(rng, 600, 1 / np.arange(1, 61), rng.integers(1, 10, 600))
    again = rng.permutation(len(item))[: len(item) // 16]
    item, contributor = np.append(item, item[again]), np.append(contributor, contributor[again])
    label = exact_accuracy(rng, truth[item], contributor, np.clip(rng.beta(12, 3, 60), 0.65, 0.97), 4)
    guessed, constant = guesses(rng, len(item), 4), np.zeros_like(item)
    bad = [3, 8, 15, 20, 25, 30, 40, 50]
    for code, given in zip(bad, [guessed, constant, item % 4, (truth[item] + 1) % 4] * 2, strict=True):
        label = np.where(contributor == code, given, label)
    return _without_features(truth, item, contributor, label, bad)


@listed_in(CROWDS)
def _two_conventions(rng: Rng) -> Case:
    """A third of thirty use classes 1 and 2 the other way for half of the items; four copy contributor 5."""
    truth = rng.integers(0, 5, 500)
    item, contributor = assign_unequally(rng, 500, rng.gamma(2, size=30), rng.integers(3, 7, 500))
    label = with_slips(rng, truth[item], 0.08, 5)
    other = (contributor >= 20) & np.isin(label, [1, 2]) & item_slips(rng, item, 0.5)
    label = np.where(other, 3 - label, label)
    label = np.where(contributor < 4, guesses(rng, len(item), 5), label)
    for copier in range(4):
        label = copy_answers(item, contributor, label, copier, 5, np.ones(len(item), dtype=bool))
    return _without_features(truth, item, contributor, label, range(4))


@listed_in(CROWDS)
def _three_hundred_workers(rng: Rng) -> Case:
    """Twelve unequal classes and 300 workers with one to hundreds of labels; every twelfth guesses."""
    share = 0.75 ** np.arange(12)
    truth = rng.choice(12, 1_500, p=share / share.sum())
    item, contributor = assign_unequally(
        rng, 1_500, rng.pareto(1.2, 300) + 0.05, rng.choice([2, 3, 5], 1_500)
    )
    codes, contributor = np.unique(contributor, return_inverse=True)
    near = np.clip(truth + rng.choice([-1, 1], 1_500), 0, 11)
    label = with_slips_to(
        rng, truth[item], np.minimum(rng.beta(2, 12, len(codes)), 0.3)[contributor], near[item]
    )
    bad = np.flatnonzero(codes % 12 == 0)
    guessed = guesses(rng, len(item), share / share.sum())
    return _without_features(
        truth, item, contributor, np.where(np.isin(contributor, bad), guessed, label), bad.tolist()
    )


@listed_in(CROWDS)
def _machines_and_few_people(rng: Rng) -> Case:
    """Six machines of two families label all; five of twenty people take the first one's label in half."""
    truth = (rng.uniform(size=700) < 0.3).astype(np.int64)
    item, contributor = assign_unequally(rng, 700, np.ones(20), rng.integers(0, 4, 700))
    item = np.append(item, np.repeat(np.arange(700), 6))
    contributor = np.append(contributor, np.tile(np.arange(20, 26), 700))
    families = np.array([item_slips(rng, item, 0.15), item_slips(rng, item, 0.20)])
    slipped = families[(contributor >= 23).astype(np.int64), np.arange(len(item))] & (contributor >= 20)
    label = with_slips(
        rng, np.where(slipped, 1 - truth[item], truth[item]), np.where(contributor < 20, 0.1, 0.04), 2
    )
    for copier in range(5):
        label = copy_answers(item, contributor, label, copier, 20, rng.uniform(size=len(item)) < 0.5)
    return _without_features(truth, item, contributor, label)


@listed_in(CROWDS)
def _languages(rng: Rng) -> Case:
    """Items have one of four languages; forty annotators label their own, and six label all but know one."""
    truth, language = rng.integers(0, 3, 800), rng.choice(4, 800, p=[0.5, 0.25, 0.15, 0.1])
    item, contributor = assign_unequally(
        rng, 800, np.append(rng.gamma(1.5, size=40) + 0.1, np.full(6, 2.0)), rng.integers(3, 8, 800)
    )
    own = contributor % 4 == language[item]
    used = own | (contributor >= 40)
    item, contributor, own = item[used], contributor[used], own[used]
    label = with_slips(rng, truth[item], 0.08, 3)
    return _without_features(
        truth, item, contributor, np.where(own, label, guesses(rng, len(item), 3)), range(40, 46)
    )
