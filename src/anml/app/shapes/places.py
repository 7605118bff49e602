"""An audit of spans and boxes: the places that stay, and how each person errs."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from anml.app.audit.audit import audit_table
from anml.app.audit.request import Request
from anml.app.audit.result import Audited, Shaped, with_columns_of
from anml.core.checks import Array, Bools, Floats, as_codes
from anml.core.people.consensus import join_posteriors
from anml.core.people.marks import LEAST, errors, guessing, not_finding, types_by_truth, without_overlaps
from anml.core.people.verdicts import ENOUGH_ROWS, discovered
from anml.core.people.words import ACCUSED, RELIABLE
from anml.core.progress import Progress
from anml.core.stats import wilson
from anml.core.words import counted
from anml.intake.shapes.places import NOTHING
from anml.intake.shapes.shape import SPANS, Shape
from anml.intake.tables import Table

# Fewer spans teach a model of their words nothing.
ENOUGH_WORDS = 50
# A kind of error is told of somebody where it surely is so common, and so much commoner than with others.
COMMON, COMMONER = 0.2, 1.5
SAID = {
    "misses": "misses {} of what is there",
    "inventions": "puts {} of its marks where nothing is",
    "boundaries": "gives {} of its marks other boundaries",
    "wrong_types": "gives {} of its marks another type",
}


class _Pass(NamedTuple):
    """One audit of candidates: what it found, and the posterior of each candidate, nothing first."""

    result: Audited
    truth: Floats
    types: list[str]


def audit_places(table: Table, shape: Shape, request: Request, progress: Progress | None) -> Audited:
    """Audit candidates; `table` and `shape` are what `anml.intake.shapes` makes of spans or boxes."""
    frames = shape.frames
    found = _pass(table, request, progress)
    if "texts" in frames and frames["candidates"].height >= ENOUGH_WORDS and request.predictions is None:
        notes, words = found.result.notes, _by_words(table, shape, found)
        found = _pass(table, replace(request, predictions=words), progress)
        notes = [*notes, "a model of the words in and around each place, held out by document, is counted in"]
        found = found._replace(result=replace(found.result, notes=notes))
    people, guess = _people(table, shape, found, request.seed)
    found = found._replace(result=_accused(found.result, people["contributor"].to_list(), guess))
    people = with_columns_of(found.result, people)
    consensus = _consensus(shape, found)
    said = _said(shape, consensus)
    shaped = Shaped(shape.kind, shape.unit, {shape.kind: consensus}, said, frames)
    return replace(found.result, contributors=people, shape=shaped)


def _pass(table: Table, request: Request, progress: Progress | None) -> _Pass:
    result, prepared, assessed = audit_table(table, request, progress=progress)
    codes = table.frame["candidate"].to_numpy().astype(np.int64)[prepared.rows]
    truth = join_posteriors(assessed.belief.truth, np.unique(codes, return_inverse=True)[1])
    order = [NOTHING, *(name for name in prepared.classes if name != NOTHING)]
    if NOTHING not in prepared.classes:
        # Everybody marked every place.
        return _Pass(result, np.insert(truth, 0, 0.0, axis=1), order)
    return _Pass(result, truth[:, [prepared.classes.index(name) for name in order]], order)


def _by_words(table: Table, shape: Shape, found: _Pass) -> Array:
    """Held-out predictions of the words of each span, one row for each row of the table."""
    from anml.predictors.spans import span_predictions

    frames = shape.frames
    spans = frames["candidates"].join(frames["texts"], on="document", how="left", maintain_order="left")
    documents, _ = as_codes("document", spans["document"].to_numpy(), spans.height)
    texts = spans["text"].fill_null("").to_list()
    start, end = spans["start"].to_numpy(), spans["end"].to_numpy()
    words = span_predictions(texts, start, end, documents, found.truth)
    return np.asarray(words[table.frame["candidate"].to_numpy()][:, np.argsort(found.types)])


def _consensus(shape: Shape, found: _Pass) -> pl.DataFrame:
    """Places that stay: the likeliest set without overlaps for spans, all that are likely otherwise."""
    candidates = shape.frames["candidates"]
    p = 1 - found.truth[:, 0]
    kept: Bools = p > LEAST
    if shape.kind == SPANS and not shape.nested:
        documents, _ = as_codes("document", candidates["document"].to_numpy(), candidates.height)
        kept = without_overlaps(documents, candidates["start"].to_numpy(), candidates["end"].to_numpy(), p)
    types = np.array(found.types[1:], dtype=object)[found.truth[:, 1:].argmax(axis=1)]
    share = found.truth[:, 1:].max(axis=1)
    marked = shape.frames["marks"].group_by("candidate").agg(marked=pl.len())
    told = pl.DataFrame({"type": types.tolist(), "p": p.round(4), "p_type": share.round(4)})
    frame = candidates.hstack(told).join(marked, on="candidate", how="left", maintain_order="left")
    return frame.filter(pl.Series(kept)).drop("candidate", "item")


def _people(table: Table, shape: Shape, found: _Pass, seed: int) -> tuple[pl.DataFrame, Floats]:
    """How each person errs, and how likely what it finds, or calls it, is no better than a guess."""
    frame = table.frame
    who, names = as_codes("contributor", frame["contributor"].to_numpy(), frame.height)
    codes = frame["candidate"].to_numpy().astype(np.int64)
    label = np.array([found.types.index(name) for name in frame["label"]])
    near, beside = frame["near"].to_numpy(), _beside(table, shape, found)[codes]
    rows = (who, len(names), found.truth[codes], label, near, beside)
    counts, rng = errors(*rows), np.random.default_rng(seed)
    # Shares of what there is, or was marked, and of how many.
    of = {
        "misses": (counts.missed, counts.there),
        "inventions": (counts.invented, counts.marked),
        "boundaries": (counts.shifted, counts.marked),
        "wrong_types": (counts.mistyped, counts.marked),
    }
    each = {name: np.clip(part / np.maximum(whole, 1e-9), 0, 1) for name, (part, whole) in of.items()}
    habits = _habits({name: (each[name], whole) for name, (_, whole) in of.items()}, len(names))
    blind, judged = not_finding(*rows)
    # Fewer rows, or marks, than these accuse nobody.
    guess = [blind * (judged >= ENOUGH_ROWS)]
    if len(found.types) > 2:
        types = types_by_truth(*rows[:4])
        guess.append(guessing(types, rng) * (types.sum(axis=(1, 2)) >= ENOUGH_ROWS))
    people = pl.DataFrame({"contributor": names, **each, "habits": habits})
    return people, np.max(guess, axis=0)


def _accused(result: Audited, names: list[str], guess: Floats) -> Audited:
    """The result, with those accused who find, or name, no better than by guessing.

    Whom all of their labels together show to be reliable is not: two accounts must agree.
    """
    if result.doubtful is not None:
        return result
    reliable = set(result.contributors.filter(pl.col("verdict") == RELIABLE)["contributor"])
    guess = guess * np.array([name not in reliable for name in names])
    told = dict(zip(names, discovered(guess).tolist(), strict=True))
    new = pl.col("contributor").replace_strict(told, default=False) & ~pl.col("verdict").is_in(ACCUSED)
    word = pl.when(new).then(pl.lit(ACCUSED[0])).otherwise("verdict").alias("verdict")
    people = result.contributors.with_columns(word)
    first = people.sort(~pl.col("verdict").is_in(ACCUSED), maintain_order=True)
    more = sum(1 - p for name, p in zip(names, guess, strict=True) if told[name])
    return replace(result, contributors=first, false_accusations=result.false_accusations + float(more))


def _beside(table: Table, shape: Shape, found: _Pass) -> Floats:
    """How likely another candidate that overlaps each is the right one."""
    frame = table.frame.filter(pl.col("near")).select("candidate", "contributor")
    marks = shape.frames["marks"].select("contributor", "document", other="candidate")
    documents = shape.frames["candidates"].select("candidate", "document")
    both = frame.join(documents, on="candidate").join(marks, on=["contributor", "document"])
    p = 1 - found.truth[:, 0]
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


def _habits(rates: dict[str, tuple[Floats, Floats]], people: int) -> list[str]:
    """What each person does more often than the others, surely."""
    said: list[list[str]] = [[] for _ in range(people)]
    for name, (rate, whole) in rates.items():
        low, _ = wilson(rate, np.maximum(whole, 1.0))
        usual = float(np.median(rate[whole >= 1])) if (whole >= 1).any() else 0.0
        for person in np.flatnonzero((low > COMMON) & (low > COMMONER * usual) & (whole >= 10)):
            said[person].append(SAID[name].format(f"{rate[person]:.0%}"))
    return ["; ".join(each) for each in said]


def _said(shape: Shape, consensus: pl.DataFrame) -> list[str]:
    frames, kind = shape.frames, shape.kind
    documents = frames["seen"]["document"].n_unique()
    unsure = int((consensus["p_type"] < 0.9).sum())
    empty = documents - frames["candidates"]["document"].n_unique()
    stay = counted(consensus.height, {"spans": "span", "boxes": "box"}[kind], kind)
    places = f"{counted(frames['candidates'].height, 'place')} that anybody marked"
    kept = f"{stay} of {places} in {counted(documents, 'document')} stay ({kind}.csv)"
    said = [f"{kept}; {unsure:,} of them are less than 90% sure."]
    if empty:
        said.append(f"Nobody marked anything in {counted(empty, 'document')}.")
    return said
