"""The probability that each client is honest, given updates and credentials.

How many clients are malicious is not told but inferred, so nobody is dropped to fill a quota. Its weakness:
half of the clients or more that agree on a lie are believed, unless credentials differ.
"""

import numpy as np
from scipy import special

from anml.core.checks import Floats
from anml.core.stats import standardise

# Before anything is seen one client in ten is taken to deviate, which counts as much as ten clients.
HONEST_PRIOR, PRIOR_STRENGTH = 0.9, 10.0
# Honest clients' agreement scatters at most so much, as cosine, as log distance to the middle and to the
# nearest half of the clients, and at least a quarter of it; that counts as four clients.
MAX_SCATTER, SCATTER_PRIOR_STRENGTH = np.array([0.15, 0.15, 0.08]), 4.0
# The others are below the middle of the honest: half of this beforehand, and as widely as if anywhere in it.
DEVIATION_SCALE = np.array([1.5, 1.0, 0.6])
# How far a credential of one standard deviation may move the odds, in nats: a ridge on the slopes.
RIDGE = 2.0
MAX_ITERATIONS = 60
# The most that one round says of a client later on, and for it in that round, in nats; how much of earlier
# rounds is kept.
MAX_CARRIED_NATS, MAX_NATS_FOR, ROUND_DECAY = 3.0, 5.0, 0.8


def carry_over_evidence(before: Floats, nats: Floats) -> Floats:
    """Add the evidence of a round; earlier evidence decays by a fifth, so that changes are detected."""
    return np.asarray(ROUND_DECAY * before + nats)


def p_honest(
    agrees: Floats, credentials: Floats | None = None, before: Floats | float = 0.0
) -> tuple[Floats, Floats]:
    """Probability that each client is honest, by two kinds of clients; and what updates alone say, in nats.

    Honest ones scatter round a middle, the others round a place of their own below it. Nobody deviates by
    agreeing more, so that the upper half of the clients tells how widely honest ones scatter.
    """
    signs = np.zeros((len(agrees), 0)) if credentials is None else standardise(credentials)
    earlier = np.broadcast_to(np.asarray(before, dtype=np.float64), len(agrees))
    total = (agrees / MAX_SCATTER).sum(axis=1) + earlier
    # From all being honest, and from the half that agrees most alone: the likelier of where both lead.
    starts = (np.ones(len(agrees)), np.where(total >= np.median(total), 1.0, 0.0))
    found = max((_run_em(agrees, signs, earlier, p) for p in starts), key=lambda one: one[0])
    return found[1], found[2]


def _run_em(agrees: Floats, signs: Floats, before: Floats, p: Floats) -> tuple[float, Floats, Floats]:
    """Expectation and maximisation in turn; the log-likelihood, priors counted, P(honest), and nats."""
    n, slopes = len(agrees), np.zeros(signs.shape[1])
    scatter, wide = _max_honest_scatter(agrees) ** 2, DEVIATION_SCALE**2 / 12
    for _ in range(MAX_ITERATIONS):
        middle = p @ agrees / p.sum()
        spread = _variance(agrees - middle, p, scatter)
        first = middle - DEVIATION_SCALE / 2
        place = (1 - p) @ agrees / wide + 12 * first / DEVIATION_SCALE**2
        place = np.minimum(place / ((1 - p).sum() / wide + 12 / DEVIATION_SCALE**2), middle)
        wide = np.maximum(_variance(agrees - place, 1 - p, DEVIATION_SCALE**2 / 12), spread)
        share = (p.sum() + PRIOR_STRENGTH * HONEST_PRIOR) / (n + PRIOR_STRENGTH)
        base = float(special.logit(share))
        slopes = _slopes(signs, p, base + before, slopes)
        odds = base + before + signs @ slopes
        near = _log_density(np.minimum(agrees - middle, 0.0), spread)
        far = _log_density(agrees - place, wide)
        # One round that agrees does not outweigh many that did not.
        after = special.expit(np.clip(odds + -np.logaddexp(far - near, -MAX_NATS_FOR), -30, 30))
        if np.abs(after - p).max() < 1e-9:
            break
        p = after
    fit = np.logaddexp(special.log_expit(odds) + near, special.log_expit(-odds) + far).sum()
    priors = PRIOR_STRENGTH * (HONEST_PRIOR * np.log(share) + (1 - HONEST_PRIOR) * np.log(1 - share))
    for found, beforehand in ((spread, scatter), (wide, DEVIATION_SCALE**2 / 12)):
        priors -= SCATTER_PRIOR_STRENGTH / 2 * (np.log(found) + beforehand / found).sum()
    priors -= (6 * np.square((place - first) / DEVIATION_SCALE)).sum() + RIDGE / 2 * (slopes @ slopes)
    return float(fit + priors), after, np.clip(near - far, -MAX_CARRIED_NATS, MAX_CARRIED_NATS)


def _max_honest_scatter(agrees: Floats) -> Floats:
    """Limit of the scatter of honest clients: twice the scatter of the upper half."""
    above = np.maximum(agrees - np.median(agrees, axis=0), 0.0)
    upper = np.sqrt(np.square(above).sum(axis=0) / max(1.0, (len(agrees) - 1) / 2))
    return np.asarray(np.clip(2 * upper, MAX_SCATTER / 4, MAX_SCATTER))


def _variance(off: Floats, p: Floats, beforehand: Floats) -> Floats:
    return np.asarray(
        (p @ np.square(off) + SCATTER_PRIOR_STRENGTH * beforehand) / (p.sum() + SCATTER_PRIOR_STRENGTH)
    )


def _log_density(off: Floats, spread: Floats) -> Floats:
    return np.asarray(-0.5 * (np.square(off) / spread + np.log(2 * np.pi * spread)).sum(axis=1))


def _slopes(signs: Floats, p: Floats, base: Floats, slopes: Floats) -> Floats:
    """One Newton step of a logistic regression of P(honest) on credentials, with a ridge."""
    if not signs.shape[1]:
        return slopes
    fitted = special.expit(base + signs @ slopes)
    slope = signs.T @ (p - fitted) - RIDGE * slopes
    curve = (signs * (fitted * (1 - fitted))[:, None]).T @ signs + RIDGE * np.eye(signs.shape[1])
    return np.asarray(slopes + np.linalg.solve(curve, slope))
