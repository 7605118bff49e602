"""Conditions in which items have several labels, each a function of a seed."""

import numpy as np

from experiments.bank.sources import BankRows, Make
from experiments.seen import Case
from experiments.unseen import parts
from experiments.unseen.annotators import copy_answers, exact_accuracy, guesses, item_slips, with_slips
from experiments.unseen.parts import Rng, assign, listed_in, repeated_case

REPEATED: dict[str, Make] = {}


@listed_in(REPEATED)
def _half_copied(rng: Rng) -> Case:
    """Contributor 0 copies half of the answers from contributor 1 and guesses the others."""
    rows = parts.make_topics(rng, 450, 4)
    item, contributor = assign(rng, 450, 8, 3)
    label = with_slips(rng, rows.y[item], 0.07, 4)
    label[contributor == 0] = guesses(rng, int((contributor == 0).sum()), 4)
    copied = item_slips(rng, item, 0.5)
    return repeated_case(rows, item, contributor, copy_answers(item, contributor, label, 0, 1, copied), [0])


@listed_in(REPEATED)
def _nearly_half_spammers(rng: Rng) -> Case:
    """Nine of twenty guess by the class shares; three labels of each item."""
    rows, _ = parts.make_subtypes(rng, 400, 3, shares=[0.5, 0.3, 0.2])
    item, contributor = assign(rng, 400, 20, 3)
    label = with_slips(rng, rows.y[item], 0.10, 3)
    guessed = guesses(rng, len(item), np.array([0.5, 0.3, 0.2]))
    return repeated_case(rows, item, contributor, np.where(contributor < 9, guessed, label), range(9))


@listed_in(REPEATED)
def _two_accounts_careless(rng: Rng) -> Case:
    """One careless person (60% right) answers the same items from two accounts with the same answers."""
    rows, _ = parts.make_subtypes(rng, 350, 4, apart=3.0)
    return _two_accounts(rng, rows, 0.60, [0, 1])


@listed_in(REPEATED)
def _two_accounts_careful(rng: Rng) -> Case:
    """One careful person (92% right) answers the same items from two accounts with the same answers."""
    rows, _ = parts.make_subtypes(rng, 350, 4, apart=3.0)
    return _two_accounts(rng, rows, 0.92, [])


def _two_accounts(rng: Rng, rows: BankRows, accuracy: float, bad: list[int]) -> Case:
    """Accounts 0 and 1 label the same half of the items; three of ten others label every item."""
    item, contributor = assign(rng, 350, 10, 3)
    shared = rng.permutation(350)[:175]
    label = with_slips(rng, rows.y[item], 0.10, 4)
    both = exact_accuracy(rng, rows.y[shared], np.zeros(175, dtype=np.int64), np.array([accuracy]), 4)
    item, label = np.concatenate([item, shared, shared]), np.concatenate([label, both, both])
    return repeated_case(rows, item, np.append(contributor + 2, np.repeat([0, 1], 175)), label, bad)


@listed_in(REPEATED)
def _batches_of_pairs(rng: Rng) -> Case:
    """Each of eight batches has its own two contributors; in one batch both answer alike without looking."""
    rows, _ = parts.make_subtypes(rng, 640, 3, apart=5.0)
    item = np.repeat(np.arange(640), 2)
    contributor = 2 * (item // 80) + np.tile([0, 1], 640)
    label = with_slips(rng, rows.y[item], 0.06, 3)
    return repeated_case(rows, item, contributor, np.where(contributor < 2, item // 5 % 3, label), [0, 1])


@listed_in(REPEATED)
def _scale_read_backwards(rng: Rng) -> Case:
    """Two of twelve read a scale of five grades backwards; three grades of each item."""
    rows, quality = parts.make_grades(rng, 400, 5)
    item, contributor = assign(rng, 400, 12, 3)
    label = np.clip(quality[item] + 0.35 * rng.normal(size=len(item)), 0, 4.9).astype(np.int64)
    return repeated_case(rows, item, contributor, np.where(contributor < 2, 4 - label, label), [0, 1])


@listed_in(REPEATED)
def _truth_is_a_coin(rng: Rng) -> Case:
    """A third of the items lies between two classes, where all contributors and the truth toss a coin."""
    rows, _ = parts.make_subtypes(rng, 400, 2, apart=5.0)
    item, contributor = assign(rng, 400, 9, 3)
    middle = np.arange(400) < 133
    x, y = rows.x.copy(), np.where(middle, rng.integers(0, 2, 400), rows.y)
    x[middle] = rows.x.mean(axis=0) + 0.5 * rng.normal(size=(133, x.shape[1]))
    rate = np.where(middle[item], 0.5, 0.03)
    return repeated_case(rows._replace(x=x, y=y), item, contributor, with_slips(rng, y[item], rate, 2))


@listed_in(REPEATED)
def _judges_of_three_families(rng: Rng) -> Case:
    """Nine automatic judges slip on the items of their family; three people label a quarter; one guesses."""
    rows, _ = parts.make_subtypes(rng, 350, 2, apart=2.0)
    item, contributor = np.repeat(np.arange(350), 13), np.tile(np.arange(13), 350)
    own = np.array([item_slips(rng, item, rate) for rate in (0.18, 0.22, 0.15)])
    family = own[np.minimum(contributor // 3, 2), np.arange(len(item))] & (contributor < 9)
    truth = rows.y[item]
    label = with_slips(rng, np.where(family, 1 - truth, truth), 0.05, 2)
    label = np.where(contributor == 12, guesses(rng, len(item), 2), label)
    used = (contributor < 9) | (contributor == 12) | item_slips(rng, item, 0.25)
    return repeated_case(rows, item[used], contributor[used], label[used], [12])
