"""Audit of spans and boxes: the consensus, and the error rates of each contributor."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from anml.annotators.consensus import pool_posteriors_by_item
from anml.annotators.spans import (
    MIN_PROBABILITY,
    count_errors,
    non_overlapping_subset,
    p_detection_guessing,
    p_type_guessing,
    type_confusion,
)
from anml.annotators.verdicts import MIN_ROWS_TO_FLAG, bayesian_fdr_set
from anml.annotators.words import FLAGGED, RELIABLE
from anml.core.checks import Array, Bools, Floats, as_codes
from anml.core.progress import Progress
from anml.core.stats import wilson
from anml.core.text import pluralise
from anml.io.tables import Table
from anml.io.tasks.candidates import NO_SPAN
from anml.io.tasks.types import SPANS, StructuredTask
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult, StructuredResult, with_columns_of

# Minimum number of candidate spans to train the word model.
MIN_WORDS = 50
# A note on an error needs a rate above the first number, and above the second times the median.
MIN_ERROR_RATE, MIN_RATE_RATIO = 0.2, 1.5
NOTE_TEMPLATES = {
    "miss_rate": "has a miss rate of {}",
    "false_positive_rate": "has a false positive rate of {}",
    "boundary_error_rate": "has a boundary error rate of {}",
    "type_error_rate": "has a type error rate of {}",
}


class _Pass(NamedTuple):
    """One audit of candidates: its result, and the posterior of each candidate, absence first."""

    result: AuditResult
    truth: Floats
    types: list[str]


def audit_spans_or_boxes(
    table: Table, shape: StructuredTask, request: Request, progress: Progress | None
) -> AuditResult:
    """Audit candidate spans or boxes from `anml.io.tasks`."""
    frames = shape.frames
    audited = _pass(table, request, progress)
    if "texts" in frames and frames["candidates"].height >= MIN_WORDS and request.predictions is None:
        notes, words = audited.result.notes, _by_words(table, shape, audited)
        audited = _pass(table, replace(request, predictions=words), progress)
        notes = [
            *notes,
            "the audit uses held-out predictions by a model of the words in and around each span",
        ]
        audited = audited._replace(result=replace(audited.result, notes=notes))
    people, p_guess = _people(table, shape, audited, request.seed)
    audited = audited._replace(result=_with_flags(audited.result, people["contributor"].to_list(), p_guess))
    people = with_columns_of(audited.result, people)
    consensus = _consensus(shape, audited)
    lines = _summary_sentences(shape, consensus)
    shaped = StructuredResult(shape.kind, shape.unit, {shape.kind: consensus}, lines, frames)
    return replace(audited.result, contributors=people, structured=shaped)


def _pass(table: Table, request: Request, progress: Progress | None) -> _Pass:
    result, prepared, assessed = audit_table(table, request, progress=progress)
    codes = table.frame["candidate"].to_numpy().astype(np.int64)[prepared.rows]
    truth = pool_posteriors_by_item(assessed.belief.truth, np.unique(codes, return_inverse=True)[1])
    order = [NO_SPAN, *(name for name in prepared.classes if name != NO_SPAN)]
    if NO_SPAN not in prepared.classes:
        # All contributors marked every candidate.
        return _Pass(result, np.insert(truth, 0, 0.0, axis=1), order)
    return _Pass(result, truth[:, [prepared.classes.index(name) for name in order]], order)


def _by_words(table: Table, shape: StructuredTask, audited: _Pass) -> Array:
    """Held-out predictions of the words of each span, one row for each row of the table."""
    from anml.predictors.spans import span_predictions

    frames = shape.frames
    spans = frames["candidates"].join(frames["texts"], on="document", how="left", maintain_order="left")
    documents, _ = as_codes("document", spans["document"].to_numpy(), spans.height)
    texts = spans["text"].fill_null("").to_list()
    start, end = spans["start"].to_numpy(), spans["end"].to_numpy()
    words = span_predictions(texts, start, end, documents, audited.truth)
    return np.asarray(words[table.frame["candidate"].to_numpy()][:, np.argsort(audited.types)])


def _consensus(shape: StructuredTask, audited: _Pass) -> pl.DataFrame:
    """Consensus spans: most probable set without overlap, or all above MIN_PROBABILITY."""
    candidates = shape.frames["candidates"]
    p = 1 - audited.truth[:, 0]
    kept: Bools = p > MIN_PROBABILITY
    if shape.kind == SPANS and not shape.nested:
        documents, _ = as_codes("document", candidates["document"].to_numpy(), candidates.height)
        kept = non_overlapping_subset(
            documents, candidates["start"].to_numpy(), candidates["end"].to_numpy(), p
        )
    types = np.array(audited.types[1:], dtype=object)[audited.truth[:, 1:].argmax(axis=1)]
    p_type = audited.truth[:, 1:].max(axis=1)
    marked = shape.frames["marks"].group_by("candidate").agg(n_annotators=pl.len())
    columns = pl.DataFrame({"type": types.tolist(), "p_present": p.round(4), "p_type": p_type.round(4)})
    frame = candidates.hstack(columns).join(marked, on="candidate", how="left", maintain_order="left")
    return frame.filter(pl.Series(kept)).drop("candidate", "item")


def _people(table: Table, shape: StructuredTask, audited: _Pass, seed: int) -> tuple[pl.DataFrame, Floats]:
    """Error rates of each contributor, and the probabilities that its spans and types are guesses."""
    frame = table.frame
    codes_of_rows, names = as_codes("contributor", frame["contributor"].to_numpy(), frame.height)
    codes = frame["candidate"].to_numpy().astype(np.int64)
    label = np.array([audited.types.index(name) for name in frame["label"]])
    near, overlap = frame["near"].to_numpy(), _p_overlapping_candidate(table, shape, audited)[codes]
    rows = (codes_of_rows, len(names), audited.truth[codes], label, near, overlap)
    counts, rng = count_errors(*rows), np.random.default_rng(seed)
    # Numerators and denominators of the error rates.
    fractions = {
        "miss_rate": (counts.missed, counts.there),
        "false_positive_rate": (counts.invented, counts.marked),
        "boundary_error_rate": (counts.shifted, counts.marked),
        "type_error_rate": (counts.mistyped, counts.marked),
    }
    each = {name: np.clip(part / np.maximum(whole, 1e-9), 0, 1) for name, (part, whole) in fractions.items()}
    notes = _notes({name: (each[name], whole) for name, (_, whole) in fractions.items()}, len(names))
    p_guessing, n_rows = p_detection_guessing(*rows)
    # Contributors with fewer rows are not flagged.
    guess = [p_guessing * (n_rows >= MIN_ROWS_TO_FLAG)]
    if len(audited.types) > 2:
        types = type_confusion(*rows[:4])
        guess.append(p_type_guessing(types, rng) * (types.sum(axis=(1, 2)) >= MIN_ROWS_TO_FLAG))
    people = pl.DataFrame({"contributor": names, **each, "notes": notes})
    return people, np.max(guess, axis=0)


def _with_flags(result: AuditResult, names: list[str], p_guess: Floats) -> AuditResult:
    """Flag contributors whose detection, or whose types, are no better than guessing.

    Contributors whose verdict on all labels is reliable are not flagged.
    """
    if result.disputed_share is not None:
        return result
    reliable = set(result.contributors.filter(pl.col("verdict") == RELIABLE)["contributor"])
    p_guess = p_guess * np.array([name not in reliable for name in names])
    is_flagged = dict(zip(names, bayesian_fdr_set(p_guess).tolist(), strict=True))
    new = pl.col("contributor").replace_strict(is_flagged, default=False) & ~pl.col("verdict").is_in(FLAGGED)
    verdict = pl.when(new).then(pl.lit(FLAGGED[0])).otherwise("verdict").alias("verdict")
    people = result.contributors.with_columns(verdict)
    first = people.sort(~pl.col("verdict").is_in(FLAGGED), maintain_order=True)
    more = sum(1 - p for name, p in zip(names, p_guess, strict=True) if is_flagged[name])
    return replace(result, contributors=first, expected_false_flags=result.expected_false_flags + float(more))


def _p_overlapping_candidate(table: Table, shape: StructuredTask, audited: _Pass) -> Floats:
    """Probability that another candidate that overlaps each one is the true span."""
    frame = table.frame.filter(pl.col("near")).select("candidate", "contributor")
    marks = shape.frames["marks"].select("contributor", "document", other="candidate")
    documents = shape.frames["candidates"].select("candidate", "document")
    both = frame.join(documents, on="candidate").join(marks, on=["contributor", "document"])
    p = 1 - audited.truth[:, 0]
    best = np.zeros(len(p))
    one, other = both["candidate"].to_numpy(), both["other"].to_numpy()
    if shape.kind == SPANS:
        candidates = shape.frames["candidates"]
        start, end = candidates["start"].to_numpy(), candidates["end"].to_numpy()
        meets = (start[one] < end[other]) & (start[other] < end[one]) & (one != other)
        one, other = one[meets], other[meets]
    np.maximum.at(best, one, np.where(one == other, 0.0, p[other]))
    np.maximum.at(best, other, np.where(one == other, 0.0, p[one]))
    return best


def _notes(rates: dict[str, tuple[Floats, Floats]], people: int) -> list[str]:
    """Notes on errors that a contributor makes significantly more often than the others."""
    notes: list[list[str]] = [[] for _ in range(people)]
    for name, (rate, whole) in rates.items():
        low, _ = wilson(rate, np.maximum(whole, 1.0))
        median = float(np.median(rate[whole >= 1])) if (whole >= 1).any() else 0.0
        for code in np.flatnonzero((low > MIN_ERROR_RATE) & (low > MIN_RATE_RATIO * median) & (whole >= 10)):
            notes[code].append(NOTE_TEMPLATES[name].format(f"{rate[code]:.0%}"))
    return ["; ".join(each) for each in notes]


def _summary_sentences(shape: StructuredTask, consensus: pl.DataFrame) -> list[str]:
    frames, kind = shape.frames, shape.kind
    documents = frames["seen"]["document"].n_unique()
    unsure = int((consensus["p_type"] < 0.9).sum())
    empty = documents - frames["candidates"]["document"].n_unique()
    one = {"spans": "span", "boxes": "box"}[kind]
    counted = (
        f"The consensus has {pluralise(consensus.height, one, kind)} in {pluralise(documents, 'document')}"
    )
    candidates = pluralise(frames["candidates"].height, "candidate")
    lines = [f"{counted}, from {candidates} ({kind}.csv); {unsure:,} of them have p_type below 90%."]
    if empty:
        lines.append(f"{pluralise(empty, 'document has', 'documents have')} no annotations.")
    return lines
