"""Do contributors contradict each other? Looked at without deciding who is right.

How each contributor's labels go with the features is a table: the covariance, over its own rows, of "is this
class" with every column. Contributors who see the classes alike have tables that point the same way, those
who tell a lie have tables that point the other way, and those who guess have tables that point nowhere. Two
camps that are both large look alike from inside the data; a network trained on both learns nothing, and then
nothing looks wrong. This is what sees it.
"""

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.core.noise import spread_rows

# Rows and contributors that settle it.
LOOKED_AT = 20_000
MOST_CONTRIBUTORS = 1_000
# A contributor's table points somewhere when it does so by more standard errors than this.
CLEARLY = 2.0


def opposed_camp(x: Floats, y: Ints, codes: Ints, classes: int) -> float:
    """Share of rows held by the smaller of two camps of contributors who see the classes oppositely.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 600)
    >>> x = rng.normal(size=(600, 3)) + 2 * y[:, None]
    >>> codes = np.arange(600) % 10
    >>> opposed_camp(x, y, codes, 2)
    0.0
    >>> opposed_camp(x, np.where(codes < 4, 1 - y, y), codes, 2)
    0.4
    """
    rows = spread_rows(len(y), LOOKED_AT)
    x, y, codes = x[rows], y[rows], codes[rows]
    sizes = np.bincount(codes)
    if np.count_nonzero(sizes > 1) < 2 or classes < 2:
        return 0.0
    many = np.argsort(-sizes, kind="stable")[:MOST_CONTRIBUTORS]
    place = np.full(len(sizes), -1)
    place[many] = np.arange(len(many))
    here = place[codes] >= 0
    x, y, who = x[here], y[here], place[codes[here]]
    features = _centred(x, who, len(many))
    named = _centred(np.eye(classes)[y], who, len(many))
    tables = _tables(features, named, who, len(many))
    leading = _leading(tables)
    agrees, opposes = _sides(features, named, y, who, tables, leading)
    camps = [float(sizes[many][side].sum() / len(rows)) for side in (agrees, opposes)]
    return min(camps)


def _centred(values: Floats, who: Ints, groups: int) -> Floats:
    """Each column less its mean over the contributor's rows: what contributors send may differ."""
    sizes = np.maximum(np.bincount(who, minlength=groups), 1)
    means = np.stack([np.bincount(who, column, groups) for column in values.T], axis=1) / sizes[:, None]
    return np.asarray(values - means[who])


def _tables(features: Floats, named: Floats, who: Ints, groups: int) -> Floats:
    """Covariance of classes with columns, (contributors, classes x columns)."""
    sums = [np.bincount(who, part * column, groups) for part in named.T for column in features.T]
    return np.stack(sums, axis=1)


def _leading(tables: Floats) -> Floats:
    """How far each contributor's table lies along what tables have most in common, by either sign.

    Without the diagonal: a table has everything in common with itself.
    """
    products = tables @ tables.T
    np.fill_diagonal(products, 0.0)
    return np.asarray(np.linalg.eigh(products)[1][:, -1])


def _sides(
    features: Floats, named: Floats, y: Ints, who: Ints, tables: Floats, leading: Floats
) -> tuple[Bools, Bools]:
    """Contributors whose tables clearly point along the common one of the others, and against it."""
    groups, classes = len(leading), named.shape[1]
    common = (leading @ tables).reshape(classes, -1)
    squares = np.square(tables).sum(axis=1)
    along = tables @ common.ravel() - leading * squares
    # How far it would point there if its labels had been dealt out at random, by the own part too.
    scores = features @ common.T
    share = np.stack([np.bincount(who, y == k, groups) for k in range(classes)], axis=1)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1)
    spread = (share[who] * np.square(scores)).sum(axis=1) - np.square((share[who] * scores).sum(axis=1))
    error = np.sqrt(np.bincount(who, spread, groups)) + 1e-12
    return along > CLEARLY * error, along < -CLEARLY * error
