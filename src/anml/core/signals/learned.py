"""Reputation learned from one run: how often a contributor's labels are right, with an interval.

It rests on what a model that did not see a label says of it, and takes no v, r, T or weights: a reputation
that is fed by its own effect feeds itself. So it may be handed on as an event that updates r. (What the model
itself owes to credentials is said in docs/evidence.md.)
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.attribute import DEFAULT_STRENGTH, shrunk_by_group
from anml.core.checks import Floats, Ints
from anml.core.stats import beta_interval

# Before anything is seen most labels are right, as in `anml.core.evidence`.
USUALLY = 0.88
TURNS = 30


class Learned(NamedTuple):
    """One value per contributor.

    Parameters
    ----------
    r, low, high
        Share of right labels, pulled to that of all the more the less is known, and its 95% interval.
    good, bad
        How many labels seen to be right, and wrong, the evidence is worth: a label of which the model
        cannot tell counts for nothing. The pull to the others is not in them.
    """

    r: Floats
    low: Floats
    high: Floats
    good: Floats
    bad: Floats


def learned_reputation(odds: Floats, codes: Ints) -> Learned:
    """Estimate each contributor's share of right labels.

    Parameters
    ----------
    odds
        Log-odds for each label being right, by a model that did not see it, all else being even.
    codes
        Who gave each label.

    Examples
    --------
    >>> sure = np.r_[np.full(40, 9.0), np.full(30, 9.0), np.full(10, -9.0)]
    >>> found = learned_reputation(sure, np.repeat([0, 1], 40))
    >>> found.good.round(1), found.bad.round(1)
    (array([40., 30.]), array([ 0., 10.]))
    """
    groups = int(codes.max()) + 1
    counts = np.bincount(codes, minlength=groups).astype(np.float64)
    share: Floats = np.full(groups, USUALLY)
    pool = USUALLY
    for _ in range(TURNS):
        belief = special.expit(special.logit(share)[codes] + odds)
        pool = float((belief.sum() + DEFAULT_STRENGTH * USUALLY) / (len(odds) + DEFAULT_STRENGTH))
        strength = min(shrunk_by_group(belief, codes).strength, DEFAULT_STRENGTH)
        right = np.bincount(codes, belief, groups)
        before, share = share, (right + strength * pool) / (counts + strength)
        if np.abs(share - before).max() < 1e-4:
            break
    # All labels, less what is missing because they are not seen for certain (Louis 1982).
    missing = np.bincount(codes, belief * (1 - belief), groups) / (share * (1 - share))
    worth = np.clip(counts - missing, 0.0, counts)
    good, bad = worth * right / counts, worth * (1 - right / counts)
    a, b = good + strength * pool, bad + strength * (1 - pool)
    low, high = beta_interval(a, b)
    return Learned(a / (a + b), low, high, good, bad)
