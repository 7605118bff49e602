"""What is known of some labels: the right one, or only that the one given is right or wrong."""

from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Array, Bools, Floats
from anml.core.domain import Task
from anml.core.signals.verification import VERIFICATION


class Answers(NamedTuple):
    """What is known of each row: the right label (-1 or NaN: none), and marks on the given one.

    A number that differs from the right one is not called wrong: how far off is too far, nobody said.
    """

    truth: np.ndarray[Any, Any]
    right: Bools
    wrong: Bools

    @property
    def known(self) -> Bools:
        """Rows of which anything is known."""
        return self.right | self.wrong | told(self.truth)


def told(truth: Array) -> Bools:
    """Rows whose right label is known."""
    return np.isfinite(truth) if truth.dtype.kind == "f" else truth >= 0


def unknown(y: Array, task: Task) -> np.ndarray[Any, Any]:
    """A truth that says nothing of any row."""
    n = len(y)
    return np.full(n, -1, dtype=np.int64) if task == "classification" else np.full(n, np.nan)


def answers(y: Array, truth: Array, right: Bools, wrong: Bools, item: Array | None = None) -> Answers:
    """Put right labels and marks on labels `y` as given together; a right label goes before a mark.

    Rows of one `item` have one right label: what is known for one of them holds for all, and a label that is
    wrong is wrong whoever gave it.
    """
    truth = np.where(right & ~told(truth), y, truth).astype(truth.dtype)
    if item is not None:
        truth = _shared(truth, item)
        wrong = _wrong_for_all(y, wrong & ~told(truth), item)
    known = told(truth)
    if truth.dtype.kind == "f":
        same = known & np.isclose(y, truth, rtol=1e-9, atol=0)
        return Answers(truth, same, wrong & ~known)
    same = known & (truth == y)
    return Answers(truth, same, (known & ~same) | (wrong & ~known))


def _wrong_for_all(y: Array, wrong: Bools, item: Array) -> Bools:
    """Mark equal labels of an item, where one of them is marked as wrong."""
    if not wrong.any():
        return wrong
    _, thing = np.unique(item, return_inverse=True)
    _, label = np.unique(y, return_inverse=True)
    pair = thing * (int(label.max()) + 1) + label
    return np.isin(pair, pair[wrong])


def contradicted(truth: Array, item: Array) -> list[str]:
    """Items that are said to have more than one right label."""
    names, _, low, high = _range(truth, item)
    return [str(name) for name in names[low < high]]


def _shared(truth: Array, item: Array) -> np.ndarray[Any, Any]:
    """Give all rows of an item its right label, where it has one only."""
    _, codes, low, high = _range(truth, item)
    single = (low == high)[codes] & ~told(truth)
    return np.where(single, np.where(low == high, low, 0)[codes], truth).astype(truth.dtype)


def _range(truth: Array, item: Array) -> tuple[Array, Array, Floats, Floats]:
    """Items, the item of each row, and the lowest and highest right label said of each."""
    names, codes = np.unique(item, return_inverse=True)
    rows = told(truth)
    low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    np.minimum.at(low, codes[rows], truth[rows])
    np.maximum.at(high, codes[rows], truth[rows])
    return names, codes, low, high


def earned(found: Answers) -> Floats:
    """Return the v that rows earn by what is known of them, where nobody else said it."""
    v = np.full(len(found.truth), VERIFICATION["self-attested"].default)
    v[found.right] = VERIFICATION["reproduced"].default
    v[found.wrong] = VERIFICATION["flagged"].default
    return v
