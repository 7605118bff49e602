"""One trial for every cited system: the same rows, contributors, credentials and server set for all of them.

What systems see (`Served`) is apart from what is true, which scores them and makes the oracle.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from experiments.cases import ATTACKS as ON_LABELS
from experiments.cases import make_case
from experiments.seen import Case, MethodInput, Trigger
from experiments.spec import Setting, random_stream

# Rows of the server's clean set, at most, and which part of the test rows that may be.
ROOT, OF_TEST = 100, 3
# Which part of the contributed rows is held out to choose rates by; whoever has few rows keeps so many.
HELD_OUT, MIN_ROWS_KEPT = 7, 2
# Backdoor: this share of an attacker's rows carries the pattern, in so many features, and the target's label.
PLANTED, PATTERN, MARK, TARGET = 0.5, 3, 4.0, 0


@dataclass(frozen=True, eq=False, kw_only=True)
class SystemInput(MethodInput):
    """Inputs of a system: contributed rows, and optional inputs.

    Optional inputs are the number of attackers (people, not identities), the server's small clean set
    (`root`), the validation part (`held`: rows with their given labels that are not trained on) and
    contributors known to be honest (`trusted`). Systems must not use two simulated attacks: clients in
    `noise_updates` send noise as their update, and `liars` vote for each other.
    """

    malicious: int
    root_x: Floats
    root_y: Ints
    held_x: Floats
    held_y: Ints
    trusted: Ints
    noise_updates: Bools
    liars: Bools

    @property
    def clients(self) -> int:
        """Number of contributors."""
        return len(self.rows)


class Trial(Case):
    """A case in which systems may ask for more."""

    seen: SystemInput


def make_trial(setting: Setting, trial: int, seed: int) -> Trial:
    """Simulate one trial; free riders and backdoors start from honest labels."""
    plain = setting.attack in ON_LABELS
    case = make_case(setting if plain else replace(setting, attack="flip"), trial, seed)
    inputs, truth = replace(case.seen, contributor=case.seen.who), case.truth
    rng = random_stream(seed, trial, "cited", setting.dataset)
    if not plain:
        x, y, wrong = EXTRA_ATTACKS[setting.attack](inputs.x.copy(), truth.y.copy(), truth.bad, rng)
        inputs, truth = replace(inputs, x=x, y=y), replace(truth, wrong=wrong)
    if setting.attack == "backdoor":
        truth = replace(truth, trigger=Trigger(_marked(truth.x_test[truth.y_test != TARGET]), TARGET))
    bad = case.bad
    root, test = _server_set(truth.y_test, rng)
    held = _held_out(inputs.who, rng)
    left = Case(inputs, truth).part(~held)
    known = SystemInput(
        **{field.name: getattr(left.seen, field.name) for field in fields(MethodInput)},
        malicious=round(setting.bad * setting.contributors), root_x=truth.x_test[root],
        root_y=truth.y_test[root], held_x=inputs.x[held], held_y=inputs.y[held],
        trusted=rng.permutation(np.flatnonzero(~bad))[:2],
        noise_updates=bad if setting.attack == "made-up" else np.zeros_like(bad), liars=bad,
    )  # fmt: skip
    return Trial(known, replace(left.truth, x_test=truth.x_test[test], y_test=truth.y_test[test]))


def _server_set(y: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Some of the test rows, at least one of every class, become the server's clean set."""
    order = rng.permutation(len(y))
    first = [int(order[y[order] == label][0]) for label in np.unique(y)]
    rest = [int(row) for row in order if row not in set(first)]
    root = np.array((first + rest)[: max(len(first), min(ROOT, len(order) // OF_TEST))])
    return root, np.setdiff1d(order, root)


def _held_out(contributor: Ints, rng: np.random.Generator) -> Bools:
    """Rows at random, of contributors who keep some."""
    held, left = np.zeros(len(contributor), dtype=bool), np.bincount(contributor)
    for row in rng.permutation(len(contributor)):
        if held.sum() >= len(contributor) // HELD_OUT:
            break
        if left[contributor[row]] > MIN_ROWS_KEPT:
            held[row] = True
            left[contributor[row]] -= 1
    return held


def _copied(x: Floats, y: Ints, bad: Bools, rng: np.random.Generator) -> tuple[Floats, Ints, Bools]:
    """Free riders: rows of the honest, sent again under another name."""
    source = rng.choice(np.flatnonzero(~bad), int(bad.sum()))
    x[bad], y[bad] = x[source], y[source]
    return x, y, np.zeros(len(y), dtype=bool)


def _fabricated(x: Floats, y: Ints, bad: Bools, rng: np.random.Generator) -> tuple[Floats, Ints, Bools]:
    """Free riders: every feature from another row, and any label; clients send noise for an update."""
    count = int(bad.sum())
    x[bad] = np.column_stack([rng.choice(column, count) for column in x.T])
    y[bad] = rng.choice(y, count)
    return x, y, bad.copy()


def _planted(x: Floats, y: Ints, bad: Bools, rng: np.random.Generator) -> tuple[Floats, Ints, Bools]:
    """A backdoor: part of the attackers' rows carries a pattern and the label of its target."""
    planted = bad & (rng.uniform(size=len(y)) < PLANTED)
    wrong = planted & (y != TARGET)
    x[planted] = _marked(x[planted])
    y[planted] = TARGET
    return x, y, wrong


def _marked(x: Floats) -> Floats:
    marked = x.copy()
    marked[:, -PATTERN:] = MARK
    return marked


# Attacks beside those on labels, from honest ones to features, labels, and which are wrong.
EXTRA_ATTACKS = {"copies": _copied, "made-up": _fabricated, "backdoor": _planted}
ATTACKS = (*ON_LABELS, *EXTRA_ATTACKS)
