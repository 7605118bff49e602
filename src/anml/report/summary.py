"""Summary of a result: findings, recommended actions, weights, effect on the model."""

import math
from typing import NamedTuple

import polars as pl

from anml.annotators.words import FLAGGED, LESS_RELIABLE
from anml.core.text import join_names, pluralise
from anml.core.types import PREFERENCE
from anml.pipeline.evaluate import ON_TEST_DATA, Comparison, WeightingResult
from anml.pipeline.result import AuditResult
from anml.pipeline.review_queue import QUEUE_IS_EMPTY
from anml.report.printable import join_display_names, truncate
from anml.report.verdict_text import NAME_WIDTH, ContributorSentence, contributor_findings, label_noun

MAX_WARNING_CHARS = 400
# Headings of the three parts, and names of the two weightings that are evaluated.
HEADINGS = ("Contributors to review", "Recommended actions", "Effect on the model")
EQUAL_WEIGHTS, WEIGHTED = "equal weights", "weighted by anml"
RULE_DESCRIPTIONS = {
    "uniform": "All rows have equal weight",
    "blend": "Weights are a blend of q and the credentials",
    "q_only": "Weights are derived from q alone",
    "multiplicative": "Weights are the product of the signals",
    "disputed": "The result is disputed",
}


class ErrorChange(NamedTuple):
    """Effect of the weights on a model: one figure, its metric, sentences, and the two errors to draw."""

    headline: str
    metric: str
    sentences: list[str]
    # Name, value and interval as text, and length up to 1.
    bars: list[tuple[str, str, str, float]]

    def __str__(self) -> str:
        figure = f"{self.headline}, {self.metric}." if self.metric else ""
        return " ".join(part for part in (figure, *self.sentences) if part)


def error_change(result: AuditResult) -> ErrorChange:
    """Effect of the weights on a model, against equal weights."""
    comparison = result.evaluation
    if comparison is None:
        return ErrorChange("Not evaluated", "", [_why_not(result)], [])
    uniform, weighted = comparison.results[0], comparison.results[-1]
    where = ON_TEST_DATA if comparison.on == ON_TEST_DATA else "held-out rows"
    lines = [f"{compare_with_uniform(uniform, weighted, result.gate.branch)}."]
    if comparison.on != ON_TEST_DATA:
        lines.append("Measured against the given labels, which contain errors; the true error rate differs.")
        if result.disputed_share is not None:
            lines.append("The result is disputed; do not report this error.")
    if result.gate.branch != "uniform" and weighted.against["uniform"].low > 0:
        better = "Equal weights gave a lower error on this data"
        lines.append(f"{better}: try the recipe “uniform”, or keep more rows.")
    highest = max(uniform.error.mean, weighted.error.mean) or 1.0
    bars = [
        (name, *shown_error(result_of, comparison), result_of.error.mean / highest)
        for name, result_of in ((EQUAL_WEIGHTS, uniform), (WEIGHTED, weighted))
    ]
    return ErrorChange(f"{bars[0][1]} → {bars[1][1]}", f"{comparison.metric} on {where}", lines, bars)


def _why_not(result: AuditResult) -> str:
    if is_sample(result):
        return "An audit in slices does not evaluate a model."
    if result.structured is not None:
        return f"The task {result.kind} has no model to evaluate."
    if not result.columns.features and "embeddings" not in result.data:
        return "The table has no features to train a model on."
    return "The evaluation was switched off."


def weighting_sentences(result: AuditResult) -> list[str]:
    """The weighting rule, the number of kept rows, and the label error rate."""
    kept, rows = result.kept, result.samples.height
    if is_sample(result):
        kept, rows = result.data["kept"], result.data["rows"]
    if result.gate.branch == "p_correct":
        rule = f"Weights are derived from p_correct, estimated from {join_names(_sources(result))}."
    else:
        how = RULE_DESCRIPTIONS.get(result.gate.branch, result.gate.branch)
        rule = f"{how}: {result.gate.reason.replace('label', label_noun(result))}."
    share = f"All {rows:,} rows" if kept == rows else f"{kept:,} of {rows:,} rows ({kept / rows:.0%})"
    return [rule, f"{share} are used for training. Estimated {error_rate_text(result)}."]


def _sources(result: AuditResult) -> list[str]:
    """The inputs of p_correct."""
    used = set(result.signals_given) & set(result.policy.recipe.use)
    inputs = {
        "held-out predictions": result.columns.features or "predictions" in result.data,
        f"other {label_noun(result)}s of the same item": result.consensus is not None,
        "credentials": used & {"v", "r", "t"},
        "contributor accuracy": not result.contributors.is_empty(),
    }
    return [name for name, given in inputs.items() if given] or ["label frequencies"]


def error_rate_text(result: AuditResult) -> str:
    """The label error rate with its bounds; an audit in slices has no bounds."""
    mean, low, high = result.label_error_rate
    name = "share of random choices" if result.kind == PREFERENCE else f"{label_noun(result)} error rate"
    bounds = f" (bounds {low:.0%} to {high:.0%})" if math.isfinite(low) and math.isfinite(high) else ""
    return f"{name}: {mean:.0%}{bounds}"


def compare_with_uniform(uniform: WeightingResult, weighted: WeightingResult, branch: str) -> str:
    """Return a sentence that compares the error of the weights with that of equal weights."""
    if branch == "uniform":
        return "No effect: all rows have equal weight"
    gap = weighted.against.get("uniform")
    if gap is None or gap.low <= 0 <= gap.high:
        return "The weights have no significant effect on the error"
    if gap.mean > 0:
        return "The weights increase the error"
    cut = 1 - weighted.error.mean / uniform.error.mean if uniform.error.mean > 0 else math.nan
    by = f" by {cut:.0%}" if math.isfinite(cut) and round(cut, 2) > 0 else ""
    return f"The weights lower the error{by}"


def shown_error(way: WeightingResult, comparison: Comparison) -> tuple[str, str]:
    """Format an error and its interval: per cent for classes; no interval for a single value."""
    form = ".3g" if comparison.metric == "mean absolute error" else ".1%"
    mean, low, high = (format(value, form) for value in way.error)
    return mean, f"{low}–{high}" if math.isfinite(way.error.low) else ""


class QueueGain(NamedTuple):
    """Items in the queue, expected number of wrong labels among them, and error shares before and after."""

    rows: int
    wrong: float
    before: float
    after: float


def recommended_actions(result: AuditResult) -> list[str]:
    """Recommended actions, most useful first."""
    if result.disputed_share is not None:
        needed = _data_needed(result) or "true labels for some rows of both sides"
        until = "Until then, do not drop labels, relabel or pay by this result."
        return [f"To resolve the dispute, add {needed}.", until]
    actions = []
    if flagged := result.with_verdict(*FLAGGED):
        names = join_display_names(flagged, NAME_WIDTH)
        actions.append(f"Review examples with {names} before assigning new items.")
    if less := result.with_verdict(LESS_RELIABLE):
        names = join_display_names(less, NAME_WIDTH)
        actions.append(f"Send {names} the list of labels that are probably wrong.")
    actions.append(_review_sentence(result))
    if needed := _data_needed(result):
        actions.append(f"To reach a verdict for the inconclusive contributors, add {needed}.")
    return actions


def queue_gain(result: AuditResult) -> QueueGain:
    """Expected effect of working through the review queue; counts are of all rows of the run."""
    first = result.queue
    # The rows in memory of an audit in slices are a sample.
    factor = result.data["rows"] / result.samples.height if is_sample(result) else 1.0
    before, after = first.expected / first.units, (first.expected - first.gain) / first.units
    return QueueGain(round(first.candidates * factor), first.gain * factor, before, after)


def is_sample(result: AuditResult) -> bool:
    """True if the rows in memory are a sample of the rows of the run."""
    return "kept" in result.data


def dispute_text(share: float) -> str:
    """The reason of a disputed result, by the share of the rows on the contradicting side."""
    side = f"contributors of {share:.0%} of the rows contradict the rest"
    return f"{side}, and the data cannot show which side is correct"


def _review_sentence(result: AuditResult) -> str:
    gain = queue_gain(result)
    if not gain.rows:
        return QUEUE_IS_EMPTY
    unit = "item" if "item" in result.samples.columns else "row"
    about = "about " if is_sample(result) else ""
    if gain.wrong < 1:
        wrong = "less than one wrong label is expected"
    else:
        wrong = f"about {pluralise(round(gain.wrong), 'wrong label is', 'wrong labels are')} expected"
    before, after = _share(gain.before), _share(gain.after)
    change = f"This lowers the estimated share of {unit}s with a wrong label from {before} to {after}."
    if before == after:
        change = f"The estimated share of {unit}s with a wrong label stays at {after}."
    return f"Review {about}{pluralise(gain.rows, unit)}: {wrong}. {change}"


def _share(share: float) -> str:
    return "under 1%" if share < 0.01 else f"about {share:.0%}"


def _data_needed(result: AuditResult) -> str:
    """The data that would resolve inconclusive verdicts; empty where unknown."""
    people = result.contributors
    if "true_labels_needed" not in people.columns:
        return ""
    unclear = people.filter(pl.col("true_labels_needed") > 0)
    if result.kind == PREFERENCE and unclear.height:
        more = pluralise(int(unclear["true_labels_needed"].sum()), "more comparison")
        return f"about {more} by {pluralise(unclear.height, 'contributor')}"
    enough = unclear.filter(pl.col("true_labels_needed") <= pl.col("rows"))
    n_short = unclear.height - enough.height
    n_rows = pluralise(int(enough["true_labels_needed"].sum()), "row")
    needed = []
    if enough.height:
        needed.append(f"true labels for about {n_rows} of {pluralise(enough.height, 'contributor')}")
    if n_short:
        needed.append(f"more rows of {pluralise(n_short, 'contributor')}")
    return " and ".join(needed)


class Summary(NamedTuple):
    """A notice if the result is disputed, warnings, and the three parts of the summary."""

    dispute: str
    warnings: list[str]
    contributors: list[ContributorSentence]
    todo: list[str]
    change: ErrorChange

    def lines(self) -> list[tuple[str, str]]:
        """Each part under its heading, as plain text."""
        texts = " ".join(map(str, self.contributors)), " ".join(self.todo), str(self.change)
        return list(zip(HEADINGS, texts, strict=True))


def summary(result: AuditResult) -> Summary:
    """Summarise the result of an audit."""
    share = result.disputed_share
    dispute = "" if share is None else f"This result is disputed: {dispute_text(share)}."
    warnings = [_sentence(warning) for warning in result.warnings]
    return Summary(
        dispute, warnings, contributor_findings(result), recommended_actions(result), error_change(result)
    )


def _sentence(text: str) -> str:
    text = truncate(text, MAX_WARNING_CHARS).strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '…')) else '.'}"
