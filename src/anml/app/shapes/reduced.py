"""Audits of tags and of grades: labels of items, summed up as what they were made of."""

from dataclasses import replace

import numpy as np
import polars as pl

from anml.app.audit.audit import audit_table
from anml.app.audit.request import Request
from anml.app.audit.result import Audited, Shaped, with_columns_of
from anml.core.checks import Floats, Ints, as_codes
from anml.core.people.belief import Belief, in_parts
from anml.core.people.consensus import join_posteriors
from anml.core.people.grades import Graded, fit_grades
from anml.core.people.words import ACCUSED, CONCERN, LESS
from anml.core.progress import Progress
from anml.core.stats import Estimate, beta_interval
from anml.core.words import counted
from anml.intake.prepare import Prepared
from anml.intake.shapes.shape import Shape
from anml.intake.shapes.tags import NO, YES
from anml.intake.tables import Table

# The least and the most that a tag's own rate says beforehand.
RATES = (0.02, 0.98)
# A leaning is told where it surely is this many grades off, and a narrow use where the slope is below.
OFF, NARROW, WIDE, ENOUGH = 0.4, 0.6, 1.96, 10
# Grades that surely rise by this much with those of the others follow the truth, wherever they lie.
FOLLOWS = 0.15


def audit_tags(table: Table, shape: Shape, request: Request, progress: Progress | None) -> Audited:
    """Audit yes and no for every item and tag; each tag has its own rate beforehand."""
    frame = table.frame
    rate = frame.select(((pl.col("label") == YES).mean().over("tag")).clip(*RATES)).to_series().to_numpy()
    prior = np.column_stack([1 - rate, rate])
    result, _, assessed = audit_table(table, request, progress=progress, prior=prior)
    sets = _sets(result, frame, shape.frames["seen"])
    people = _by_tag(frame, assessed.belief.p_correct)
    unsure = int((sets["least_sure"] < 0.9).sum())
    every = f"{counted(sets.height, 'item')} have a set of tags each in tags.csv"
    said = [f"{every}; of {unsure:,} one or more are less than 90% sure."]
    shaped = Shaped(shape.kind, shape.unit, {"tags": sets, "people_tags": people}, said, {})
    return replace(result, shape=shaped)


def _sets(result: Audited, frame: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """One set for each item: tags that are likelier there than not, and how sure the least sure is."""
    pairs = frame.select("item", "thing", "tag").unique("item", maintain_order=True)
    if result.items is None:
        known = result.samples.select("item", consensus="suggested", p="p_suggested")
    else:
        known = result.items.select("item", "consensus", "p")
    judged = pairs.join(known, on="item", maintain_order="left")
    tags = pl.col("tag").sort().str.join(";")
    yes = judged.filter(pl.col("consensus") == YES).group_by("thing").agg(tags=tags)
    least = judged.group_by("thing").agg(least_sure=pl.col("p").min().round(4))
    every = seen.group_by("thing", maintain_order=True).agg(seen=pl.len())
    found = every.join(yes, on="thing", how="left", maintain_order="left")
    found = found.join(least, on="thing", how="left", maintain_order="left")
    return found.select(item="thing", tags=pl.col("tags").fill_null(""), least_sure="least_sure", seen="seen")


def _by_tag(frame: pl.DataFrame, p_correct: Floats) -> pl.DataFrame:
    """Of every person and tag: pairs judged, how many of them ticked, and expected to be right."""
    ticked, right = (pl.col("label") != NO).mean(), pl.Series(p_correct)
    rows = frame.select("contributor", "tag", "label", right=right).group_by("contributor", "tag")
    each = rows.agg(pairs=pl.len(), ticked=ticked.round(4), right=pl.col("right").mean().round(4))
    return each.sort("contributor", "tag")


def audit_grades(table: Table, shape: Shape, request: Request, progress: Progress | None) -> Audited:
    """Audit grades by their order where that predicts better than plain classes; leanings are told by it."""
    order = dict(shape.frames["order"].iter_rows())
    result, prepared, assessed = audit_table(table, request, progress=progress)
    before = assessed.belief
    steps = np.array([order[name] for name in prepared.classes], dtype=np.float64)
    who, names = as_codes("contributor", prepared.contributor, len(prepared.y))
    items, things = as_codes("item", prepared.item, len(prepared.y))
    posterior, figures = join_posteriors(before.truth, items), {}
    # Grades that are known to be wrong, without the right one, are for the model of classes.
    known = prepared.known
    if len(names) > 1 and (known is None or not (known.wrong & (known.truth < 0)).any()):
        graded = _by_order(prepared, steps, items, who, request.seed)
        figures = {"ordered": graded.ordered, "loss": graded.loss, "plain": graded.plain}
        if graded.ordered:
            posterior = graded.posterior[:, np.argsort(np.argsort(steps))]
            belief = _believed(before, posterior[items], prepared.y.astype(np.int64), who)
            result, _, _ = audit_table(table, request, progress=progress, believe=lambda _: belief)
    grades = _graded(posterior, steps, things, np.bincount(items), list(order))
    people = _leanings(steps[prepared.y.astype(np.int64)], (posterior @ steps)[items], who, names, items)
    people = with_columns_of(result, people)
    # Who leans and yet follows the order is no guesser, however seldom the grade is the very same.
    cleared = pl.col("verdict").is_in(ACCUSED) & (pl.col("follows") > FOLLOWS)
    accused, less = people["verdict"].is_in(ACCUSED).sum(), people.select(cleared.sum()).item()
    false = result.false_accusations * (1 - less / max(accused, 1))
    people = people.with_columns(verdict=pl.when(cleared).then(pl.lit(LESS)).otherwise("verdict"))
    people = people.sort(pl.col("verdict").replace_strict(CONCERN), maintain_order=True).drop("follows")
    wide = int((grades["high"] != grades["low"]).sum())
    every = f"{counted(grades.height, 'item')} have a grade each in grades.csv"
    said = [f"{every}; {wide:,} of them are not certain to nine tenths."]
    shaped = Shaped(shape.kind, shape.unit, {"grades": grades}, said, {}, figures)
    return replace(result, contributors=people, false_accusations=false, shape=shaped)


def _by_order(prepared: Prepared, steps: Floats, items: Ints, who: Ints, seed: int) -> Graded:
    """The grades by their order, and how well that predicts what was held out."""
    rank, right = np.argsort(np.argsort(steps)), np.full(int(items.max()) + 1, -1)
    if prepared.known is not None:
        told = np.flatnonzero(prepared.known.truth >= 0)
        right[items[told]] = rank[prepared.known.truth[told].astype(np.int64)]
    y, rng = rank[prepared.y.astype(np.int64)], np.random.default_rng(seed)
    return fit_grades(items, who, y, len(steps), right, rng)


def _believed(before: Belief, truth: Floats, y: Ints, who: Ints) -> Belief:
    """A belief of classes, with the posterior of the grades in their order in its place."""
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
    return replace(before, **in_parts(p, 1 - mean, before.credentials, people, who), truth=truth, wrong=wrong)


def _graded(truth: Floats, steps: Floats, things: list[str], count: Ints, names: list[str]) -> pl.DataFrame:
    """The mean grade of each item, the middle one, and where nine tenths of the probability lie.

    The mean is of the grades' own numbers, or of their places from 1 on where they are words.
    """
    by_step = truth[:, np.argsort(steps)]
    names = [names[int(step)] for step in np.sort(steps)]
    numbers = pl.Series(names).cast(pl.Float64, strict=False)
    values = np.sort(steps) + 1 if numbers.null_count() else numbers.to_numpy()
    below = np.cumsum(by_step, axis=1)
    bounds, most = {"low": 0.05, "grade": 0.5, "high": 0.95}, len(names) - 1
    at = {name: (below < bound).sum(axis=1) for name, bound in bounds.items()}
    found = {name: [names[min(int(k), most)] for k in place] for name, place in at.items()}
    return pl.DataFrame({"item": things, **found, "mean": (by_step @ values).round(3), "labels": count})


def _leanings(given: Floats, truth: Floats, who: Ints, names: list[str], items: Ints) -> pl.DataFrame:
    """How far each rater lies above or below the others on the same items, and how it uses the scale."""
    count = np.bincount(items)[items]
    mean = np.bincount(items, given)[items]
    others = np.where(count > 1, (mean - given) / np.maximum(count - 1, 1), truth)
    rows = np.bincount(who, minlength=len(names)).astype(np.float64)
    gap = given - others
    off = np.bincount(who, gap, len(names)) / rows
    spread = np.sqrt(np.maximum(np.bincount(who, gap**2, len(names)) / rows - off**2, 1e-9))
    error = WIDE * spread / np.sqrt(rows)
    shift = off - float(np.median(off))
    along, level = (part - (np.bincount(who, part, len(names)) / rows)[who] for part in (truth, given))
    varies = np.maximum(np.bincount(who, along**2, len(names)), 1e-9)
    slope = np.bincount(who, along * level, len(names)) / varies
    left = np.bincount(who, (level - slope[who] * along) ** 2, len(names)) / np.maximum(rows - 2, 1)
    doubt = WIDE * np.sqrt(left / varies)
    said = []
    for k in range(len(names)):
        words = []
        if rows[k] >= ENOUGH and shift[k] - error[k] > OFF:
            words.append(f"lenient: {shift[k]:.1f} grades above the others")
        if rows[k] >= ENOUGH and shift[k] + error[k] < -OFF:
            words.append(f"severe: {-shift[k]:.1f} grades below the others")
        if rows[k] >= ENOUGH and slope[k] + doubt[k] < NARROW and slope[k] - doubt[k] > 0:
            words.append("uses little of the scale")
        said.append("; ".join(words))
    follows = np.where(rows >= ENOUGH, slope - doubt, 0.0)
    found = {"contributor": names, "shift": shift, "slope": slope, "follows": follows, "habits": said}
    return pl.DataFrame(found)
