"""Extremely randomised trees (Geurts, Ernst and Wehenkel, Machine Learning 2006) on numpy, for small tables.

All nodes of all trees are split together, level by level.
"""

from typing import NamedTuple

import numpy as np

from anml.core.checks import Array, Bools, Floats, Ints


class ExtraTrees:
    """A forest that follows scikit-learn's conventions; leaves have `min_leaf` rows or one class.

    A node has the square root of d candidate features with one random threshold each, of which the split with
    the least Gini impurity is taken.
    """

    def __init__(self, classes: int, trees: int, min_leaf: int, seed: int) -> None:
        self.classes_ = np.arange(classes)
        self.trees, self.min_leaf, self.seed = trees, min_leaf, seed

    def fit(self, x: Floats, codes: Ints, sample_weight: Floats | None = None) -> "ExtraTrees":
        """Grow the trees on features (n, d) and class codes."""
        rng, n, classes = np.random.default_rng(self.seed), len(x), len(self.classes_)
        weight = np.ones(n) if sample_weight is None else sample_weight
        rows, size = np.tile(np.arange(n), self.trees), np.full(self.trees, n)
        levels: list[_Nodes] = []
        count = 0
        while len(size):
            cell = np.repeat(np.arange(len(size)), size) * classes + codes[rows]
            total = np.bincount(cell, weight[rows], len(size) * classes).reshape(-1, classes)
            inner = (size >= 2 * self.min_leaf) & ((total > 0).sum(axis=1) > 1)
            level = _Level(rows[np.repeat(inner, size)], size[inner], total[inner])
            splits = _best_splits(x, codes, weight, level, self.min_leaf, rng)
            count += len(size)
            nodes = _Nodes.leaves(total)
            nodes.feature[inner], nodes.threshold[inner] = splits.feature, splits.threshold
            nodes.left[inner] = np.where(splits.valid, count + 2 * (np.cumsum(splits.valid) - 1), -1)
            levels.append(nodes)
            rows, size = _children(level, splits)
        self.nodes = _Nodes(*(np.concatenate(part) for part in zip(*levels, strict=True)))
        return self

    def predict_proba(self, x: Floats) -> Floats:
        """Return class probabilities (n, classes), the mean of all trees."""
        n, nodes = len(x), self.nodes
        node, row = np.repeat(np.arange(self.trees), n), np.tile(np.arange(n), self.trees)
        inner = np.flatnonzero(nodes.left[node] >= 0)
        while len(inner):
            at = node[inner]
            at = nodes.left[at] + (x[row[inner], nodes.feature[at]] > nodes.threshold[at])
            node[inner] = at
            inner = inner[nodes.left[at] >= 0]
        return np.asarray(nodes.probability[node].reshape(self.trees, n, -1).mean(axis=0))


class _Nodes(NamedTuple):
    """Nodes of all trees, the roots first; `left` is -1 in leaves, and the right child follows the left one.

    `probability` (nodes, classes) are the shares of the classes in each node.
    """

    feature: Ints
    threshold: Floats
    left: Ints
    probability: Floats

    @classmethod
    def leaves(cls, total: Array) -> "_Nodes":
        """Nodes without children, by the weight of each class."""
        n, share = len(total), total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300)
        return cls(np.zeros(n, dtype=np.int64), np.zeros(n), np.full(n, -1), share)


class _Level(NamedTuple):
    """Nodes to split: their rows, node after node, how many each has, and the weight of each class there."""

    rows: Ints
    size: Ints
    total: Array

    @property
    def node(self) -> Ints:
        """Node of each of the rows."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @property
    def start(self) -> Ints:
        """Position of the first row of each node."""
        return np.cumsum(self.size) - self.size


class _Splits(NamedTuple):
    """The best of the candidate splits of each node; where none is `valid`, the node is a leaf."""

    feature: Ints
    threshold: Floats
    valid: Bools
    goes_left: Bools
    left_size: Ints


def _best_splits(
    x: Floats, codes: Ints, weight: Floats, level: _Level, min_leaf: int, rng: np.random.Generator
) -> _Splits:
    """Draw candidate features and thresholds for each node, and take the best of them."""
    count, classes = level.total.shape
    node, start = level.node, level.start
    if not count:
        empty = np.zeros(0, dtype=np.int64)
        return _Splits(empty, np.zeros(0), empty > 0, empty > 0, empty)
    feature, values, low, high = _draw_candidates(x, level, rng)
    threshold = low + rng.random(low.shape) * (high - low)
    goes_left = values <= threshold[node]
    left_size = np.add.reduceat(goes_left, start, dtype=np.int64)
    cell, weights = node * classes + codes[level.rows], weight[level.rows]
    gain = np.empty(low.shape)
    for candidate, left in enumerate(goes_left.T):
        inside = np.bincount(cell, weights * left, count * classes).reshape(count, classes)
        gain[:, candidate] = _purity(inside) + _purity(level.total - inside)
    valid = (left_size >= min_leaf) & (level.size[:, None] - left_size >= min_leaf) & (high > low)
    gain[~valid] = -np.inf
    chosen = gain.argmax(axis=1)
    best = np.arange(count), chosen
    own = goes_left[np.arange(len(node)), chosen[node]]
    return _Splits(feature[best], threshold[best], valid[best], own, left_size[best])


def _draw_candidates(
    x: Floats, level: _Level, rng: np.random.Generator
) -> tuple[Ints, Floats, Floats, Floats]:
    """Draw features for each node, without replacement; where all are constant, among those that are not.

    Returns them (nodes, m), their values (rows, m), and the range of these in each node.
    """
    count, width = len(level.size), x.shape[1]
    most, node, start = max(1, int(np.sqrt(width))), level.node, level.start
    drawn = rng.random((count, width)).argpartition(most - 1, axis=1)[:, :most]
    values = x[level.rows[:, None], drawn[node]]
    low, high = np.minimum.reduceat(values, start), np.maximum.reduceat(values, start)
    constant: Bools = np.asarray((high <= low).all(axis=1))
    if constant.any() and most < width:
        among = np.flatnonzero(constant[node])
        every, size = x[level.rows[among]], level.size[constant]
        start = np.cumsum(size) - size
        least, largest = np.minimum.reduceat(every, start), np.maximum.reduceat(every, start)
        order = np.where(largest > least, rng.random(least.shape), 2.0)
        again = order.argpartition(most - 1, axis=1)[:, :most]
        drawn[constant] = again
        values[among] = np.take_along_axis(every, np.repeat(again, size, axis=0), axis=1)
        low[constant] = np.take_along_axis(least, again, axis=1)
        high[constant] = np.take_along_axis(largest, again, axis=1)
    return drawn, values, low, high


def _purity(weights: Array) -> Floats:
    """Return the weight of each node times one minus its Gini impurity."""
    return np.asarray(np.square(weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-300))


def _children(level: _Level, splits: _Splits) -> tuple[Ints, Ints]:
    """Return the rows of the children, node after node and left before right, and how many each has."""
    split = splits.valid[level.node]
    rows, left = level.rows[split], splits.goes_left[split]
    size, left_size = level.size[splits.valid], splits.left_size[splits.valid]
    node, start = np.repeat(np.arange(len(size)), size), np.cumsum(size) - size
    # Rows keep their order among those that go to the same child.
    earlier: Ints = np.cumsum(left) - left
    earlier_left = earlier - earlier[start][node]
    earlier_right = np.arange(len(rows)) - start[node] - earlier_left
    ordered = np.empty_like(rows)
    ordered[start[node] + np.where(left, earlier_left, left_size[node] + earlier_right)] = rows
    return ordered, np.stack([left_size, size - left_size], axis=1).ravel()
