"""True labels: the correct label of a row, or a mark that its given label is correct or wrong."""

from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Array, Bools, Floats
from anml.core.types import Task
from anml.signals.verification import VERIFICATION


class GoldLabels(NamedTuple):
    """True label of each row (-1 or NaN: none), and marks on its given label.

    A number that differs from the true one is not marked as wrong, since no tolerance is defined.
    """

    truth: np.ndarray[Any, Any]
    right: Bools
    wrong: Bools

    @property
    def known(self) -> Bools:
        """Rows of which anything is known."""
        return self.right | self.wrong | has_gold_label(self.truth)


def has_gold_label(truth: Array) -> Bools:
    """Rows whose right label is known."""
    return np.isfinite(truth) if truth.dtype.kind == "f" else truth >= 0


def empty_gold(y: Array, task: Task) -> np.ndarray[Any, Any]:
    """A truth that says nothing of any row."""
    n = len(y)
    return np.full(n, -1, dtype=np.int64) if task == "classification" else np.full(n, np.nan)


def combine_gold(y: Array, truth: Array, right: Bools, wrong: Bools, item: Array | None = None) -> GoldLabels:
    """Combine true labels and marks on given labels `y`; a true label overrides a mark.

    Rows of one `item` have one true label: a true label of one row holds for all, and a label that is wrong
    is wrong for all contributors.
    """
    truth = np.where(right & ~has_gold_label(truth), y, truth).astype(truth.dtype)
    if item is not None:
        truth = _propagate_within_item(truth, item)
        wrong = _propagate_wrong_marks(y, wrong & ~has_gold_label(truth), item)
    known = has_gold_label(truth)
    if truth.dtype.kind == "f":
        same = known & np.isclose(y, truth, rtol=1e-9, atol=0)
        return GoldLabels(truth, same, wrong & ~known)
    same = known & (truth == y)
    return GoldLabels(truth, same, (known & ~same) | (wrong & ~known))


def _propagate_wrong_marks(y: Array, wrong: Bools, item: Array) -> Bools:
    """Mark equal labels of an item, where one of them is marked as wrong."""
    if not wrong.any():
        return wrong
    _, thing = np.unique(item, return_inverse=True)
    _, label = np.unique(y, return_inverse=True)
    pair = thing * (int(label.max()) + 1) + label
    return np.isin(pair, pair[wrong])


def items_with_conflicting_gold(truth: Array, item: Array) -> list[str]:
    """Items that are said to have more than one right label."""
    names, _, low, high = _gold_range_by_item(truth, item)
    return [str(name) for name in names[low < high]]


def _propagate_within_item(truth: Array, item: Array) -> np.ndarray[Any, Any]:
    """Give all rows of an item its right label, where it has one only."""
    _, codes, low, high = _gold_range_by_item(truth, item)
    single = (low == high)[codes] & ~has_gold_label(truth)
    return np.where(single, np.where(low == high, low, 0)[codes], truth).astype(truth.dtype)


def _gold_range_by_item(truth: Array, item: Array) -> tuple[Array, Array, Floats, Floats]:
    """Items, the item of each row, and the lowest and highest right label said of each."""
    names, codes = np.unique(item, return_inverse=True)
    rows = has_gold_label(truth)
    low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    np.minimum.at(low, codes[rows], truth[rows])
    np.maximum.at(high, codes[rows], truth[rows])
    return names, codes, low, high


def v_from_gold(gold: GoldLabels) -> Floats:
    """Return v of rows by their true labels and marks."""
    v = np.full(len(gold.truth), VERIFICATION["self-attested"].default)
    v[gold.right] = VERIFICATION["reproduced"].default
    v[gold.wrong] = VERIFICATION["flagged"].default
    return v
