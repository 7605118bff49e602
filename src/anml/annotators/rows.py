"""Labels of some rows, and what is known of them beside: who gave them, items, credentials, the truth."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special

from anml.annotators.copies import copy_groups_in_memory
from anml.core.checks import Array, Bools, Floats, Ints

# Log-probability, at most, of what is known not to be.
LOG_ZERO = -36.0


class SideInformation(NamedTuple):
    """Side information, as arrays; None where nothing is known.

    `codes`: who gave each label, from 0.
    `credentials`: what vouches for each row (n, p), in [0, 1].
    `items`: which rows are labels of the same thing, from 0.
    `truth`: the right label of each row where it is known: class codes with -1 elsewhere, numbers with NaN.
    `wrong`: rows whose label is known to be wrong, whatever is right.
    `when`: when each label was given, as numbers that grow with time.
    """

    codes: Ints | None = None
    credentials: Floats | None = None
    items: Ints | None = None
    truth: Array | None = None
    wrong: Bools | None = None
    when: Floats | None = None


class InitialStats(NamedTuple):
    """Initial statistics of a fit; they are additive over slices.

    `given`, `features`: label counts of each contributor (K, C), and sums of its features (K, p).
    `low`, `high`: smallest and largest log-probability of each class.
    `shared`, `known`: True if an item has several labels; True if a row has a true label.
    """

    given: Floats
    features: Floats
    low: Floats
    high: Floats
    shared: bool
    known: bool

    def plus(self, other: "InitialStats") -> "InitialStats":
        """Return the statistics of both slices together."""
        return InitialStats(
            self.given + other.given, self.features + other.features, np.minimum(self.low, other.low),
            np.maximum(self.high, other.high), self.shared or other.shared, self.known or other.known,
        )  # fmt: skip


class LabelData:
    """Constant inputs of the EM algorithm: labels, contributor codes and group matrices.

    A slice has all rows of its items. `place` are the positions of its rows in the table of `total` rows.
    """

    def __init__(
        self, log_p: Floats, y: Ints, who: Ints, count: int, features: Floats | None = None,
        item: Ints | None = None, voice: Ints | None = None, truth: Array | None = None, wrong: Bools |
        None = None, place: Ints | None = None, total: int | None = None,
    ) -> None:  # fmt: skip
        self.n, self.classes = log_p.shape
        # Sums over classes are what costs most, and are twice as fast with the rows of a class together.
        self.log_p = np.asfortranarray(log_p, dtype=np.float64)
        self.y, self.who, self.count = y, who, count
        self.features = np.zeros((self.n, 0)) if features is None else features
        self.truth, self.wrong = truth, wrong
        self.by = _group_matrix(who, count)
        self.by_both = _group_matrix(who * self.classes + y, count * self.classes)
        self.place = np.arange(self.n) if place is None else place
        self.total = self.n if total is None else total
        self.item, self.voice = item, voice
        self.shared = item is not None and self.n > 0 and bool(np.bincount(item).max() > 1)
        if self.shared and item is not None:
            voice = np.arange(self.n) if voice is None else voice
            self.voice = voice
            self.by_item, self.by_voice = (
                _group_matrix(item, int(item.max()) + 1),
                _group_matrix(voice, int(voice.max()) + 1),
            )
            self.vote_weight = 1 / np.bincount(voice)[voice]
            self.votes = np.bincount(item, self.vote_weight)[item]

    @property
    def votes_of_rows(self) -> Floats:
        """Votes that each row has: copies share one."""
        return self.vote_weight if self.shared else np.ones(self.n)

    def vote_weight_at(self, together: float) -> Floats:
        """Weight of each row among the votes of its item, at a correlation of errors."""
        return self.vote_weight / (1 + (self.votes - 1) * together) if self.shared else np.ones(self.n)

    def pair(self, number: Ints) -> Ints:
        """Number of each row's contributor and label; `number` is that of each (contributors * classes)."""
        return np.asarray(number[self.who * self.classes + self.y])

    def by_pair(self, number: Ints) -> sparse.csr_array:
        """A matrix that sums rows by contributor and label."""
        return _group_matrix(self.pair(number), int(number.max()) + 1)

    @cached_property
    def item_size(self) -> Floats:
        """Rows of each item."""
        assert self.item is not None
        return np.bincount(self.item).astype(np.float64)

    @cached_property
    def labels_of_item(self) -> Floats:
        """Labels of each row's item."""
        return self.item_size[self.item] if self.shared else np.ones(self.n)

    @cached_property
    def item_truth(self) -> Ints:
        """Known class of each item, -1 where it is unknown."""
        assert self.item is not None
        assert self.truth is not None
        result = np.full(int(self.item.max()) + 1, -1, dtype=np.int64)
        gold = np.flatnonzero(self.truth >= 0)
        result[self.item[gold]] = self.truth[gold]
        return result

    def banned(self) -> Bools:
        """Classes of each row's item that are known to be wrong (n, classes)."""
        assert self.wrong is not None
        item = self.item if self.shared and self.item is not None else np.arange(self.n)
        out = np.zeros((int(item.max(initial=-1)) + 1, self.classes), dtype=bool)
        out[item[self.wrong], self.y[self.wrong]] = True
        return np.asarray(out[item])

    def vote(self, together: float) -> Floats:
        """Weight of each label among those of its item, at an error correlation of `together`."""
        return np.asarray(1 / (1 + (self.votes - 1) * together))

    @property
    def about(self) -> InitialStats:
        """Initial statistics of these rows."""
        given = label_counts(self.y, self.who, self.count, self.classes)
        low, high = self.log_p.min(axis=0, initial=np.inf), self.log_p.max(axis=0, initial=-np.inf)
        known = self.truth is not None and bool((self.truth >= 0).any())
        return InitialStats(given, np.asarray(self.by @ self.features), low, high, self.shared, known)

    def thinned(self, most: int) -> Ints | None:
        """Sample about `most` rows of the whole table, keeping items whole; None if all rows are used."""
        if self.total <= most:
            return None
        first = self.place
        if self.item is not None and self.n:
            earliest = np.full(int(self.item.max()) + 1, self.total)
            np.minimum.at(earliest, self.item, self.place)
            first = earliest[self.item]
        # Hashed, because a fixed stride may select rows of one contributor only.
        scattered = (first.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        return np.flatnonzero(scattered % np.uint64(-(-self.total // most)) == 0)

    def some(self, which: Any) -> "LabelData":
        """Some of the rows: all or none of each item's."""
        parts = (None if part is None else part[which] for part in (self.item, self.voice))
        item, voice = (None if part is None else np.unique(part, return_inverse=True)[1] for part in parts)
        truth, wrong = (None if part is None else part[which] for part in (self.truth, self.wrong))
        return LabelData(
            self.log_p[which], self.y[which], self.who[which], self.count, self.features[which], item, voice,
            truth, wrong,
        )  # fmt: skip

    def with_truth(self, seen: Floats) -> Floats:
        """Log-probabilities of the classes, certain where the right label is known."""
        if self.truth is not None:
            known = np.flatnonzero(self.truth >= 0)
            seen[known] = LOG_ZERO
            seen[known, self.truth[known]] = 0.0
        if self.wrong is not None and self.wrong.any():
            wrong = np.flatnonzero(self.wrong)
            seen[wrong, self.y[wrong]] = -np.inf
            seen[wrong] -= np.log(np.exp(seen[wrong]).sum(axis=1, keepdims=True))
            seen[wrong, self.y[wrong]] = LOG_ZERO
        return seen


def make_label_data(log_p: Floats, y: Ints, side: SideInformation) -> LabelData:
    """A table in memory as the one slice that it is."""
    n, classes = log_p.shape
    who = np.zeros(n, dtype=np.int64) if side.codes is None else side.codes
    count, voice, features = int(who.max()) + 1, None, np.zeros((n, 0))
    if side.items is not None and side.codes is not None:
        voice = copy_aware_votes(side.items, who, copy_groups_in_memory(side.items, who, y))
    if side.credentials is not None:
        features = credential_design(side.credentials, y, side.codes, classes)
    return LabelData(log_p, y, who, count, features, side.items, voice, side.truth, side.wrong)


def copy_aware_votes(items: Ints, who: Ints, group: Ints) -> Ints:
    """Return the vote of each row: labels of one item by one contributor or one copy group are one vote."""
    return np.asarray(np.unique(items * (int(group.max()) + 1) + group[who], return_inverse=True)[1])


def _group_matrix(codes: Ints, groups: int) -> sparse.csr_array:
    """A matrix that sums rows by group."""
    n = len(codes)
    return sparse.csr_array((np.ones(n), (codes, np.arange(n))), shape=(groups, n))


def label_counts(y: Ints, who: Ints, count: int, classes: int) -> Floats:
    """Count the labels of each contributor by class (contributors, classes)."""
    given = np.bincount(who * classes + y, minlength=count * classes)
    return np.asarray(given.reshape(count, classes), dtype=np.float64)


def add_stats(one: Any, other: Any) -> Any:
    """Sums over two slices, part by part; what does not simply add up has a rule of its own, `plus`."""
    if hasattr(one, "plus"):
        return one.plus(other)
    return type(one)(*map(add_stats, one, other)) if isinstance(one, tuple) else one + other


class CredentialStats(NamedTuple):
    """Credentials of rows, summed: by contributor (K, p) and by label (C, p); rows of both (K, C)."""

    by_who: Floats
    by_label: Floats
    given: Floats

    def tied(self) -> Floats:
        """By how much credentials of a contributor differ between labels (C, p)."""
        means = self.by_who / np.maximum(self.given.sum(axis=1), 1)[:, None]
        return np.asarray(
            (self.by_label - self.given.T @ means) / np.maximum(self.given.sum(axis=0), 1)[:, None]
        )


class ColumnMoments(NamedTuple):
    """LabelData, mean and summed squares of deviations of columns, which add up over slices."""

    rows: float
    mean: Floats
    squares: Floats

    def plus(self, other: "ColumnMoments") -> "ColumnMoments":
        """Return the moments of both slices together."""
        rows = max(self.rows + other.rows, 1)
        apart = other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * self.rows * other.rows / rows
        return ColumnMoments(self.rows + other.rows, self.mean + apart * other.rows / rows, squares)

    def standard(self, columns: Floats) -> Floats:
        """Columns in standard units; what is constant says nothing."""
        deviation = np.sqrt(self.squares / max(self.rows, 1))
        return np.asarray((columns - self.mean) / np.where(deviation > 1e-9, deviation, 1.0))


def credential_stats(credentials: Floats, y: Ints, who: Ints, count: int, classes: int) -> CredentialStats:
    """Sums of the credentials of some rows."""
    return CredentialStats(
        np.asarray(_group_matrix(who, count) @ credentials),
        np.asarray(_group_matrix(y, classes) @ credentials),
        label_counts(y, who, count, classes),
    )


def polynomial_features(credentials: Floats) -> Floats:
    """Credentials from -1/2 to 1/2, their squares and their products: it does not matter which end is up."""
    credentials, count = credentials - 0.5, credentials.shape[1]
    products = [credentials[:, i] * credentials[:, j] for i in range(count) for j in range(i, count)]
    return np.column_stack([credentials, *products])


def column_moments(columns: Floats) -> ColumnMoments:
    """Mean and deviations of the columns of some rows."""
    if not len(columns):
        return ColumnMoments(0.0, np.zeros(columns.shape[1]), np.zeros(columns.shape[1]))
    mean = columns.mean(axis=0)
    return ColumnMoments(float(len(columns)), mean, np.square(columns - mean).sum(axis=0))


def credential_design(
    credentials: Floats, y: Ints | None = None, who: Ints | None = None, classes: int = 0
) -> Floats:
    """Credentials, their squares and their products, in standard units.

    Credentials that go with the class tell nothing of which labels are wrong: by how much those of a
    contributor differ between labels is taken off. Without contributors that cannot be told apart.
    """
    if y is not None and who is not None:
        tied = credential_stats(credentials, y, who, int(who.max()) + 1, classes).tied()
        credentials = credentials - tied[y]
    columns = polynomial_features(credentials)
    return column_moments(columns).standard(columns)


def credential_log_odds_fit(x: Floats, usual: Floats, odds: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Log-odds (rows, explanations) with what credentials are worth, and the log-evidence that they add.

    Weights have standard normal priors and are integrated out about their best values.
    """
    worth, each = np.zeros((usual.shape[1], x.shape[1])), weight[:, None]

    def information(doubt: Floats) -> Floats:
        return np.asarray(np.einsum("kp,km,kq->mpq", x, each * doubt, x, optimize=True) + np.eye(x.shape[1]))

    for _ in range(30):
        prior, after = (special.expit(usual + x @ worth.T + more) for more in (0.0, odds))
        pull = (each * (after - prior)).T @ x - worth
        worth += np.linalg.solve(information(prior * (1 - prior)), pull[..., None])[..., 0]
    lifted = usual + x @ worth.T
    more, less = (
        weight @ np.logaddexp(special.log_expit(z) + odds, special.log_expit(-z)) for z in (lifted, usual)
    )
    curved = np.linalg.slogdet(information(prior * (1 - prior) - after * (1 - after)))[1]
    return lifted, more - less - 0.5 * (worth**2).sum(axis=1) - 0.5 * curved


def newton(slope: Floats, hessian: Floats) -> Floats:
    """A Newton step, made shorter where it is long: it overshoots where the curve is flat."""
    step = np.linalg.solve(hessian, slope)
    return np.asarray(step / max(float(np.abs(step).max(initial=0.0)), 1.0))
