"""Ordered grades: estimates by the order where that predicts better; shift and slope of each rater."""

from dataclasses import replace

import numpy as np
import polars as pl

from anml.annotators.ordinal import OrdinalFit, fit_grades
from anml.annotators.result import LabelEstimates, decompose_log_odds
from anml.annotators.words import FLAGGED, LESS_RELIABLE
from anml.core.checks import Floats, Ints
from anml.core.stats import Estimate, beta_interval

# Shift, in grades, and slope from which a rater is called lenient, severe, or narrow, beyond the interval.
MIN_SHIFT, MAX_NARROW_SLOPE, Z_95, MIN_ROWS = 0.4, 0.6, 1.96, 10
# Slope against the grades of the others from which grades follow the true grade, whatever the shift.
MIN_SLOPE = 0.15


def fit_order(y: Ints, items: Ints, who: Ints, steps: Floats, gold: Ints | None, seed: int) -> OrdinalFit:
    """Fit grades by `steps`, the place of each class on the scale; `gold` is -1 where unknown."""
    rank, right = np.argsort(np.argsort(steps)), np.full(int(items.max()) + 1, -1)
    if gold is not None:
        known = np.flatnonzero(gold >= 0)
        right[items[known]] = rank[gold[known]]
    return fit_grades(items, who, rank[y], len(steps), right, np.random.default_rng(seed))


def ordinal_estimates(before: LabelEstimates, truth: Floats, y: Ints, who: Ints) -> LabelEstimates:
    """Return the estimates of a fit of classes with the posterior `truth` of ordered grades in its place."""
    assert before.contributors is not None
    p = np.clip(truth[np.arange(len(y)), y], 1e-9, 1 - 1e-9)
    rows = np.bincount(who).astype(np.float64)
    good = np.bincount(who, p).astype(np.float64)
    low, high = beta_interval(good + 1, rows - good + 1)
    people = replace(
        before.contributors, quality=(good + 1) / (rows + 2), low=low, high=high, good=good, bad=rows - good
    )
    mean = 1 - float(p.mean())
    wrong = Estimate(mean, min(float((p < 0.05).mean()), mean), max(float((p < 0.5).mean()), mean))
    return replace(
        before, **decompose_log_odds(p, 1 - mean, before.credentials, people, who), truth=truth, wrong=wrong
    )


def rater_effects(given: Floats, truth: Floats, who: Ints, names: list[str], items: Ints) -> pl.DataFrame:
    """Estimate the shift of each rater against the others on the same items, and the slope of its grades.

    `follows` is the lower end of the interval of the slope, and 0 for a rater with few rows.
    """
    count = np.bincount(items)[items]
    mean = np.bincount(items, given)[items]
    others = np.where(count > 1, (mean - given) / np.maximum(count - 1, 1), truth)
    rows = np.bincount(who, minlength=len(names)).astype(np.float64)
    gap = given - others
    off = np.bincount(who, gap, len(names)) / rows
    spread = np.sqrt(np.maximum(np.bincount(who, gap**2, len(names)) / rows - off**2, 1e-9))
    error = Z_95 * spread / np.sqrt(rows)
    shift = off - float(np.median(off))
    along, level = (part - (np.bincount(who, part, len(names)) / rows)[who] for part in (truth, given))
    varies = np.maximum(np.bincount(who, along**2, len(names)), 1e-9)
    slope = np.bincount(who, along * level, len(names)) / varies
    left = np.bincount(who, (level - slope[who] * along) ** 2, len(names)) / np.maximum(rows - 2, 1)
    doubt = Z_95 * np.sqrt(left / varies)
    said = []
    for k in range(len(names)):
        words = []
        if rows[k] >= MIN_ROWS and shift[k] - error[k] > MIN_SHIFT:
            words.append(f"is lenient: {shift[k]:.1f} grades above the other raters")
        if rows[k] >= MIN_ROWS and shift[k] + error[k] < -MIN_SHIFT:
            words.append(f"is severe: {-shift[k]:.1f} grades below the other raters")
        if rows[k] >= MIN_ROWS and slope[k] + doubt[k] < MAX_NARROW_SLOPE and slope[k] - doubt[k] > 0:
            words.append("uses a narrow part of the scale")
        said.append("; ".join(words))
    follows = np.where(rows >= MIN_ROWS, slope - doubt, 0.0)
    found = {"contributor": names, "shift": shift, "slope": slope, "follows": follows, "notes": said}
    return pl.DataFrame(found)


def clear_followers(people: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """Replace flags of raters whose grades follow the others by `less reliable`; return the share replaced.

    A shifted rater seldom gives the very grade of the others, and is no spammer.
    """
    cleared = pl.col("verdict").is_in(FLAGGED) & (pl.col("follows") > MIN_SLOPE)
    flagged, count = people["verdict"].is_in(FLAGGED).sum(), people.select(cleared.sum()).item()
    people = people.with_columns(verdict=pl.when(cleared).then(pl.lit(LESS_RELIABLE)).otherwise("verdict"))
    return people.drop("follows"), count / max(flagged, 1)
