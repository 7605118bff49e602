"""Row ownership: a row that several contributors hold counts once in any coalition of them.

A duplicate submission does not raise a contributor's value, and a copied row adds nothing to a coalition that
already holds it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Bools, Floats, Ints, as_codes
from anml.core.errors import InputError


@dataclass(frozen=True, eq=False)
class RowOwnership:
    """Positions of the rows that count (of copies one does), cut into parts that are in a coalition together.

    `holders` says whether each contributor holds each part, (parts, contributors).
    """

    rows: Ints
    part: Ints
    holders: Bools
    names: list[str]

    def present(self, coalitions: Bools) -> Bools:
        """Return the parts that each coalition holds, (coalitions, parts)."""
        return np.asarray(coalitions.astype(np.float32) @ self.holders.T.astype(np.float32) > 0.5)


def parts_of(contributor: Any, copies: Any = None, first: Any = None) -> RowOwnership:
    """Cut rows into parts by who holds them.

    `copies` names the group of each row, equal for copies of one another; without it every row is its own.
    With `first`, times or positions, a group belongs to whoever had it first; else to all who hold it.
    """
    n = len(contributor)
    codes, names = as_codes("contributor", contributor, n)
    group = np.arange(n) if copies is None else np.unique(np.asarray(copies), return_inverse=True)[1]
    if len(group) != n:
        raise InputError(f"copies must be one group per row: {n} expected, got {len(group)}")
    order = np.arange(n) if first is None else np.lexsort((np.arange(n), np.asarray(first)))
    groups = int(group.max()) + 1
    holds = np.zeros((groups, len(names)), dtype=bool)
    lead = np.full(groups, -1, dtype=np.int64)
    lead[group[order[::-1]]] = order[::-1]
    if first is None:
        holds[group, codes] = True
    else:
        holds[np.arange(groups), codes[lead]] = True
    patterns, part = np.unique(holds, axis=0, return_inverse=True)
    sequence = np.argsort(lead)
    part = part.ravel()[sequence]
    # Parts are numbered as their first rows come, so that the order of rows leaves no other trace.
    order = np.argsort(np.unique(part, return_index=True)[1])
    return RowOwnership(lead[sequence], np.argsort(order)[part], patterns[order], names)


def rows_per_contributor(parts: RowOwnership) -> Floats:
    """Rows that count for each contributor; one that several hold counts in equal shares."""
    size = np.bincount(parts.part, minlength=len(parts.holders)).astype(np.float64)
    return np.asarray((size / parts.holders.sum(axis=1)) @ parts.holders)
