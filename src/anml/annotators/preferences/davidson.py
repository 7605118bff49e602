"""Choices between two, with ties: Davidson's law, and what a Gaussian belief becomes by a person's choices.

P(first) : P(second) : P(tie) = exp(f / 2) : exp(-f / 2) : exp(t), where f is the pull towards the first and t
the readiness to call a tie; without ties it is Bradley and Terry's. R. R. Davidson, JASA 1970.
"""

from typing import NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats, Ints

FIRST, SECOND, TIE = 0, 1, 2
# A readiness at which nobody ever calls a tie.
NO_TIES = -40.0
# The least curvature of a choice, and the step of a pull at which the search ends.
MIN_CURVATURE, TOLERANCE, MAX_ITERATIONS = 1e-6, 2e-3, 16
# By so much the ties, found in the same steps, may make the choices less likely.
MAX_LIKELIHOOD_DROP = 1.0
# Where a normal distribution is looked at for a mean over it, and how far each place counts.
_places, _weights = np.polynomial.hermite_e.hermegauss(9)
NODES = _places, _weights / _weights.sum()


def choice_probabilities(pull: Floats, tie: Floats | float, variance: Floats | None = None) -> Floats:
    """Probabilities of first, second and tie, along the first axis; the mean over a pull with a variance.

    Examples
    --------
    >>> choice_probabilities(np.array([0.0, 2 * np.log(2)]), 0.0).round(3)
    array([[0.333, 0.571],
           [0.333, 0.143],
           [0.333, 0.286]])
    """
    if variance is not None:
        spread = np.sqrt(variance)
        return np.asarray(
            sum(w * choice_probabilities(pull + x * spread, tie) for x, w in zip(*NODES, strict=True))
        )
    odds = np.stack(np.broadcast_arrays(pull / 2, -pull / 2, tie))
    odds = np.exp(odds - odds.max(axis=0))
    return np.asarray(odds / odds.sum(axis=0))


def slope_and_curvature(p: Floats, choice: Ints) -> tuple[Floats, Floats]:
    """First and (minus the) second derivative in the pull of the log-probability of what was chosen."""
    lean = p[FIRST] - p[SECOND]
    toward = np.where(choice == FIRST, 0.5, np.where(choice == SECOND, -0.5, 0.0))
    return toward - lean / 2, np.maximum((p[FIRST] + p[SECOND] - lean**2) / 4, MIN_CURVATURE)


class Mode(NamedTuple):
    """A Gaussian approximation around the likeliest pulls of some people, one row of arrays each.

    `evidence` is the log-probability of the choices; `force` is K^-1 (pull - mean), `curvature` W; `tie` and
    `tie_variance` are the readiness to call a tie.
    """

    evidence: Floats
    pull: Floats
    force: Floats
    slope: Floats
    curvature: Floats
    tie: Floats
    tie_variance: Floats

    def precision(self, covariance: Floats) -> Floats:
        """Precision of the mean of pulls with covariance K given the choices: the inverse of K + 1 / W."""
        root = np.sqrt(self.curvature)
        inverse = np.linalg.inv(_inner(root, covariance))
        return np.asarray(root[:, :, None] * inverse * root[:, None, :])


def laplace(
    choice: Ints, used: Bools, mean: Floats, covariance: Floats, tie: float, tie_variance: float
) -> Mode:
    """Find the mode for many people at once, each with pulls N(mean, covariance); padding is not `used`.

    The readiness to call a tie is N(tie, tie_variance), and found in the same steps.
    """
    pull, force, own = mean.copy(), np.zeros_like(mean), np.full(len(choice), tie)
    tied, step = (choice == TIE) & used, np.ones((len(choice), 1))
    reached = np.full(len(choice), -np.inf)
    for _ in range(MAX_ITERATIONS):
        p = choice_probabilities(pull, own[:, None])
        slope, curvature = (part * used for part in slope_and_curvature(p, choice))
        if tie_variance > 0:
            gain = (tied - p[TIE] * used).sum(axis=1) - (own - tie) / tie_variance
            own = own + np.clip(gain / _tie_precision(p, used, tie_variance), -1, 1)
        root = np.sqrt(curvature)
        target = curvature * (pull - mean) + slope
        moved = (covariance @ target[..., None])[..., 0]
        solved = np.linalg.solve(_inner(root, covariance), (root * moved)[..., None])[..., 0]
        there = force + step * (target - root * solved - force)
        pulled = mean + (covariance @ there[..., None])[..., 0]
        # A step that makes the choices less likely is too long for that person: half of it is tried next.
        likely = _log_likelihood(choice_probabilities(pulled, own[:, None]), choice, used)
        height = likely - 0.5 * (there * (pulled - mean)).sum(axis=1)
        up = (height >= reached - MAX_LIKELIHOOD_DROP)[:, None]
        far = np.abs(np.where(up, pulled - pull, TOLERANCE)).max(initial=0.0)
        force, pull = np.where(up, there, force), np.where(up, pulled, pull)
        reached = np.where(up[:, 0], height, reached)
        step = np.where(up, np.minimum(2 * step, 1.0), step / 2)
        if far < TOLERANCE:
            break
    p = choice_probabilities(pull, own[:, None])
    slope, curvature = (part * used for part in slope_and_curvature(p, choice))
    evidence = _log_likelihood(p, choice, used) - 0.5 * (force * (pull - mean)).sum(axis=1)
    evidence = evidence - 0.5 * np.linalg.slogdet(_inner(np.sqrt(curvature), covariance))[1]
    spread = np.zeros(len(choice))
    if tie_variance > 0:
        spread = 1 / _tie_precision(p, used, tie_variance)
        evidence = evidence - 0.5 * (own - tie) ** 2 / tie_variance + 0.5 * np.log(spread / tie_variance)
        # Whoever calls few ties may call far fewer still: the mean lies beyond the mode.
        skew = (p[TIE] * (1 - p[TIE]) * (1 - 2 * p[TIE]) * used).sum(axis=1)
        own = own - 0.5 * spread**2 * skew
    return Mode(evidence, pull, force, slope, curvature, own, spread)


def _log_likelihood(p: Floats, choice: Ints, used: Bools) -> Floats:
    """Log-probability of all that each person chose."""
    chosen = np.log(np.take_along_axis(p, choice[None], axis=0)[0] + 1e-300)
    return np.asarray((chosen * used).sum(axis=1))


def _inner(root: Floats, covariance: Floats) -> Floats:
    return np.asarray(np.eye(root.shape[1]) + root[:, :, None] * covariance * root[:, None, :])


def _tie_precision(p: Floats, used: Bools, tie_variance: float) -> Floats:
    return np.asarray((p[TIE] * (1 - p[TIE]) * used).sum(axis=1) + 1 / tie_variance)
