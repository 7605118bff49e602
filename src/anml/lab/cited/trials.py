"""One trial for every cited system: the same rows, contributors, credentials and server set for all of them.

What systems see (`Seen`) is apart from what is true (`Truth`), which scores them and makes the oracle.
"""

from dataclasses import dataclass, replace

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.lab.cases import ATTACKS as ON_LABELS
from anml.lab.cases import Case, make_case, stream
from anml.lab.spec import Setting

# Rows of the server's clean set, at most, and which part of the test rows that may be.
ROOT, OF_TEST = 100, 3
# Which part of the contributed rows is held out to choose rates by; whoever has few rows keeps so many.
HELD_OUT, LEFT = 7, 2
# Backdoor: this share of an attacker's rows carries the pattern, in so many features.
PLANTED, PATTERN, MARK = 0.5, 3, 4.0


@dataclass(frozen=True, eq=False)
class Seen:
    """What a system may look at: contributed rows, and what else it may ask for.

    That is how many attackers there are (people, not identities), the server's small clean set (`root`), the
    validation part (`held`: rows with the labels they came with, that nobody trains on) and contributors
    known to be honest (`trusted`). Two things attackers do are no part of it: clients in `noise_updates` send
    noise in place of an update, and `liars` vote for each other.
    """

    x: Floats
    y: Ints
    classes: int
    contributor: Ints
    v: Floats
    r: Floats
    malicious: int
    root_x: Floats
    root_y: Ints
    held_x: Floats
    held_y: Ints
    trusted: Ints
    noise_updates: Bools
    liars: Bools
    seed: int

    @property
    def clients(self) -> int:
        """How many contributors there are."""
        return int(self.contributor.max()) + 1

    def by_client(self, values: Floats) -> Floats:
        """Mean of the rows of each contributor."""
        counts = np.bincount(self.contributor, minlength=self.clients)
        return np.asarray(np.bincount(self.contributor, values, self.clients) / np.maximum(counts, 1))


@dataclass(frozen=True, eq=False)
class Truth:
    """What is true: wrong labels, bad contributors, the test part, and rows with the backdoor's pattern."""

    wrong: Bools
    bad: Bools
    x_test: Floats
    y_test: Ints
    trigger: Floats | None = None
    target: int = 0


def make_trial(setting: Setting, trial: int, seed: int) -> tuple[Seen, Truth]:
    """Simulate one trial; free riders and backdoors start from honest labels."""
    plain = setting.attack in ON_LABELS
    case = make_case(setting if plain else replace(setting, attack="flip"), trial, seed)
    if case.contributor is None:
        case = replace(case, contributor=np.arange(len(case.y)))
    assert case.contributor is not None
    _, who = np.unique(case.contributor, return_inverse=True)
    rng = stream(seed, trial, "cited", setting.dataset)
    x, y, wrong = case.x, case.y, case.wrong
    trigger, target = None, 0
    if not plain:
        truth = make_case(replace(setting, attack="flip", bad=0.0), trial, seed).y
        x, y, wrong = MORE[setting.attack](case.x.copy(), truth.copy(), case.bad, rng)
        if setting.attack == "backdoor":
            trigger = _marked(case.x_test[case.y_test != target])
    count = int(who.max()) + 1
    bad = np.array([case.bad[who == client].any() for client in range(count)])
    root, test = _server_set(case, rng)
    held = _held_out(who, rng)
    seen = Seen(
        x[~held], y[~held], case.classes, who[~held], case.v[~held], case.r[~held],
        round(setting.bad * setting.contributors), case.x_test[root], case.y_test[root], x[held], y[held],
        rng.permutation(np.flatnonzero(~bad))[:2],
        bad if setting.attack == "made-up" else np.zeros(count, dtype=bool), bad, case.seed,
    )  # fmt: skip
    return seen, Truth(wrong[~held], bad, case.x_test[test], case.y_test[test], trigger, target)


def _server_set(case: Case, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Some of the test rows, at least one of every class, become the server's clean set."""
    order = rng.permutation(len(case.y_test))
    first = [int(order[case.y_test[order] == label][0]) for label in np.unique(case.y_test)]
    rest = [int(row) for row in order if row not in set(first)]
    root = np.array((first + rest)[: max(len(first), min(ROOT, len(order) // OF_TEST))])
    return root, np.setdiff1d(order, root)


def _held_out(who: Ints, rng: np.random.Generator) -> Bools:
    """Rows at random, of contributors who keep some."""
    held, left = np.zeros(len(who), dtype=bool), np.bincount(who)
    for row in rng.permutation(len(who)):
        if held.sum() >= len(who) // HELD_OUT:
            break
        if left[who[row]] > LEFT:
            held[row] = True
            left[who[row]] -= 1
    return held


def _copied(x: Floats, y: Ints, bad: Bools, rng: np.random.Generator) -> tuple[Floats, Ints, Bools]:
    """Free riders: rows of the honest, sent again under another name."""
    source = rng.choice(np.flatnonzero(~bad), int(bad.sum()))
    x[bad], y[bad] = x[source], y[source]
    return x, y, np.zeros(len(y), dtype=bool)


def _made_up(x: Floats, y: Ints, bad: Bools, rng: np.random.Generator) -> tuple[Floats, Ints, Bools]:
    """Free riders: every feature from another row, and any label; clients send noise for an update."""
    count = int(bad.sum())
    x[bad] = np.column_stack([rng.choice(column, count) for column in x.T])
    y[bad] = rng.choice(y, count)
    return x, y, bad.copy()


def _planted(x: Floats, y: Ints, bad: Bools, rng: np.random.Generator) -> tuple[Floats, Ints, Bools]:
    """A backdoor: part of the attackers' rows carries a pattern and the label of class 0."""
    planted = bad & (rng.uniform(size=len(y)) < PLANTED)
    wrong = planted & (y != 0)
    x[planted] = _marked(x[planted])
    y[planted] = 0
    return x, y, wrong


def _marked(x: Floats) -> Floats:
    marked = x.copy()
    marked[:, -PATTERN:] = MARK
    return marked


# Attacks beside those on labels, from honest ones to features, labels, and which are wrong.
MORE = {"copies": _copied, "made-up": _made_up, "backdoor": _planted}
ATTACKS = (*ON_LABELS, *MORE)
