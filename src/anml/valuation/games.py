"""Games of coalitions; a utility takes many at once, (coalitions, players), and gives one number each."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats, Ints, whole
from anml.core.errors import AnmlError, InputError
from anml.core.stats import mean_interval

Utility = Callable[[Bools], Any]
# Beyond so many players all coalitions are more than fit into memory; coalitions evaluated together.
MOST_EXACT, TOGETHER = 22, 1_024


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
        """Whether nothing was sampled."""
        return bool((self.low == self.high).all())


def players(count: Any) -> int:
    """Return the number of players, or say what is wrong with it."""
    return whole("the number of contributors", count, 1)


def evaluated(utility: Utility, coalitions: Bools) -> Floats:
    """Worth of many coalitions, some at a time."""
    starts = range(0, len(coalitions), TOGETHER)
    return np.concatenate([evaluate(utility, coalitions[at : at + TOGETHER]) for at in starts])


def worth_of_ends(utility: Utility, count: int) -> Floats:
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
    if count > MOST_EXACT:
        raise InputError(
            f"2^{count} coalitions are too many to go through; at most 2^{MOST_EXACT}, or give a budget"
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


def by_reuse(
    utility: Utility, count: int, shares: Floats, *, budget: int, rng: np.random.Generator
) -> Floats:
    """Semivalues of many players from few coalitions, each of which serves every player.

    `shares` says how much coalitions of k others weigh together, k from 0 to n - 1, summing to one: all alike
    is Shapley, the binomial Banzhaf. A coalition of k counts for who is in it as one of k - 1 others, and
    against who is not as one of k; it comes with its complement, and worths are taken about their mean, which
    changes nothing on average.
    """
    n = players(count)
    sizes = np.arange(1, n)
    draw = shares[sizes - 1] + shares[sizes]
    draw = (draw + draw[::-1]) / (draw + draw[::-1]).sum()
    chosen = rng.choice(sizes, budget // 2, p=draw)
    half = np.argsort(np.argsort(rng.uniform(size=(len(chosen), n)), axis=1), axis=1) < chosen[:, None]
    inside = np.concatenate([half, ~half])
    k = inside.sum(axis=1)
    worth, ends = evaluated(utility, inside), worth_of_ends(utility, n)
    middle, often = worth.mean(), draw[k - 1]
    with_it = (worth - middle) * shares[k - 1] * n / (k * often)
    without = (worth - middle) * shares[k] * n / ((n - k) * often)
    found = np.where(inside, with_it[:, None], -without[:, None]).mean(axis=0)
    return np.asarray(found + shares[-1] * (ends[1] - middle) - shares[0] * (ends[0] - middle))


def walked(
    worth_of: Utility, orders: Ints, ends: Floats, going_on: Callable[[Floats], Bools]
) -> tuple[Floats, int]:
    """Marginal worth of each player in each order, and the coalitions that took.

    All orders take a step at a time, as one batch, while what is left to gain is enough to go on for.
    """
    some, n = orders.shape
    gains, spent = np.zeros((some, n)), 0
    inside, going = np.zeros((some, n), dtype=bool), np.ones(some, dtype=bool)
    worth = np.full(some, ends[0])
    for step in range(n):
        going &= going_on(np.abs(ends[1] - worth))
        walking = np.flatnonzero(going)
        if not len(walking):
            break
        joins = orders[walking, step]
        inside[walking, joins] = True
        # The worth of all is known: who joins last gets what is left.
        last = step == n - 1
        after = np.full(len(walking), ends[1]) if last else evaluate(worth_of, inside[walking])
        spent += 0 if last else len(walking)
        gains[walking, joins] = after - worth[walking]
        worth[walking] = after
    return gains, spent


def of_samples(samples: Any, evaluations: int) -> Values:
    """Means with t-intervals of independent samples, (samples, players)."""
    value, low, high = np.array([mean_interval(column) for column in np.transpose(samples)]).T
    return Values(value, low, high, evaluations)


def exactly(value: Floats, evaluations: int) -> Values:
    """A value that nothing was sampled for."""
    return Values(value, value.copy(), value.copy(), evaluations)


def check_budget(budget: Any, count: int, least: int) -> int:
    """Return how many coalitions may be evaluated, if they are enough to say anything."""
    if whole("the budget", budget) < least:
        raise InputError(
            f"a budget of {budget} coalitions is too small for {count} contributors: at least {least}"
        )
    return int(budget)
