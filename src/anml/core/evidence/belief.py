"""What is believed of every label and of every contributor: the one object that everything else reads."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.consensus import equal_voices
from anml.core.evidence.classes import RIGHT, SURE, Annotators
from anml.core.evidence.side import BEFOREHAND
from anml.core.stats import Estimate, beta_interval

# Above this share of the rows, those who contradict the others may be the ones who are right.
LARGE_CAMP = 0.38


@dataclass(frozen=True, eq=False)
class Contributor:
    """What is believed of the contributors, one value each.

    Parameters
    ----------
    types
        Posterior of being honest, answering without looking, deviating (contributors, 3).
    verdict
        One of `anml.core.verdicts.VERDICTS`.
    log_bayes_factor
        Evidence of the labels against being honest.
    quality, low, high
        Expected share of right labels, and its 95% interval.
    good, bad
        How many labels seen to be right, and wrong, that rests on, credentials left aside.
    false_accusations
        How many of the accusations are expected to be false.
    """

    types: Floats
    verdict: list[str]
    log_bayes_factor: Floats
    quality: Floats
    low: Floats
    high: Floats
    good: Floats
    bad: Floats
    false_accusations: float

    def reputation(self) -> dict[str, Floats]:
        """Reputation learned from the labels alone: r with its 95% interval, and what it rests on.

        No credentials, T or weights are in it: a reputation that is fed by its own effect feeds itself.
        """
        r, low, high = _share(self.good, self.bad)
        return {"r": r, "low": low, "high": high, "good": self.good, "bad": self.bad}


@dataclass(frozen=True, eq=False)
class Belief:
    """What one fit believes.

    Parameters
    ----------
    p_correct
        Probability that each label is right.
    base, credentials, contributor, model
        Its log-odds in four parts: of all labels, and what credentials, contributor and predictions add.
    truth
        Posterior of the classes of each row (n, classes), or mean and deviation of its right number (n, 2).
    predicted
        Pooled held-out predictions: log-probabilities (n, classes), or numbers (n,).
    shares
        How far each predictor counts in the pool.
    wrong
        Share of wrong labels, from what is surely wrong to what predictions contradict.
    contributors
        None where contributors are not known.
    alone
        Labels that rest on their contributor alone: neither believed nor condemned.
    doubtful
        Why the result must not be relied on; None where it may.
    """

    p_correct: Floats
    base: float
    credentials: Floats
    contributor: Floats
    model: Floats
    truth: Floats
    predicted: Array
    shares: dict[str, float]
    wrong: Estimate
    contributors: Contributor | None
    alone: Bools
    doubtful: str | None
    help: str | None = None
    opposed: float = 0.0

    @property
    def r_free(self) -> Floats:
        """Probability that each label is right, by anything but its credentials."""
        return np.asarray(special.expit(log_odds(self.p_correct) - self.credentials))


def mixed(weights: Floats, parts: list[Floats]) -> Floats:
    """Mean over hypotheses."""
    return np.asarray(sum(w * part for w, part in zip(weights, parts, strict=True)))


def quality_of(p: Floats, codes: Ints, groups: int, told: float) -> tuple[Floats, ...]:
    """Share of right labels of each contributor with its interval, and the labels that it rests on.

    `told` is how far predictions tell labels at all: labels that cannot be checked count for less.
    """
    right: Floats = np.asarray(told * np.bincount(codes, p, groups))
    wrong: Floats = np.asarray(told * np.bincount(codes, minlength=groups) - right)
    return *_share(right, wrong), right, wrong


def _share(right: Floats, wrong: Floats) -> tuple[Floats, Floats, Floats]:
    """Share of right labels, and its interval: pulled to what is usual by a few labels' worth of doubt."""
    usual = special.expit(RIGHT[0])
    a, b = right + BEFOREHAND * usual, wrong + BEFOREHAND * (1 - usual)
    low, high = beta_interval(a, b)
    return a / (a + b), low, high


def told_by(predicted: Floats, y: Ints) -> float:
    """How much better than the commonest class predictions and other labels tell it: 0 nothing, 1 all."""
    named = float((predicted.argmax(axis=1) == y).mean())
    common = float(np.bincount(y).max() / len(y))
    return float(np.clip((named - common) / max(1 - common, 1e-9), 0.05, 1.0))


def believe_classes(
    fits: list[Annotators], weights: Floats, shares: dict[str, float], alone: Bools | None
) -> Belief:
    """Sum up the hypotheses on how honest labels go wrong; verdicts on contributors come after."""
    labels = fits[0].labels
    p = np.clip(mixed(weights, [fit.p_correct() for fit in fits]), 1e-9, 1 - 1e-9)
    opposed = float(mixed(weights, [np.array(fit.opposed()) for fit in fits]))
    seen = np.exp(mixed(weights, [fit.seen for fit in fits]))
    credentials = mixed(weights, [fit.features_worth() for fit in fits])
    if opposed > 0.5:
        # Nobody's word counts for more than another's: labels are as right as they are usual for their item.
        p = np.full(labels.n, float(p.mean()))
        if labels.shared:
            p = equal_voices(labels.y, labels.item, labels.classes, float(p[0]))[labels.item, labels.y]
            p = np.clip(p, 1e-9, 1 - 1e-9)
    if alone is not None:
        # What rests on its contributor alone is as right as labels are on average: not condemned.
        p = np.where(alone, np.maximum(p, p.mean()), p)
    base = float(log_odds(np.array(p.mean())))
    contributor = np.zeros(labels.n)
    if labels.people:
        quality = quality_of(p, labels.who, labels.count, told_by(seen, labels.y))[0]
        contributor = (log_odds(quality) - base)[labels.who]
    return Belief(
        p_correct=p,
        base=base,
        credentials=credentials,
        contributor=contributor,
        model=log_odds(p) - base - credentials - contributor,
        truth=mixed(weights, [fit.posterior() for fit in fits]),
        predicted=labels.log_p,
        shares=shares,
        wrong=_wrong_share(p, seen, labels.y),
        contributors=None,
        alone=np.zeros(labels.n, dtype=bool) if alone is None else alone,
        doubtful=reason_for_doubt(opposed),
        opposed=opposed,
    )


def reason_for_doubt(opposed: float) -> str | None:
    """Why nobody can be accused: those who contradict the others may be right; None where that is clear."""
    if opposed > LARGE_CAMP:
        return (
            f"contributors of {opposed:.0%} of the rows contradict the others, and which of the two sides is "
            "right cannot be told from the labels alone"
        )
    return None


def _wrong_share(p: Floats, seen: Floats, y: Ints) -> Estimate:
    """How many labels are wrong: at least those surely so, at most those that predictions contradict."""
    mean = float(1 - p.mean())
    low, high = float((p < 0.05).mean()), float((seen.argmax(axis=1) != y).mean())
    return Estimate(mean, min(low, mean), max(high, mean))


def log_odds(p: Floats) -> Floats:
    """Log-odds, within what a belief can be sure of."""
    return np.asarray(np.clip(special.logit(np.clip(p, 1e-12, 1 - 1e-12)), -2 * SURE, 2 * SURE))
