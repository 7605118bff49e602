"""The probability that each client is honest, given updates and credentials.

The number of malicious clients is inferred, so no client is dropped to fill a quota. Weakness: if at least
half of the clients agree on a wrong update, they are taken for honest, unless credentials differ.
"""

import numpy as np
from scipy import special

from anml.core.checks import Floats
from anml.core.stats import standardise

# Prior: one client in ten deviates; it weighs as much as ten clients.
HONEST_PRIOR, PRIOR_STRENGTH = 0.9, 10.0
# Largest scatter of the agreement of honest clients: of the cosine, of the log distance to the median and of
# that to the nearest half of the clients; the smallest is a quarter of it. Its prior weighs as four clients.
MAX_SCATTER, SCATTER_PRIOR_STRENGTH = np.array([0.15, 0.15, 0.08]), 4.0
# The others lie below the honest ones: by half of this in the prior, uniform over its range.
DEVIATION_SCALE = np.array([1.5, 1.0, 0.6])
# Ridge on the slopes: how many nats one standard deviation of a credential may add to the log-odds.
RIDGE = 2.0
MAX_ITERATIONS = 60
# Largest evidence of one round in later rounds, and for a client in the same round, in nats; decay per round.
MAX_CARRIED_NATS, MAX_NATS_FOR, ROUND_DECAY = 3.0, 5.0, 0.8


def carry_over_evidence(before: Floats, nats: Floats) -> Floats:
    """Add the evidence of a round; earlier evidence decays by a fifth, so that changes are detected."""
    return np.asarray(ROUND_DECAY * before + nats)


def p_honest(
    agrees: Floats, credentials: Floats | None = None, before: Floats | float = 0.0
) -> tuple[Floats, Floats]:
    """Return the probability that each client is honest, and the evidence of updates alone, in nats.

    A mixture of two kinds of clients: honest ones scatter around a mean, the others around a lower mean. No
    client deviates by agreeing more, so the upper half of the clients shows the scatter of honest ones.
    """
    signs = np.zeros((len(agrees), 0)) if credentials is None else standardise(credentials)
    earlier = np.broadcast_to(np.asarray(before, dtype=np.float64), len(agrees))
    total = (agrees / MAX_SCATTER).sum(axis=1) + earlier
    # Two starts: all clients are honest, or only the half that agrees most. The more probable fit is kept.
    starts = (np.ones(len(agrees)), np.where(total >= np.median(total), 1.0, 0.0))
    best = max((_run_em(agrees, signs, earlier, p) for p in starts), key=lambda one: one[0])
    return best[1], best[2]


def _run_em(agrees: Floats, signs: Floats, before: Floats, p: Floats) -> tuple[float, Floats, Floats]:
    """Run EM from a start; return the log-likelihood with priors, P(honest), and nats."""
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
    for fitted_variance, prior in ((spread, scatter), (wide, DEVIATION_SCALE**2 / 12)):
        priors -= SCATTER_PRIOR_STRENGTH / 2 * (np.log(fitted_variance) + prior / fitted_variance).sum()
    priors -= (6 * np.square((place - first) / DEVIATION_SCALE)).sum() + RIDGE / 2 * (slopes @ slopes)
    return float(fit + priors), after, np.clip(near - far, -MAX_CARRIED_NATS, MAX_CARRIED_NATS)


def _max_honest_scatter(agrees: Floats) -> Floats:
    """Return the limit of the scatter of honest clients: twice the scatter of the upper half."""
    above = np.maximum(agrees - np.median(agrees, axis=0), 0.0)
    upper = np.sqrt(np.square(above).sum(axis=0) / max(1.0, (len(agrees) - 1) / 2))
    return np.asarray(np.clip(2 * upper, MAX_SCATTER / 4, MAX_SCATTER))


def _variance(off: Floats, p: Floats, prior: Floats) -> Floats:
    return np.asarray(
        (p @ np.square(off) + SCATTER_PRIOR_STRENGTH * prior) / (p.sum() + SCATTER_PRIOR_STRENGTH)
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
