"""P(label is right | what the model sees, what the credentials say, who contributed it).

A label is right with probability pi_i, and then follows the model's held-out prediction at some
temperature; else it is any other class alike. The log-odds of pi_i are a common base, plus what the
credentials are worth (learned, in whichever direction the data supports), plus an effect of the
contributor (shrunk to zero, so that few rows do not convict). Everything is found by maximising the
likelihood of the labels as given; no truth and no thresholds are needed.

Robust because done in steps: temperature and one rate of wrong labels first, without credentials;
then credentials and contributors with the temperature held; then the temperature again, given them.
All at once finds bad optima when credentials lie.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from anml.core.agreement import Habits, alike, habits, others_said
from anml.core.checks import Bools, Floats, Ints
from anml.core.noise import GRID_ROWS, TEMPERATURES, USUAL_MISFIT, Noise, label_noise, spread_rows, tempered

# Spread of what a credential (in standard units) can be worth, and of contributors, in log-odds.
CREDENTIAL_SPREAD = 1.0
CONTRIBUTOR_SPREAD = (0.3, 3.0)
# Before anything is seen most labels are taken to be right: mean and spread of the base, in log-odds.
USUALLY_RIGHT = (2.0, 2.0)
# Log-odds of labels against which nothing speaks.
SURELY_RIGHT = 10.0
# Shares of labels that are many, and hardly any.
MANY, HARDLY_ANY = 0.2, 0.01
STEPS = 60
LONGEST_STEP = 1.0
# How often labels of one item are asked about each other: to find whom to trust, then what to believe.
ASKED_FOR_TRUST, ASKED_FOR_BELIEF = 8, 10
# Networks were taught by the very labels that speak beside them, shared mistakes included. Unless they name
# the class of this share of the labels that are believed, their voice on which class an item is counts half.
KNOWING = 0.8
HALVED = 2.0


class Likelihoods(NamedTuple):
    """How likely each label is if it is right, and if it is wrong."""

    right: Floats
    wrong: Floats


@dataclass(frozen=True)
class Evidence:
    """What is believed of each label, and where the belief comes from.

    Parameters
    ----------
    clean
        Probability that the label is right, all evidence counted.
    expected
        The same before looking at the label itself: by credentials and contributor alone.
    base, credentials, contributor, model
        Log-odds: `base + credentials + contributor` give `expected`, with `model` they give `clean`.
    effect, doubt
        Each contributor's log-odds, and its standard error.
    """

    clean: Floats
    expected: Floats
    base: float
    credentials: Floats
    contributor: Floats
    model: Floats
    effect: Floats
    doubt: Floats


def classify(
    log_probabilities: Floats,
    labels: Ints,
    noise: Noise,
    signals: Floats | None,
    codes: Ints | None,
    items: Ints | None = None,
) -> Evidence:
    """Evidence on class labels, from held-out log-probabilities (n, classes).

    `signals` are the credentials (n, p) in [0, 1], `codes` the contributors, `items` what is labelled;
    None where not known. Where an item has several labels, the others count too, each as far as its
    contributor and credentials are trusted.
    """
    n, classes = log_probabilities.shape
    found = weigh_evidence(Likelihoods(noise.right, noise.wrong), signals, codes, noise.rate)
    rows = spread_rows(n, 4 * GRID_ROWS)
    for _ in range(2):
        temperature = _temperature(log_probabilities[rows], labels[rows], found.expected[rows])
        seen = special.log_softmax(log_probabilities / temperature, axis=1)
        if items is not None and company(items).any():
            found, said = _trust(seen, labels, signals, codes, items, found)
            if not knowing(log_probabilities, labels, found):
                halved = special.log_softmax(log_probabilities / HALVED, axis=1)
                seen = np.where(company(items)[:, None], halved, seen)
            found = _belief(seen, labels, codes, items, found, said)
            continue
        right = np.exp(seen[np.arange(n), labels])
        likelihoods = Likelihoods(right, (1 - right) / (classes - 1))
        found = weigh_evidence(likelihoods, signals, codes, float(1 - found.clean.mean()))
    return found


def knowing(log_probabilities: Floats, labels: Ints, found: Evidence) -> bool:
    """Whether the model's likeliest class is that of most labels that are believed."""
    named = log_probabilities.argmax(axis=1) == labels
    return bool((found.clean * named).sum() > KNOWING * found.clean.sum())


def company(items: Ints) -> Bools:
    """Whether each row's item has other labels."""
    return np.asarray(np.bincount(items)[items] > 1)


def _trust(
    seen: Floats, labels: Ints, signals: Floats | None, codes: Ints | None, items: Ints, found: Evidence
) -> tuple[Evidence, Habits]:
    """Whom to trust, by what the model sees of an item and by its other labels."""
    rows = np.arange(len(labels))
    said = alike(labels, seen.shape[1], found.expected)
    for _ in range(ASKED_FOR_TRUST):
        joint = np.exp(others_said(seen, said.given, items)) * said.given
        # Relative to how often the label is right anyway, which credentials and contributor say.
        expected = np.clip(found.expected, 1e-6, 1 - 1e-6)
        right = joint[rows, labels] / expected
        wrong = (joint.sum(axis=1) - joint[rows, labels]) / (1 - expected)
        found = weigh_evidence(Likelihoods(right, wrong), signals, codes, float(1 - found.clean.mean()))
        said = habits(labels, joint / joint.sum(axis=1, keepdims=True), found.expected, codes)
    return found, said


def _belief(
    seen: Floats, labels: Ints, codes: Ints | None, items: Ints, found: Evidence, said: Habits
) -> Evidence:
    """What to believe of each label, given whom to trust."""
    rows = np.arange(len(labels))
    for _ in range(ASKED_FOR_BELIEF):
        joint = np.exp(others_said(seen, said.given, items)) * said.given
        belief = joint / joint.sum(axis=1, keepdims=True)
        said = habits(labels, belief, found.expected, codes)
    clean = np.clip(belief[rows, labels], 1e-12, 1 - 1e-12)
    beforehand = found.base + found.credentials + found.contributor
    return replace(found, clean=clean, model=special.logit(clean) - beforehand)


def nothing_wrong(found: Evidence) -> Evidence:
    """Every label believed: what remains when nothing speaks clearly against any of them."""
    none = np.zeros_like(found.clean)
    surely = np.full_like(none, special.expit(SURELY_RIGHT))
    return replace(
        found, clean=surely, expected=surely, base=SURELY_RIGHT,
        credentials=none, contributor=none, model=none, effect=np.zeros_like(found.effect),
    )  # fmt: skip


def by_contributor(found: Evidence, log_probabilities: Floats, labels: Ints, codes: Ints) -> Evidence:
    """Judge contributors whole where nothing speaks for judging their labels one by one.

    The model contradicts a few labels of any honest table. Of those who are mostly believed, taken together,
    it may contradict no more than that, with a rate of wrong labels that explains its predictions no better
    than it costs to assume one; or hardly any. What it holds against single labels then is that they are
    hard, and does not count. And where no more labels than the usual few of somebody who is not believed
    agree with the model, they do by accident.
    """
    contradicted = found.clean < 0.5
    size, against = np.bincount(codes), np.bincount(codes, contradicted)
    trusted = np.bincount(codes, found.expected) > size / 2
    hard = (trusted & (against < MANY * size))[codes]
    share = float(contradicted[hard].mean()) if hard.any() else 1.0
    if share > HARDLY_ANY and (share > USUAL_MISFIT or wrong_among(log_probabilities[hard], labels[hard])):
        hard = np.zeros_like(hard)
    accident = (~trusted & (size - against <= USUAL_MISFIT * size))[codes]
    model = np.where(hard, np.maximum(found.model, 0.0), found.model)
    model = np.where(accident, np.minimum(model, 0.0), model)
    beforehand = found.base + found.credentials + found.contributor
    return replace(found, model=model, clean=special.expit(beforehand + model))


def wrong_among(log_probabilities: Floats, labels: Ints) -> bool:
    """Whether a rate of wrong labels explains held-out predictions better than it costs to assume one."""
    return clearly_noisy(label_noise(log_probabilities, labels), len(labels))


def clearly_noisy(noise: Noise, n: int) -> bool:
    """Whether the estimated rate of wrong labels is worth assuming: by the Bayesian information criterion."""
    return bool(noise.gain > 0.5 * np.log(n))


def weigh_view(
    odds: Floats, rate: float, signals: Floats | None, codes: Ints | None
) -> tuple[float, Evidence]:
    """Evidence from one view's log-odds, and how far credentials and contributors support the view.

    The support is the log-likelihood of the view's own beliefs given credentials and contributors,
    above that of beliefs that have nothing to do with them. It needs no truth, and two views of the
    same rows can be compared by it: wrong labels that are really wrong cluster in some credentials or
    contributors, samples that are merely hard do not.
    """
    belief = np.clip(special.expit(special.logit(1 - rate) + odds), 1e-9, 1 - 1e-9)
    usual = float(belief.mean())
    likelihoods = Likelihoods(belief / usual, (1 - belief) / (1 - usual))
    found = weigh_evidence(likelihoods, signals, codes, rate)
    mixed = found.expected * likelihoods.right + (1 - found.expected) * likelihoods.wrong
    return float(np.log(mixed).sum()), found


def _temperature(log_probabilities: Floats, labels: Ints, expected: Floats) -> float:
    classes = log_probabilities.shape[1]

    def misfit(log_temperature: float) -> float:
        right = tempered(log_probabilities, labels, float(np.exp(log_temperature)))
        mixed = expected * right + (1 - expected) * (1 - right) / (classes - 1)
        return float(-np.log(mixed + 1e-300).sum())

    # The grid finds the right valley, the search its bottom.
    grid = np.log(TEMPERATURES)
    best = int(np.argmin([misfit(point) for point in grid]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    return float(np.exp(optimize.minimize_scalar(misfit, bounds=around, method="bounded").x))


def weigh_evidence(
    likelihoods: Likelihoods, signals: Floats | None, codes: Ints | None, rate: float
) -> Evidence:
    """Find the base rate, the worth of credentials and the effects of contributors together.

    Expectation-maximisation; in each step one Newton step for the few coefficients and one for every
    contributor, so time is linear in the number of samples.
    """
    n = len(likelihoods.right)
    features = np.ones((n, 1)) if signals is None else np.c_[np.ones(n), _expanded(signals)]
    penalty = np.full(features.shape[1], 1 / CREDENTIAL_SPREAD**2)
    usual = np.zeros(features.shape[1])
    usual[0], spread = USUALLY_RIGHT
    penalty[0] = 1 / spread**2
    weights = np.zeros(features.shape[1])
    weights[0] = special.logit(np.clip(1 - rate, 0.5, 0.98))
    groups = 0 if codes is None else int(codes.max()) + 1
    effect: Floats = np.zeros(groups)
    precision: Floats = np.ones(groups)
    variance = 1.0
    odds = np.log(likelihoods.right + 1e-12) - np.log(likelihoods.wrong + 1e-12)
    contributor = np.zeros(n)
    for _ in range(STEPS):
        before = weights
        expected, residual = _expectation(features @ weights + contributor, odds)
        information = expected * (1 - expected)
        hessian = (features * information[:, None]).T @ features + np.diag(penalty)
        slope = features.T @ residual - penalty * (weights - usual)
        weights = weights + _bounded(np.linalg.solve(hessian, slope))
        # That most labels are wrong cannot be told from a model that is wrong itself.
        weights[0] = max(weights[0], 0.0)
        if codes is not None:
            # Credentials often belong to the contributor, so the two are never moved at once.
            expected, residual = _expectation(features @ weights + contributor, odds)
            information = expected * (1 - expected)
            precision = np.asarray(np.bincount(codes, information, groups) + 1 / variance)
            effect = effect + _bounded((np.bincount(codes, residual, groups) - effect / variance) / precision)
            contributor = effect[codes]
            low, high = CONTRIBUTOR_SPREAD
            variance = float(np.clip(np.mean(effect**2 + 1 / precision), low**2, high**2))
        if np.abs(weights - before).max() < 1e-4:
            break
    credentials = features[:, 1:] @ weights[1:]
    logit = weights[0] + credentials + contributor
    return Evidence(
        clean=special.expit(logit + odds),
        expected=special.expit(logit),
        base=float(weights[0]),
        credentials=credentials,
        contributor=contributor,
        model=odds,
        effect=effect,
        doubt=1 / np.sqrt(precision),
    )


def _expectation(logit: Floats, odds: Floats) -> tuple[Floats, Floats]:
    """What is expected of each label beforehand, and how far seeing it moves the belief."""
    expected = special.expit(logit)
    return expected, special.expit(logit + odds) - expected


def _bounded(step: Floats) -> Floats:
    """A Newton step overshoots where the curve is flat."""
    return np.asarray(np.clip(step, -LONGEST_STEP, LONGEST_STEP))


def _expanded(signals: Floats) -> Floats:
    """Each signal, its square, and their products, in standard units."""
    count = signals.shape[1]
    products = [signals[:, i] * signals[:, j] for i in range(count) for j in range(i, count)]
    features = np.column_stack([signals, *products])
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))
