"""Games of coalitions; a utility takes many at once, (coalitions, players), and gives one number each."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats, as_integer
from anml.core.errors import AnmlError, InputError
from anml.core.stats import mean_interval

Utility = Callable[[Bools], Any]
# Beyond so many players all coalitions are more than fit into memory; coalitions evaluated together.
MAX_EXACT_PLAYERS, BATCH_SIZE = 22, 1_024


class Values(NamedTuple):
    """Value of each player, its 95% interval, and how many coalitions that took.

    Of an exact value the interval is the value itself.
    """

    value: Floats
    low: Floats
    high: Floats
    evaluations: int

    @property
    def exact(self) -> bool:
        """True if no value was estimated by sampling."""
        return bool((self.low == self.high).all())


def players(count: Any) -> int:
    """Return the number of players, or say what is wrong with it."""
    return as_integer("the number of contributors", count, 1)


def evaluate_in_batches(utility: Utility, coalitions: Bools) -> Floats:
    """Worth of many coalitions, some at a time."""
    starts = range(0, len(coalitions), BATCH_SIZE)
    return np.concatenate([evaluate(utility, coalitions[at : at + BATCH_SIZE]) for at in starts])


def utility_of_extremes(utility: Utility, count: int) -> Floats:
    """Worth of nobody, and of all."""
    return evaluate(utility, np.repeat([[False], [True]], count, axis=1))


def evaluate(utility: Utility, coalitions: Bools) -> Floats:
    """Worth of some coalitions, or which coalition's could not be worked out."""
    try:
        found = np.asarray(utility(coalitions), dtype=np.float64)
    except AnmlError:
        raise
    except Exception as error:
        raise InputError(f"the utility failed: {type(error).__name__}: {error}") from error
    if found.shape != (len(coalitions),):
        raise InputError(
            f"the utility must return one number per coalition: {len(coalitions)} expected, "
            f"got shape {found.shape}"
        )
    bad = ~np.isfinite(found)
    if bad.any():
        members = np.flatnonzero(coalitions[int(np.flatnonzero(bad)[0])]).tolist()
        raise InputError(f"the utility of coalition {members} is not a finite number")
    return found


def all_coalitions(count: int) -> Bools:
    """Every coalition; bit i of a row's position says whether player i is in it."""
    if count > MAX_EXACT_PLAYERS:
        raise InputError(
            f"2^{count} coalitions are too many to go through; "
            f"at most 2^{MAX_EXACT_PLAYERS}, or give a budget"
        )
    return np.asarray((np.arange(2**count)[:, None] >> np.arange(count)) & 1, dtype=np.bool_)


def table_of(utility: Utility, count: int) -> Floats:
    """Worth of every coalition, in the order of `all_coalitions`."""
    return evaluate(utility, all_coalitions(players(count)))


def semivalue(table: Any, weights_of: Callable[[int], Floats]) -> Floats:
    """Exact value of each player: marginal worth, weighted by how many others are there (0 .. n - 1).

    `weights_of(n)[k]` is the weight of one coalition of k others.
    """
    worth = np.asarray(table, dtype=np.float64)
    count = len(worth).bit_length() - 1
    if worth.ndim != 1 or len(worth) != 2**count or count < 1:
        raise InputError(f"a table of worths has 2^n entries, got {worth.shape}")
    if not np.isfinite(worth).all():
        raise InputError("a table of worths has missing or infinite values")
    position = np.arange(2**count)
    size = np.bitwise_count(position).astype(np.int64)
    value, weights = np.empty(count), weights_of(count)
    for player in range(count):
        without = position[(position >> player) & 1 == 0]
        gain = worth[without | (1 << player)] - worth[without]
        value[player] = weights[size[without]] @ gain
    return value


def of_samples(samples: Any, evaluations: int) -> Values:
    """Means with t-intervals of independent samples, (samples, players)."""
    value, low, high = np.array([mean_interval(column) for column in np.transpose(samples)]).T
    return Values(value, low, high, evaluations)


def exact_values(value: Floats, evaluations: int) -> Values:
    """A value that nothing was sampled for."""
    return Values(value, value.copy(), value.copy(), evaluations)


def check_budget(budget: Any, count: int, least: int) -> int:
    """Return how many coalitions may be evaluated, if they are enough to say anything."""
    if as_integer("the budget", budget) < least:
        raise InputError(
            f"a budget of {budget} coalitions is too small for {count} contributors: at least {least}"
        )
    return int(budget)
