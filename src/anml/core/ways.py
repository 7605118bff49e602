"""Who makes numbers otherwise than the others: a bias and a spread per contributor, on a grid.

Each contributor's numbers, in honest spreads, have a bias and a spread of their own. Honest contributors
differ a little: theirs are near the pool's. Others have any bias, and a spread no smaller than the honest
one: nobody is convicted for being more precise. Which is likelier is weighed with bias and spread averaged
over, so few rows do not convict. How far honest contributors differ is whatever explains all contributors
best: where everybody differs, nobody is convicted for it.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from anml.core.accounts import BINS, SOME, TAILS, Account, accounts_of, bins_of, counted, densities
from anml.core.checks import Floats, Ints
from anml.core.evidence import Evidence, Likelihoods, weigh_evidence
from anml.core.noise import spread_rows

# So many rows are weighed at a time.
ROWS = 4_000
# Not everybody is honest: clear at odds of twenty to one, or, where credentials must help, at more nats.
TWENTY_TO_ONE, CLEARLY_MORE = float(np.log(20)), 4.0
# Log-odds beyond which nothing changes, within the limits of `weigh_evidence`.
WIDEST_ODDS = 25.0
# Log-odds at which a point of the grid is left out.
NEVER = 25.0


class Ways(NamedTuple):
    """How far each contributor makes numbers as the honest do.

    Parameters
    ----------
    honest
        Each contributor's probability of being honest.
    odds
        The same as log-odds: base, credentials and what the numbers say.
    base, credentials
        Log-odds before looking at the numbers: for all, and what the contributor's credentials add.
    gain
        Log-likelihood above that of honest contributors only, less what it must be to be clear.
    judged
        What `label_ratios` needs.
    """

    honest: Floats
    odds: Floats
    base: float
    credentials: Floats
    gain: float
    judged: "Judged"


class Judged(NamedTuple):
    """An account, the log-odds it gives each contributor, and these joined with credentials."""

    account: Account
    counts: sparse.csr_array
    odds: Floats
    found: Evidence
    likelihood: float


def contributor_ways(off: Floats, apart: Floats, codes: Ints, signals: Floats | None = None) -> Ways:
    """Judge contributors by their numbers and credentials.

    Both in honest spreads: `off` is how far each number lies from where it is expected, `apart` how far
    from the middle of all numbers, for those who do not look at the item at all.
    """
    groups = int(codes.max()) + 1
    counts = counted(off, apart, codes)
    known = None if signals is None else _means(signals, codes, groups)
    accounts = [account for tails in TAILS for account in accounts_of(counts, tails)]
    without = max(account.without for account in accounts)
    plain = max(accounts, key=lambda account: account.likelihood)
    chosen = _judged(plain, counts, known)
    gain = plain.likelihood - without - TWENTY_TO_ONE
    if known is not None:
        # Credentials may tell which account is right, if they are worth more than what chance finds in them,
        # their squares and their products: half a nat in each.
        chances = known.shape[1] * (known.shape[1] + 3) / 2
        cost = CLEARLY_MORE + 0.5 * chances
        others = [_judged(a, counts, known) for a in accounts if a.tails == plain.tails and a is not plain]
        right_way = [judged for judged in (chosen, *others) if vouched_for(known, judged.found.clean)]
        helped = max(right_way, key=lambda judged: judged.likelihood, default=chosen)
        if helped.likelihood - without - cost > max(gain, 0.0):
            chosen, gain = helped, helped.likelihood - without - cost
    before = chosen.found.base + chosen.found.credentials
    return Ways(
        honest=special.expit(before + chosen.odds),
        odds=before + chosen.odds,
        base=chosen.found.base,
        credentials=chosen.found.credentials,
        gain=gain,
        judged=chosen,
    )


def beyond_chance(ways: Ways, off: Floats, apart: Floats, codes: Ints) -> bool:
    """Whether it is clear that somebody is not honest.

    Not if the same numbers, dealt to contributors at random, show as much: then it is their shape that
    is unusual, not a contributor.
    """
    if ways.gain <= 0:
        return False
    dealt = np.random.default_rng(0).permutation(codes)
    accounts = [a for tails in TAILS for a in accounts_of(counted(off, apart, dealt), tails)]
    luck = max(a.likelihood for a in accounts) - max(a.without for a in accounts)
    return ways.gain > luck


def label_ratios(ways: Ways, off: Floats, apart: Floats, codes: Ints) -> Floats:
    """For each label, the log-ratio of its likelihood if its contributor is honest to that if not.

    Given the contributor's other labels: a label does not vouch for itself.
    """
    account, counts, odds, _, _ = ways.judged
    ratio = np.empty(len(off))
    order = np.argsort(codes, kind="stable")
    for start in range(0, len(off), ROWS):
        rows = order[start : start + ROWS]
        present, who = np.unique(codes[rows], return_inverse=True)
        first, second = bins_of(off[rows]), BINS + bins_of(apart[rows])
        gone = []
        for prior in (account.honest, account.other):
            # Points that no contributor is near count for nothing.
            total = counts[present] @ densities(account.tails) + prior
            near = np.flatnonzero((total - total.max(axis=1, keepdims=True)).max(axis=0) > -NEVER)
            table = densities(account.tails)[:, near]
            gone.append(special.logsumexp(total[:, near][who] - table[first] - table[second], axis=1))
        ratio[rows] = odds[codes[rows]] - gone[0] + gone[1]
    return ratio


def vouched_for(credentials: Floats, believed: Floats) -> bool:
    """Whether those who are believed have the better credentials.

    Credentials count in whichever direction the data supports, but of two camps they may only accuse the one
    that has the worse: else which camp is honest would be a toss.
    """
    right = believed @ credentials / max(float(believed.sum()), 1e-9)
    wrong = (1 - believed) @ credentials / max(float((1 - believed).sum()), 1e-9)
    return bool(right.sum() >= wrong.sum())


def _judged(account: Account, counts: sparse.csr_array, known: Floats | None) -> Judged:
    """Log-odds of being honest by an account, and what credentials are worth for it."""
    groups = counts.shape[0]
    honest, other = np.empty(groups), np.empty(groups)
    for start in range(0, groups, ROWS):
        some = slice(start, start + ROWS)
        total = counts[some] @ densities(account.tails)
        honest[some] = special.logsumexp(total + account.honest, axis=1)
        other[some] = special.logsumexp(total + account.other, axis=1)
    odds = honest - other
    bounded = np.clip(odds, -WIDEST_ODDS, WIDEST_ODDS)
    found = weigh_evidence(Likelihoods(np.exp(bounded), np.ones(len(odds))), known, None, account.share)
    mixed = np.log(found.expected + (1 - found.expected) * np.exp(-bounded))
    # Of as many contributors as the account itself rests on.
    few = spread_rows(len(odds), SOME)
    return Judged(account, counts, odds, found, float((mixed + honest)[few].sum()))


def _means(signals: Floats, codes: Ints, groups: int) -> Floats | None:
    """Each contributor's mean credentials; None where all have the same."""
    rows = np.maximum(np.bincount(codes, minlength=groups), 1)
    means = np.stack([np.bincount(codes, column, groups) / rows for column in signals.T], axis=1)
    return means if np.ptp(means, axis=0).max() > 1e-9 else None
