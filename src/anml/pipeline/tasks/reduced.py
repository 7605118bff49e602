"""Audits of tags and of ordinal grades: a consensus for each item, and effects of each rater."""

from dataclasses import replace

import numpy as np
import polars as pl

from anml.annotators.consensus import pool_posteriors_by_item
from anml.annotators.words import SEVERITY_ORDER
from anml.assessment.ordinal import clear_followers, fit_order, ordinal_estimates, rater_effects
from anml.core.checks import Floats, Ints, as_codes
from anml.core.progress import Progress
from anml.core.text import pluralise
from anml.io.tables import Table
from anml.io.tasks.tags import TAG_ABSENT, TAG_PRESENT
from anml.io.tasks.types import StructuredTask
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult, StructuredResult, with_columns_of

# Columns of tags.csv.
TAG_COLUMNS = ("item", "tags", "min_p_consensus", "n_annotators")
# Bounds of the prior probability of a tag.
PREVALENCE_BOUNDS = (0.02, 0.98)


def audit_tags(
    table: Table, shape: StructuredTask, request: Request, progress: Progress | None
) -> AuditResult:
    """Audit each tag of each item as a binary label; each tag has its own prior probability."""
    frame = table.frame
    rate = (
        frame.select(((pl.col("label") == TAG_PRESENT).mean().over("tag")).clip(*PREVALENCE_BOUNDS))
        .to_series()
        .to_numpy()
    )
    prior = np.column_stack([1 - rate, rate])
    result, _, assessed = audit_table(table, request, progress=progress, prior=prior)
    sets = _consensus_sets(result, frame, shape.frames["seen"])
    people = _by_tag(frame, assessed.belief.p_correct)
    n_unclear = int((sets["min_p_consensus"] < 0.9).sum())
    every = f"The consensus has a set of tags for {pluralise(sets.height, 'item')} (tags.csv)"
    lines = [f"{every}; {n_unclear:,} of the sets have a tag below 90% confidence."]
    tables = {"tags": sets, "contributor_tags": people}
    return replace(result, structured=StructuredResult(shape.kind, shape.unit, tables, lines, {}))


def _consensus_sets(result: AuditResult, frame: pl.DataFrame, annotators: pl.DataFrame) -> pl.DataFrame:
    """The consensus tags of each item, and the lowest probability among its tags."""
    pairs = frame.select("item", "thing", "tag").unique("item", maintain_order=True)
    if result.consensus is None:
        consensus = result.samples.select("item", consensus="suggested_label", p="p_suggested_label")
    else:
        consensus = result.consensus.select("item", consensus="consensus_label", p="p_consensus")
    labelled = pairs.join(consensus, on="item", maintain_order="left")
    tags = pl.col("tag").sort().str.join(";")
    yes = labelled.filter(pl.col("consensus") == TAG_PRESENT).group_by("thing").agg(tags=tags)
    lowest = labelled.group_by("thing").agg(min_p_consensus=pl.col("p").min().round(4))
    every = annotators.group_by("thing", maintain_order=True).agg(n_annotators=pl.len())
    sets = every.join(yes, on="thing", how="left", maintain_order="left")
    sets = sets.join(lowest, on="thing", how="left", maintain_order="left")
    tags = pl.col("tags").fill_null("")
    return sets.select("n_annotators", "min_p_consensus", item="thing", tags=tags).select(TAG_COLUMNS)


def _by_tag(frame: pl.DataFrame, p_correct: Floats) -> pl.DataFrame:
    """For every contributor and tag: rows, share of rows with the tag, and accuracy."""
    rate, p = (pl.col("label") != TAG_ABSENT).mean(), pl.Series(p_correct)
    rows = frame.select("contributor", "tag", "label", p=p).group_by("contributor", "tag")
    each = rows.agg(rows=pl.len(), tag_rate=rate.round(4), accuracy=pl.col("p").mean().round(4))
    return each.sort("contributor", "tag")


def audit_grades(
    table: Table, shape: StructuredTask, request: Request, progress: Progress | None
) -> AuditResult:
    """Audit ordinal grades; use the order if it lowers the held-out log-loss."""
    order = dict(shape.frames["order"].iter_rows())
    result, prepared, assessed = audit_table(table, request, progress=progress)
    before = assessed.belief
    steps = np.array([order[name] for name in prepared.classes], dtype=np.float64)
    codes, names = as_codes("contributor", prepared.contributor, len(prepared.y))
    items, item_names = as_codes("item", prepared.item, len(prepared.y))
    posterior, figures = pool_posteriors_by_item(before.truth, items), {}
    # The ordinal model cannot use grades known to be wrong without the true grade.
    gold_marks = prepared.known
    if len(names) > 1 and (gold_marks is None or not (gold_marks.wrong & (gold_marks.truth < 0)).any()):
        gold = None if gold_marks is None else gold_marks.truth.astype(np.int64)
        graded = fit_order(prepared.y.astype(np.int64), items, codes, steps, gold, request.seed)
        figures = {"ordered": graded.ordered, "log_loss": graded.loss, "log_loss_unordered": graded.plain}
        if graded.ordered:
            posterior = graded.posterior[:, np.argsort(np.argsort(steps))]
            belief = ordinal_estimates(before, posterior[items], prepared.y.astype(np.int64), codes)
            result, _, _ = audit_table(table, request, progress=progress, believe=lambda _: belief)
    grades = _grade_summary(posterior, steps, item_names, np.bincount(items), list(order))
    people = rater_effects(
        steps[prepared.y.astype(np.int64)], (posterior @ steps)[items], codes, names, items
    )
    people = with_columns_of(result, people)
    people, cleared = clear_followers(people)
    false = result.expected_false_flags * (1 - cleared)
    people = people.sort(pl.col("verdict").replace_strict(SEVERITY_ORDER), maintain_order=True)
    wide = int((grades["grade_high"] != grades["grade_low"]).sum())
    every = f"The consensus has a grade for {pluralise(grades.height, 'item')} (ordinal.csv)"
    lines = [f"{every}; the 90% interval of {wide:,} of them has more than one grade."]
    shaped = StructuredResult(shape.kind, shape.unit, {"ordinal": grades}, lines, {}, figures)
    return replace(result, contributors=people, expected_false_flags=false, structured=shaped)


def _grade_summary(
    truth: Floats, steps: Floats, items: list[str], count: Ints, names: list[str]
) -> pl.DataFrame:
    """The median grade of each item with its 90% interval, and the mean grade.

    The mean is of the grades if they are numbers, else of their ranks from 1.
    """
    by_step = truth[:, np.argsort(steps)]
    names = [names[int(step)] for step in np.sort(steps)]
    numbers = pl.Series(names).cast(pl.Float64, strict=False)
    values = np.sort(steps) + 1 if numbers.null_count() else numbers.to_numpy()
    below = np.cumsum(by_step, axis=1)
    bounds, last = {"grade": 0.5, "grade_low": 0.05, "grade_high": 0.95}, len(names) - 1
    at = {name: (below < bound).sum(axis=1) for name, bound in bounds.items()}
    columns = {name: [names[min(int(k), last)] for k in place] for name, place in at.items()}
    mean = (by_step @ values).round(3)
    return pl.DataFrame({"item": items, "n_labels": count, **columns, "grade_mean": mean})
