"""Labels of some rows, and what is known of them beside: who gave them, items, credentials, the truth."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.people.copies import copy_groups
from anml.core.stats import group_means

# Log-probability, at most, of what is known not to be.
NEVER = -36.0


class Side(NamedTuple):
    """Side information, as arrays; None where nothing is known.

    Parameters
    ----------
    codes
        Who gave each label, from 0.
    credentials
        What vouches for each row (n, p), in [0, 1].
    items
        Which rows are labels of the same thing, from 0.
    truth
        The right label of each row where it is known: class codes with -1 elsewhere, numbers with NaN.
    wrong
        Rows whose label is known to be wrong, whatever is right.
    when
        When each label was given, as numbers that grow with time.
    """

    codes: Ints | None = None
    credentials: Floats | None = None
    items: Ints | None = None
    truth: Array | None = None
    wrong: Bools | None = None
    when: Floats | None = None


class Rows:
    """What does not change while the model is fitted: labels, who gave them, and sums over them."""

    def __init__(
        self, log_p: Floats, y: Ints, who: Ints, count: int, features: Floats | None = None,
        item: Ints | None = None, voice: Ints | None = None, truth: Array | None = None, wrong: Bools |
        None = None,
    ) -> None:  # fmt: skip
        self.n, self.classes = log_p.shape
        # Sums over classes are what costs most, and are twice as fast with the rows of a class together.
        self.log_p = np.asfortranarray(log_p, dtype=np.float64)
        self.y, self.who, self.count = y, who, count
        self.features = np.zeros((self.n, 0)) if features is None else features
        self.truth, self.wrong = truth, wrong
        self.by = _sums(who, count)
        self.by_both = _sums(who * self.classes + y, count * self.classes)
        self.item, self.voice = item, voice
        self.shared = item is not None and bool(np.bincount(item).max() > 1)
        if self.shared and item is not None:
            voice = np.arange(self.n) if voice is None else voice
            self.voice = voice
            self.by_item, self.by_voice = _sums(item, int(item.max()) + 1), _sums(voice, int(voice.max()) + 1)
            self.loudness = 1 / np.bincount(voice)[voice]
            self.votes = np.bincount(item, self.loudness)[item]

    def vote(self, together: float) -> Floats:
        """What a label counts as among those of its item, where errors on an item go together so far."""
        return np.asarray(1 / (1 + (self.votes - 1) * together))

    def some(self, which: Any) -> "Rows":
        """Some of the rows, without their items."""
        truth, wrong = (None if part is None else part[which] for part in (self.truth, self.wrong))
        return Rows(
            self.log_p[which], self.y[which], self.who[which], self.count, self.features[which],
            truth=truth, wrong=wrong,
        )  # fmt: skip

    def untold(self) -> "Rows":
        """The same rows, with nothing known of their truth."""
        other = copy(self)
        other.truth = other.wrong = None
        return other

    def with_truth(self, seen: Floats) -> Floats:
        """Log-probabilities of the classes, certain where the right label is known."""
        if self.truth is not None:
            known = np.flatnonzero(self.truth >= 0)
            seen[known] = NEVER
            seen[known, self.truth[known]] = 0.0
        if self.wrong is not None and self.wrong.any():
            wrong = np.flatnonzero(self.wrong)
            seen[wrong, self.y[wrong]] = -np.inf
            seen[wrong] -= np.log(np.exp(seen[wrong]).sum(axis=1, keepdims=True))
            seen[wrong, self.y[wrong]] = NEVER
        return seen


def rows_of(log_p: Floats, y: Ints, side: Side) -> Rows:
    """A table in memory as the one slice that it is."""
    n = len(y)
    who = np.zeros(n, dtype=np.int64) if side.codes is None else side.codes
    voice = None
    if side.items is not None and side.codes is not None:
        # Nobody confirms himself: labels of one item by one contributor, or by copies, are one voice.
        group = copy_groups(side.items, who, y)[who]
        voice = np.unique(side.items * (int(who.max()) + 1) + group, return_inverse=True)[1]
    return Rows(
        log_p, y, who, int(who.max()) + 1, design(side.credentials, n, y, side.codes), side.items, voice,
        side.truth, side.wrong,
    )  # fmt: skip


def _sums(codes: Ints, groups: int) -> sparse.csr_array:
    """A matrix that sums rows by group."""
    n = len(codes)
    return sparse.csr_array((np.ones(n), (codes, np.arange(n))), shape=(groups, n))


def by_label(y: Ints, who: Ints, count: int, classes: int) -> Floats:
    """How often each contributor gave each label (contributors, classes)."""
    given = np.bincount(who * classes + y, minlength=count * classes)
    return np.asarray(given.reshape(count, classes), dtype=np.float64)


def design(credentials: Floats | None, n: int, labels: Ints | None = None, who: Ints | None = None) -> Floats:
    """Credentials, their squares and their products, in standard units: (n, 0) where there are none.

    Credentials that go with the class tell nothing of which labels are wrong: by how much those of a
    contributor differ between labels is taken off. Without contributors that cannot be told apart.
    """
    if credentials is None:
        return np.zeros((n, 0))
    if labels is not None and who is not None:
        credentials = credentials - group_means(credentials - group_means(credentials, who), labels)
    count = credentials.shape[1]
    products = [credentials[:, i] * credentials[:, j] for i in range(count) for j in range(i, count)]
    columns = np.column_stack([credentials, *products])
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))


def newton(slope: Floats, hessian: Floats) -> Floats:
    """A Newton step, bounded: it overshoots where the curve is flat."""
    return np.asarray(np.clip(np.linalg.solve(hessian, slope), -1.0, 1.0))
