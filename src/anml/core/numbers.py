"""P(right) of numeric labels: how far a number lies from where honest ones would, and who gave it.

A number is right if it was made as most contributors make theirs: it scatters about what is known of its
item as honest labels do. A wrong one is an odd label of its own, or comes from a contributor who makes
all of them otherwise: shifted, scaled or noisier than honest contributors are among themselves.

Everything is measured in honest spreads: residuals of held-out predictions, put straight (`measured`) and,
where an item has several labels, taken about what the others of the item say (`among_others`).
Contributors are judged in `anml.core.ways`, single labels by a mixture of two parts.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.agreement import MOST_TRUSTED
from anml.core.checks import Floats, Ints
from anml.core.evidence import (
    Evidence,
    Likelihoods,
    nothing_wrong,
    weigh_evidence,
    weigh_view,
)
from anml.core.noise import Noise, clear_parts, nothing_seen, two_parts
from anml.core.ways import Ways, beyond_chance, contributor_ways, label_ratios, vouched_for

# Scale, contributors and single labels are asked in turn: each needs to know whom the others believe.
TURNS = 4
# A change of trust that changes nothing.
SETTLED = 0.01
# Steps of the robust line; tails of its errors, heavy enough that nothing far off moves it.
LINE_STEPS = 20
LINE_TAILS = 4.0
WIDEST = 1.5
# How far the line may lean from the predictions, and the spread grow along them, before there is evidence.
LEANING, GROWING = 0.5, 0.3
# Variance of the logarithm of the size of a normal error.
LOG_SIZE = np.pi**2 / 8
# The share of what is unknown of an item that no number of labels can be taken to remove.
LEAST_SHARE = 0.05
TINY = 1e-12


class Measure(NamedTuple):
    """Where honest numbers are expected, and their spread there."""

    centre: Floats
    spread: Floats


def weigh_numbers(
    values: Floats,
    predicted: Floats,
    signals: Floats | None,
    codes: Ints | None,
    items: Ints | None = None,
) -> Evidence:
    """Evidence on numeric labels, from held-out predictions.

    `signals` are the credentials (n, p) in [0, 1], `codes` the contributors, `items` what is labelled;
    None where not known. Where nothing speaks clearly against some labels all are believed.
    """
    trust: Floats = np.ones(len(values))
    believed = trust
    shared = items is not None and bool(np.bincount(items).max() > 1)
    ways, ratio = None, np.zeros(len(values))
    for turn in range(TURNS):
        measure = measured(values, predicted, trust)
        if shared and items is not None and turn:
            measure = among_others(values, measure, believed, codes, items)
        off = (values - measure.centre) / measure.spread
        apart = (values - np.average(values, weights=trust)) / measure.spread
        before = trust
        if codes is not None:
            ways = contributor_ways(off, apart, codes, signals)
            # Single labels far off are left to robustness: without them the rest would look ever narrower.
            trust = np.maximum(ways.honest[codes], 1e-6)
        noise = _odd_labels(off, trust, signals)
        believed = trust * noise.clean
        if np.abs(trust - before).max() < SETTLED and not (shared and turn == 0):
            break
    if ways is not None and codes is not None:
        if beyond_chance(ways, off, apart, codes):
            ratio = label_ratios(ways, off, apart, codes)
        else:
            ways, even = None, np.ones(len(values))
            measure = measured(values, predicted, even)
            if shared and items is not None:
                measure = among_others(values, measure, even, codes, items)
            noise = _odd_labels((values - measure.centre) / measure.spread, even, signals)
    found = _weighed(noise, ways, ratio, signals, codes)
    return nothing_wrong(found) if ways is None and noise.rate == 0 else found


def _odd_labels(off: Floats, trust: Floats, signals: Floats | None) -> Noise:
    """Single labels far from the rest, where they clearly are a part of their own.

    So they are if that explains the numbers much better than one part of any shape, or if credentials
    point at them: wrong labels gather in some of those, honest tails do not. Contributors are not asked
    again: who sends many such labels has a way of his own.
    """
    found = two_parts(off, trust)
    count = float(trust.sum())
    if clear_parts(found, count):
        return found
    rows = trust > 0.5
    if signals is None or found.rate <= 0 or not rows.any():
        return nothing_seen(len(off))
    odds = np.log(found.right[rows] + 1e-12) - np.log(found.wrong[rows] + 1e-12)
    support, _ = weigh_view(odds, float(np.clip(found.rate, 1e-3, 0.5)), signals[rows], None)
    # Credentials, their squares and their products may each find something by chance.
    chances = signals.shape[1] * (signals.shape[1] + 3) / 2
    accused = support > 0.5 * chances * np.log(count) and vouched_for(signals[rows], found.clean[rows])
    return found if accused else nothing_seen(len(off))


def measured(values: Floats, predicted: Floats, trust: Floats) -> Measure:
    """Where honest numbers lie along the predictions, and how far they scatter there.

    Wrong labels pull predictions, and a network that stops early is too timid at the ends: a line through
    what is trusted, robust to what is not, puts them straight. Honest numbers often scatter more where
    they are large, so the spread may grow along the predictions; else who sends large items looks noisy.
    """
    off = values - predicted
    centre, spread = _shortest_half(off)
    if spread <= 0:
        return Measure(predicted + centre, np.full(len(values), max(float(off.std()), 1e-9)))
    width = float(predicted.std())
    along = (predicted - predicted.mean()) / width if width > 1e-9 * spread else np.zeros(len(values))
    # However many are far off, most are not: the spread stays near that of the shortest half.
    widest = WIDEST * spread
    lean = 0.0
    grown: Floats = np.ones(len(values))
    for _ in range(LINE_STEPS):
        error = (off - centre - lean * along) / grown
        weight = trust * (LINE_TAILS + 1) / (LINE_TAILS + np.square(error / spread))
        spread = min(float(np.sqrt((weight * error**2).sum() / trust.sum())), widest)
        even = weight / grown**2
        centre = float((even * (off - lean * along)).sum() / even.sum())
        # A normal prior on the slope, in units of the predictions.
        prior = (spread / (LEANING * width)) ** 2 if width > 0 else 1.0
        lean = float((even * along * (off - centre)).sum() / ((even * along**2).sum() + prior))
        size = np.log(np.abs(off - centre - lean * along) + 1e-3 * spread)
        size -= np.average(size, weights=weight)
        growth = float((weight * along * size).sum() / ((weight * along**2).sum() + LOG_SIZE / GROWING**2))
        grown = np.exp(np.clip(growth * along, -1.0, 1.0))
    return Measure(predicted + centre + lean * along, spread * grown)


def among_others(values: Floats, measure: Measure, trust: Floats, codes: Ints | None, items: Ints) -> Measure:
    """What the other labels of its item say of each label, joined with the prediction by their precisions.

    Labels count as far as they are trusted, and nobody confirms himself: labels of the same contributor
    are left out.
    """
    off = (values - measure.centre) / measure.spread
    weight = np.minimum(trust, MOST_TRUSTED)
    total, within = _spreads(off, weight, items)
    precision = weight / within
    same = items if codes is None else np.unique(items * (codes.max() + 1) + codes, return_inverse=True)[1]
    own = precision if codes is None else np.bincount(same, precision)[same]
    own_said = precision * off if codes is None else np.bincount(same, precision * off)[same]
    others = np.bincount(items, precision)[items] - own
    said = np.bincount(items, precision * off)[items] - own_said
    known = 1 / max(total - within, LEAST_SHARE * total)
    centre = said / (others + known)
    spread = np.sqrt(within + 1 / (others + known))
    return Measure(measure.centre + centre * measure.spread, measure.spread * spread)


def _spreads(off: Floats, weight: Floats, items: Ints) -> tuple[float, float]:
    """Variance of trusted labels over all, and within items."""
    # Never 0: labels that all agree to the last digit still say so only so far.
    total = max(float(np.average(off**2, weights=weight)), 1e-9)
    sums = np.bincount(items, weight)
    mean = np.bincount(items, weight * off) / np.maximum(sums, 1e-12)
    left = float((weight * (off - mean[items]) ** 2).sum())
    # Each item's mean takes one label's worth of freedom.
    free = float((sums - np.bincount(items, weight**2) / np.maximum(sums, 1e-12)).sum())
    within = left / free if free > 1 else total
    # Numbers that all lie where they are expected have no spread at all.
    total = max(total, TINY)
    return total, float(np.clip(within, LEAST_SHARE * total, total))


def _weighed(
    noise: Noise, ways: Ways | None, ratio: Floats, signals: Floats | None, codes: Ints | None
) -> Evidence:
    """Join what single labels show with what their contributors' ways do."""
    single = weigh_evidence(Likelihoods(noise.right, noise.wrong), signals, codes, noise.rate)
    if ways is None or codes is None:
        return single
    odd = np.log(noise.wrong + 1e-300) - np.log(noise.right + 1e-300)
    # What is said of the contributor without this label, and how likely the label is in either way.
    otherwise = special.expit(-(ways.odds[codes] - ratio))
    usual = special.expit(ways.base + ways.credentials)[codes]
    expected = (1 - otherwise) * single.expected
    wrong = otherwise * np.exp(-ratio) + (1 - otherwise) * (1 - single.expected) * np.exp(odd)
    model = np.log(1 - expected + 1e-12) - np.log(wrong + 1e-300)
    base = _logit(special.expit(ways.base) * special.expit(single.base))
    credentials = _logit(usual * special.expit(single.base + single.credentials)) - base
    contributor = _logit(expected) - base - credentials
    rows = np.maximum(np.bincount(codes), 1)
    return Evidence(
        clean=special.expit(_logit(expected) + model),
        expected=expected,
        base=float(base),
        credentials=credentials,
        contributor=contributor,
        model=model,
        effect=np.bincount(codes, contributor) / rows,
        doubt=np.sqrt(single.doubt**2 + np.bincount(codes, ratio**2)),
    )


def _logit(p: Floats) -> Floats:
    return np.asarray(special.logit(np.clip(p, 1e-9, 1 - 1e-9)))


def _shortest_half(x: Floats) -> tuple[float, float]:
    """Middle and spread of the shortest stretch that holds half of the numbers: what most agree on."""
    ordered = np.sort(x)
    half = len(x) // 2
    lengths = ordered[half:] - ordered[: len(x) - half]
    start = int(np.argmin(lengths))
    inside = ordered[start : start + half + 1]
    return float(np.median(inside)), float(lengths[start] / (2 * special.ndtri(0.75)))
