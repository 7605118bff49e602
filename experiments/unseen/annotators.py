"""Behaviours of annotators: functions of a random generator and of the labels that a careful one gives."""

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from experiments.unseen.parts import Rng


def with_slips(rng: Rng, label: Ints, rate: float | Floats, classes: int) -> Ints:
    """Replace a share of the labels by another class, all others alike."""
    other = (label + rng.integers(1, classes, len(label))) % classes
    return np.where(rng.uniform(size=len(label)) < rate, other, label)


def with_slips_to(rng: Rng, label: Ints, rate: float | Floats, other: Ints) -> Ints:
    """Replace a share of the labels by a stated other label."""
    return np.where(rng.uniform(size=len(label)) < rate, other, label)


def sibling(label: Ints) -> Ints:
    """Return the other class of each pair 0 and 1, 2 and 3, and further."""
    return label ^ 1


def guesses(rng: Rng, n: int, shares: int | Floats) -> Ints:
    """Draw labels without the item: uniformly over a number of classes, or with given shares."""
    return rng.integers(0, shares, n) if isinstance(shares, int) else rng.choice(len(shares), n, p=shares)


def repeat_previous(label: Ints, contributor: Ints, repeats: Bools) -> Ints:
    """Repeat the contributor's previous label in the marked rows, in the order of the rows."""
    given, last = label.copy(), dict[int, int]()
    for row, code in enumerate(contributor.tolist()):
        if repeats[row] and code in last:
            given[row] = last[code]
        last[code] = int(given[row])
    return given


def copy_answers(item: Ints, contributor: Ints, label: Ints, copier: int, source: int, copied: Bools) -> Ints:
    """Copy the source's label of the same item in the copier's marked rows, where the source has one."""
    answers = dict(
        zip(item[contributor == source].tolist(), label[contributor == source].tolist(), strict=True)
    )
    given = label.copy()
    for row in np.flatnonzero((contributor == copier) & copied):
        given[row] = answers.get(int(item[row]), label[row])
    return given


def session_progress(contributor: Ints, length: int) -> Floats:
    """Return the position of each row in its contributor's current session, from 0 to 1."""
    count: dict[int, int] = {}
    place = np.empty(len(contributor))
    for row, code in enumerate(contributor.tolist()):
        place[row] = count.get(code, 0) % length / length
        count[code] = count.get(code, 0) + 1
    return place


def item_slips(rng: Rng, item: Ints, rate: float) -> Bools:
    """Mark the rows of a random share of items: contributors with one such draw slip on the same items."""
    slipped: Bools = rng.uniform(size=item.max() + 1) < rate
    return slipped[item]


def exact_accuracy(rng: Rng, truth: Ints, contributor: Ints, accuracy: Floats, classes: int) -> Ints:
    """Label so that each contributor is right in exactly the stated share of their rows."""
    label = truth.copy()
    for code, share in enumerate(accuracy):
        own = rng.permutation(np.flatnonzero(contributor == code))
        wrong = own[round(share * len(own)) :]
        label[wrong] = with_slips(rng, label[wrong], 1.0, classes)
    return label
