"""Contributors who were one thing and are now another: a change in how many labels are right, and when.

The test is sequential: the odds of a change against none, averaged over a prior of when that does not depend
on how many labels there are. Without a change they are a martingale of mean 1, which ever passes k with
a probability of at most 1/k (Ville).
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints
from anml.core.people.verdicts import ENOUGH_ROWS

# Shares of right labels that are tried before and after.
SHARES = (np.arange(20) + 0.5) / 20
# Of contributors who stay the same, the share that is ever said to have changed, however often one looks.
FALSE_ALARMS = 1e-3


class Changes(NamedTuple):
    """When each contributor changed, and its share of right labels before and after; NaN where it did not."""

    when: Floats
    before: Floats
    after: Floats

    @property
    def any(self) -> bool:
        """Whether anybody changed."""
        return bool(np.isfinite(self.when).any())

    def codes(self, who: Ints, when: Floats) -> tuple[Ints, Ints]:
        """The part of its contributor that each row is of, from 0, and which contributor each part is of."""
        late = when >= np.where(np.isfinite(self.when), self.when, np.inf)[who]
        changed = np.flatnonzero(np.isfinite(self.when))
        part = np.arange(len(self.when))
        part[changed] = len(self.when) + np.arange(len(changed))
        owner = np.concatenate([np.arange(len(self.when)), changed])
        return np.where(late, part[who], who), owner


def changes(
    right: Floats, wrong: Floats, who: Ints, when: Floats, count: int, rate: float = FALSE_ALARMS
) -> Changes:
    """Who changed, by how likely each label is if it is right and if it is wrong, at a rate of false alarms.

    Examples
    --------
    >>> time = np.arange(80.0)
    >>> right = np.where(np.r_[np.ones(40), np.arange(40) % 4 == 0], 0.9, 0.1)
    >>> found = changes(right, 1 - right, np.zeros(80, dtype=int), time, 1)
    >>> float(found.when[0]), found.before.round(1), found.after.round(1)
    (41.0, array([1.]), array([0.2]))
    """
    found = np.full((3, count), np.nan)
    order = np.lexsort([when, who])
    starts = np.searchsorted(who[order], np.arange(count + 1))
    for k in np.flatnonzero(np.diff(starts) >= 2 * ENOUGH_ROWS):
        mine = order[starts[k] : starts[k + 1]]
        logs = np.log(np.outer(right[mine], SHARES) + np.outer(wrong[mine], 1 - SHARES) + 1e-12)
        running = np.cumsum(logs, axis=0)
        cuts = np.arange(ENOUGH_ROWS, len(mine) - ENOUGH_ROWS + 1)
        cuts = cuts[when[mine][cuts - 1] < when[mine][np.minimum(cuts, len(mine) - 1)]]
        if not len(cuts):
            continue
        one = special.logsumexp(running[-1])
        first, second = running[cuts - 1], running[-1] - running[cuts - 1]
        two = special.logsumexp(first, axis=1) + special.logsumexp(second, axis=1) - np.log(len(SHARES))
        if special.logsumexp(two + _log_prior(cuts)) > one - np.log(rate):
            best = int(two.argmax())
            means = (special.softmax(part[best]) @ SHARES for part in (first, second))
            found[:, k] = [when[mine][cuts[best]], *means]
    return Changes(*found)


def _log_prior(cuts: Ints) -> Floats:
    """How likely a change after so many labels is: heavy-tailed, and one in sum over all there may be."""
    place = np.log(cuts - ENOUGH_ROWS + 2)
    following = np.log(cuts - ENOUGH_ROWS + 3)
    return np.asarray(np.log(np.log(2) * (1 / place - 1 / following)))
