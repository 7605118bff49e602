"""Contributors who were one thing and are now another: a change in how many labels are right, and when.

The test is sequential: the odds of a change against none, averaged over a prior of when that does not depend
on how many labels there are. Without a change they are a martingale of mean 1, which ever passes k with
a probability of at most 1/k (Ville).
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.verdicts import MIN_ROWS_TO_FLAG
from anml.core.checks import Floats, Ints

# Shares of right labels that are tried before and after.
ACCURACY_GRID = (np.arange(20) + 0.5) / 20
# Of contributors who stay the same, the share that is ever said to have changed, however often one looks.
FALSE_ALARM_RATE = 1e-3


class ChangePoints(NamedTuple):
    """Change point of each contributor, with its accuracy before and after; NaN without a change point."""

    when: Floats
    before: Floats
    after: Floats

    @property
    def any(self) -> bool:
        """True if any contributor has a change point."""
        return bool(np.isfinite(self.when).any())

    def codes(self, who: Ints, when: Floats) -> tuple[Ints, Ints]:
        """The part of its contributor that each row is of, from 0, and which contributor each part is of."""
        late = when >= np.where(np.isfinite(self.when), self.when, np.inf)[who]
        changed = np.flatnonzero(np.isfinite(self.when))
        part = np.arange(len(self.when))
        part[changed] = len(self.when) + np.arange(len(changed))
        owner = np.concatenate([np.arange(len(self.when)), changed])
        return np.where(late, part[who], who), owner


def detect_change_points(
    right: Floats, wrong: Floats, who: Ints, when: Floats, count: int, rate: float = FALSE_ALARM_RATE
) -> ChangePoints:
    """Detect change points from the likelihoods of labels if correct and if wrong, at a false alarm rate.

    Examples
    --------
    >>> time = np.arange(80.0)
    >>> right = np.where(np.r_[np.ones(40), np.arange(40) % 4 == 0], 0.9, 0.1)
    >>> found = detect_change_points(right, 1 - right, np.zeros(80, dtype=int), time, 1)
    >>> float(found.when[0]), found.before.round(1), found.after.round(1)
    (41.0, array([1.]), array([0.2]))
    """
    found = np.full((3, count), np.nan)
    order = np.lexsort([when, who])
    starts = np.searchsorted(who[order], np.arange(count + 1))
    for k in np.flatnonzero(np.diff(starts) >= 2 * MIN_ROWS_TO_FLAG):
        mine = order[starts[k] : starts[k + 1]]
        logs = np.log(np.outer(right[mine], ACCURACY_GRID) + np.outer(wrong[mine], 1 - ACCURACY_GRID) + 1e-12)
        running = np.cumsum(logs, axis=0)
        cuts = np.arange(MIN_ROWS_TO_FLAG, len(mine) - MIN_ROWS_TO_FLAG + 1)
        cuts = cuts[when[mine][cuts - 1] < when[mine][np.minimum(cuts, len(mine) - 1)]]
        if not len(cuts):
            continue
        one = special.logsumexp(running[-1])
        first, second = running[cuts - 1], running[-1] - running[cuts - 1]
        two = (
            special.logsumexp(first, axis=1) + special.logsumexp(second, axis=1) - np.log(len(ACCURACY_GRID))
        )
        if special.logsumexp(two + _log_prior(cuts)) > one - np.log(rate):
            best = int(two.argmax())
            means = (special.softmax(part[best]) @ ACCURACY_GRID for part in (first, second))
            found[:, k] = [when[mine][cuts[best]], *means]
    return ChangePoints(*found)


def _log_prior(cuts: Ints) -> Floats:
    """Log prior of a change after a number of labels: heavy-tailed, and normalised over all positions."""
    place = np.log(cuts - MIN_ROWS_TO_FLAG + 2)
    following = np.log(cuts - MIN_ROWS_TO_FLAG + 3)
    return np.asarray(np.log(np.log(2) * (1 / place - 1 / following)))
