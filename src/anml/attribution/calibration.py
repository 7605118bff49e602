"""Influence of contributors from scores and a few retrainings on coalitions: empirical Bayes, and LDS.

The loss of topic g after retraining m is b_g + sum_c left[m, c] theta[g, c] + noise. The effect
theta[g, c] of excluding contributor c has the prior a_g score[g, c] + b rows[c] + u_c + v_gc: a slope that
varies by topic, the level that only coalitions of different size show, and residuals. The variances of all
terms have the largest marginal likelihood, so that scores which do not predict the retrainings get no slope.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize, stats

from anml.core.checks import Bools, Floats, Ints

# Standard deviation of the logarithm of each standard deviation, around a third of that of the losses.
LOG_SPREAD = 1.5
TERMS = ("slope", "slope by topic", "rows", "contributor", "contributor by topic", "retraining", "noise")


@dataclass(frozen=True)
class Retrainings:
    """Coalitions excluded (retrainings, contributors) and losses of queries (retrainings, queries).

    `repeats` are pairs of retrainings of the same coalition with different seeds.
    """

    left: Floats
    losses: Floats
    repeats: tuple[tuple[int, int], ...] = ()

    def without(self, one: int) -> "Retrainings":
        """All retrainings but one."""
        kept = np.arange(len(self.left)) != one
        return Retrainings(self.left[kept], self.losses[kept])

    def averaged(self, mean: Floats) -> "Retrainings":
        """Losses of weighted means of queries; `mean` is (topics, queries)."""
        return replace(self, losses=self.losses @ mean.T)


def draw_coalitions(count: int, retrainings: int, rng: np.random.Generator) -> tuple[Bools, list[int]]:
    """Draw coalitions of 30 to 70% of the contributors, in complementary pairs, and repeats of the first.

    Returns members (retrainings, contributors) and, for each retraining, the coalition that it repeats or -1.
    """
    repeats = retrainings // 5 if retrainings >= 8 else 0
    drawn: list[Bools] = []
    while len(drawn) < retrainings - repeats:
        low, high = max(1, round(0.3 * count)), max(1, count // 2)
        members = np.zeros(count, dtype=bool)
        members[rng.permutation(count)[: rng.integers(low, high + 1)]] = True
        drawn += [members, ~members]
    drawn = drawn[: retrainings - repeats]
    repeated = [-1] * len(drawn) + list(range(repeats))
    return np.array(drawn + drawn[:repeats]), repeated


class Effects(NamedTuple):
    """Posterior of the effect of leaving each contributor out on a weighted mean of topics."""

    mean: Floats
    covariance: Floats


class EffectFit:
    """Posterior of effects from retrainings, scores (topics, contributors) and rows (contributors)."""

    def __init__(
        self, trainings: Retrainings, scores: Floats, rows: Floats, log_sd: Floats | None = None
    ) -> None:
        contrast = linalg.helmert(len(trainings.left))
        self.left, losses = contrast @ trainings.left, contrast @ trainings.losses
        self.unit = float(np.sqrt(np.square(losses).mean())) or 1.0
        self.y = (losses / self.unit).ravel()
        predicted = self.left @ scores.T
        self.scores = scores / max(float(np.sqrt(np.square(predicted).mean())), 1e-300)
        level = self.left @ rows
        self.rows = rows / max(float(np.sqrt(np.square(level).mean())), 1e-300)
        self.among = 1.0 / np.sqrt(max(float(np.square(self.left).sum(1).mean()), 1e-300))
        self.topics = len(scores)
        self._prepare()
        self.log_sd, self.log_evidence = self._fitted() if log_sd is None else (log_sd, np.nan)
        self.factor = linalg.cho_factor(self._covariance(np.exp(2 * self.log_sd)), lower=True)
        self.solved = linalg.cho_solve(self.factor, self.y)

    def _prepare(self) -> None:
        """Covariances of all losses, (retrainings x topics) squared, of each term with variance one."""
        m, g = len(self.left), self.topics
        p, level = (self.left @ self.scores.T).ravel(), self.left @ self.rows
        same_topic = np.tile(np.eye(g), (m, m))
        slopes = np.outer(p, p)
        among = np.kron(self.left @ self.left.T * self.among**2, np.ones((g, g)))
        self.terms = (
            slopes, slopes * same_topic, np.kron(np.outer(level, level), np.ones((g, g))),
            among, among * same_topic, np.kron(np.eye(m), np.ones((g, g))), np.eye(m * g),
        )  # fmt: skip

    def _covariance(self, variance: Floats) -> Floats:
        total = np.asarray(sum(v * term for v, term in zip(variance, self.terms, strict=True)))
        total[np.diag_indices_from(total)] += 1e-9 * total.trace() / len(total)
        return total

    def _fitted(self) -> tuple[Floats, float]:
        centre = np.full(len(TERMS), np.log(1 / 3))
        # With one topic a variation by topic cannot be told from the common term.
        fixed = np.array([self.topics == 1 and name.endswith("by topic") for name in TERMS])
        fixed[TERMS.index("noise")] = False

        def objective(log_sd: Floats) -> tuple[float, Floats]:
            variance = np.where(fixed, 1e-12, np.exp(2 * log_sd))
            k = self._covariance(variance)
            factor = linalg.cho_factor(k, lower=True)
            solved = linalg.cho_solve(factor, self.y)
            inverse = linalg.cho_solve(factor, np.eye(len(k)))
            away = (log_sd - centre) / LOG_SPREAD
            value = 0.5 * self.y @ solved + np.log(np.diag(factor[0])).sum() + 0.5 * away @ away
            slope = [
                v * (np.vdot(inverse, term) - solved @ term @ solved)
                for v, term in zip(variance, self.terms, strict=True)
            ]
            return float(value), np.where(fixed, 0.0, slope) + away / LOG_SPREAD

        result = optimize.minimize(
            objective, centre, jac=True, method="L-BFGS-B", bounds=[(-8, 4)] * len(centre),
            options={"maxiter": 60},
        )  # fmt: skip
        log_sd = np.where(fixed, np.log(1e-6), result.x)
        units = len(self.y) * np.log(self.unit)
        return log_sd, -float(result.fun) - units

    def only(self, terms: Sequence[str]) -> Floats:
        """The logarithms of the standard deviations, with no effect beyond these terms."""
        kept = [name in (*terms, "retraining", "noise") for name in TERMS]
        return np.where(kept, self.log_sd, -20.0)

    def effects(self, mean: Floats) -> Effects:
        """Posterior of the effect on a mean of topics with these weights, in units of the loss."""
        slope, by_topic, rows, one, one_by_topic = np.exp(2 * self.log_sd)[:5]
        one, one_by_topic = one * self.among**2, one_by_topic * self.among**2
        total = mean @ self.scores
        p, level = self.left @ self.scores.T, self.left @ self.rows
        ones = np.ones(self.topics)
        # Covariance of the effect of each contributor with each loss, (contributors, retrainings, topics).
        cross = slope * total[:, None, None] * p
        cross = cross + by_topic * (self.scores.T * mean)[:, None, :] * p
        cross = cross + rows * mean.sum() * self.rows[:, None, None] * level[:, None] * ones
        cross = cross + self.left.T[:, :, None] * (one * mean.sum() * ones + one_by_topic * mean)
        flat = cross.reshape(len(total), -1)
        prior = slope * np.outer(total, total) + rows * mean.sum() ** 2 * np.outer(self.rows, self.rows)
        prior += by_topic * (self.scores.T * mean**2) @ self.scores
        prior += (one * mean.sum() ** 2 + one_by_topic * float(mean @ mean)) * np.eye(len(total))
        covariance = prior - flat @ linalg.cho_solve(self.factor, flat.T)
        return Effects(flat @ self.solved * self.unit, covariance * self.unit**2)

    def slopes(self) -> Floats:
        """Posterior mean of each topic's slope, on the scaled scores."""
        slope, by_topic = np.exp(2 * self.log_sd)[:2]
        pulled = (self.left @ self.scores.T) * self.solved.reshape(len(self.left), -1)
        return np.asarray((slope * pulled.sum() + by_topic * pulled.sum(0)) * self.unit)


def lds(predicted: Floats, actual: Floats) -> Floats:
    """Linear datamodeling score: Spearman correlation over coalitions (first axis), for each query."""
    ranks = [stats.rankdata(each, axis=0) for each in (predicted, actual)]
    a, b = (each - each.mean(axis=0) for each in ranks)
    length = np.sqrt(np.square(a).sum(axis=0) * np.square(b).sum(axis=0))
    return np.asarray(np.divide((a * b).sum(axis=0), length, out=np.zeros(len(length)), where=length > 0))


def beyond(values: Floats, known: Floats) -> Floats:
    """Residuals of each column of values (retrainings, queries) after a regression on known quantities.

    `known` is (retrainings, quantities), or (queries, retrainings, quantities) where queries differ.
    """
    if known.ndim == 2:
        design = np.c_[np.ones(len(known)), known]
        return np.asarray(values - design @ np.linalg.lstsq(design, values, rcond=None)[0])
    return np.stack([beyond(values[:, [q]], known[q])[:, 0] for q in range(values.shape[1])], axis=1)


def ceiling(trainings: Retrainings) -> Floats | None:
    """Largest correlation with these losses that noise between seeds allows, for each query."""
    if not trainings.repeats:
        return None
    one, two = (trainings.losses[list(each)] for each in zip(*trainings.repeats, strict=True))
    # Queries with few repeats share the estimate of the noise, in units of each query's variance.
    variance = np.maximum(trainings.losses.var(axis=0, ddof=1), 1e-30)
    noise = float((np.square(one - two) / 2 / variance).mean())
    return np.full(len(variance), np.sqrt(max(1.0 - min(noise, 1.0), 0.0)))


def fisher_interval(correlation: float, count: int) -> tuple[float, float]:
    """95% interval of a correlation of `count` pairs."""
    if count < 5:
        return -1.0, 1.0
    middle = np.arctanh(np.clip(correlation, -0.999, 0.999))
    half = 1.96 * 1.03 / np.sqrt(count - 3)
    return float(np.tanh(middle - half)), float(np.tanh(middle + half))


def bootstrap_mean(values: Floats, rng: np.random.Generator, draws: int = 1_000) -> tuple[float, float]:
    """95% interval of a mean."""
    means = values[rng.integers(len(values), size=(draws, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def topic_means(topic: Ints, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean of the queries of each topic (topics, queries), and each topic's share of the weight."""
    hot = np.eye(int(topic.max()) + 1)[topic].T * weight
    total = hot.sum(axis=1)
    return hot / np.maximum(total, 1e-300)[:, None], total / total.sum()
