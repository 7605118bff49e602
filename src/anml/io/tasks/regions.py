"""Marks of labelling tools: Label Studio's regions, Prodigy's and doccano's lines, and CoNLL's columns."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from anml.core.errors import InputError, UnsupportedError
from anml.core.text import pluralise
from anml.io.contributions import IS_TRUTH, TIME_SPENT_COLUMN, as_object, utc_text
from anml.io.label_studio import FinishedAnnotation, last_annotations
from anml.io.tasks.candidates import SpanAnnotations
from anml.io.tasks.types import BOXES, SPANS, Given

# Regions of Label Studio that are read, and the numbers of each; others are refused by name.
REGIONS: dict[str, dict[str, tuple[str, ...]]] = {
    SPANS: {"labels": ("start", "end"), "hypertextlabels": ("start", "end")},
    BOXES: {"rectanglelabels": ("x", "y", "width", "height")},
}
REFUSED = (
    "polygonlabels", "keypointlabels", "brushlabels", "ellipselabels", "videorectangle", "timeserieslabels",
    "timelinelabels", "relation", "textarea", "paragraphlabels", "vectorlabels",
)  # fmt: skip
# Keys of a line that hold its spans, and that say who annotated it.
SPAN_FIELDS = ("spans", "entities", "label", "labels")
ANNOTATOR_FIELDS = (
    "_annotator_id",
    "_session_id",
    "annotator",
    "username",
    "user",
    "annotated_by",
    "contributor",
)


def label_studio_regions(tasks: list[dict[str, Any]], given: Given, kind: str) -> SpanAnnotations:
    """Regions of a Label Studio export; an annotation without any saw the task and marked nothing."""
    marks: list[dict[str, Any]] = []
    texts: dict[str, Any] = {}
    annotations, notes = last_annotations(tasks)
    for each in annotations:
        base = {"document": each.item, "contributor": each.annotator, **each.details}
        marks.append(base)
        data = as_object(each.task.get("data"), f"data of task {each.item}")
        strings = [text for text in (data.get("text"), *data.values()) if isinstance(text, str)]
        for value in _regions(each, given, kind):
            quoted = value.pop("quoted")
            # The text is the one that regions quote: there may be titles and names beside.
            if kind == SPANS and quoted and texts.get(each.item) is None:
                texts[each.item] = next((t for t in strings if to_character_offsets(t, value, quoted)), None)
            text = texts.get(each.item)
            marks.append(
                base | value | ((text and quoted and to_character_offsets(text, value, quoted)) or {})
            )
        if kind == SPANS and texts.get(each.item) is None:
            texts[each.item] = data.get("text") or (strings[0] if len(strings) == 1 else None)
    html = any("hypertextlabels" in str(task.get("annotations")) for task in tasks)
    numbers = next(iter(REGIONS[kind].values()))
    made = _to_annotations(marks, {} if html or kind != SPANS else texts, numbers, tuple(notes))
    # Positions of boxes are shares of the sides of the image, so its size is not needed.
    return made if kind == SPANS else made._replace(lengths=pl.DataFrame())


def to_character_offsets(text: str, place: Mapping[str, Any], quoted: str) -> dict[str, float] | None:
    """A place in letters, by what it quotes: browsers may count halves; None if it quotes otherwise."""
    start, end = int(place["start"]), int(place["end"])
    if text[start:end] == quoted:
        return {"start": float(start), "end": float(end)}
    halves = text.encode("utf-16-le")
    if halves[2 * start : 2 * end].decode("utf-16-le", "replace") != quoted:
        return None
    start = len(halves[: 2 * start].decode("utf-16-le", "replace"))
    return {"start": float(start), "end": float(start + len(quoted))}


def _regions(annotation: FinishedAnnotation, given: Given, kind: str) -> Iterable[dict[str, Any]]:
    for result in annotation.results(given.get("label")):
        if (named := str(result.get("type"))) not in REGIONS[kind]:
            why = "is not read" if named in REFUSED else f"is not a region of the kind {kind}"
            problem = f"task {annotation.item} has a result of type {named!r}, which {why}"
            raise UnsupportedError(f"{problem}; name the tag to be read with --label")
        value = as_object(result.get("value"), f"a region of task {annotation.item}")
        value = {**value, **as_object(value.get("globalOffsets"), "globalOffsets")}
        types, numbers = value.get(named) or [], REGIONS[kind][named]
        if len(types) != 1:
            raise UnsupportedError(
                f"a region of task {annotation.item} has {len(types)} types, and one is needed"
            )
        if not all(isinstance(value.get(name), int | float) for name in numbers):
            raise InputError(f"a region of task {annotation.item} has no {' and '.join(numbers)} as numbers")
        if value.get("rotation"):
            raise UnsupportedError(f"a box of task {annotation.item} is rotated; only upright ones are read")
        quoted = value["text"] if isinstance(value.get("text"), str) else None
        yield {"type": str(types[0]), "quoted": quoted, **{name: float(value[name]) for name in numbers}}


def jsonl_spans(entries: list[dict[str, Any]], given: Given, kind: str) -> SpanAnnotations:
    """Lines of Prodigy (text, spans, who) or of doccano (text, label or entities, who)."""
    if kind != SPANS:
        raise UnsupportedError(f"{kind} cannot be read from lines of texts with spans")
    last: dict[tuple[str, str], list[dict[str, Any]]] = {}
    texts: dict[str, str] = {}
    left = again = 0
    for number, entry in enumerate(entries):
        if not isinstance(text := entry.get("text"), str):
            raise InputError(f"line {number + 1} has no text")
        keys = (given["contributor"],) if given.get("contributor") else ANNOTATOR_FIELDS
        annotator = next((entry[key] for key in keys if entry.get(key) is not None), None)
        if annotator is None:
            raise InputError(
                f"line {number + 1} does not say who annotated it ({', '.join(ANNOTATOR_FIELDS)})"
            )
        if entry.get("answer", "accept") != "accept":
            left += 1
            continue
        # The same text shown to several people is one document, whatever its line is called.
        document = str(entry.get("_input_hash") or entry.get("document") or _text_id(text, texts))
        if texts.get(document, text) != text:
            raise InputError(
                f"line {number + 1} has another text than an earlier one of document {document!r}"
            )
        pair = document, str(annotator)
        base = {"document": document, "contributor": pair[1], "time": utc_text(entry.get("_timestamp"))}
        again += pair in last
        last[pair] = [base, *(base | each for each, _ in spans_of(entry, number))]
        texts[document] = text
    notes = [f"{left} lines that were rejected or ignored were left out"] if left else []
    twice = f"{pluralise(again, 'line')} left out: the same person annotated the text again later"
    notes += [twice] if again else []
    return _to_annotations(
        [mark for group in last.values() for mark in group], texts, ("start", "end"), tuple(notes)
    )


def _text_id(text: str, texts: dict[str, str]) -> str:
    """The beginning of a text, which names it, with a number where another text begins so."""
    names = itertools.chain((text[:60],), (f"{text[:60]} ({k})" for k in itertools.count(2)))
    return next(name for name in names if texts.get(name, text) == text)


def spans_of(entry: dict[str, Any], number: int) -> Iterable[tuple[dict[str, Any], Any]]:
    """Spans of a line, as marks and as they came."""
    if entry.get("relations"):
        raise UnsupportedError(f"line {number + 1} has relations, which are not read; take them out")
    named = next((name for name in SPAN_FIELDS if entry.get(name)), SPAN_FIELDS[0])
    if not isinstance(entry.get(named, []), list | None):
        raise InputError(f"line {number + 1} has the {named} {entry[named]!r}, which is not a list of spans")
    for span in entry.get(named) or []:
        fields = span
        if isinstance(span, list | tuple) and len(span) == 3:
            fields = dict(zip(("start", "end", "label"), span, strict=True))
        fields = fields if isinstance(fields, dict) else {}
        start, end = (fields.get(name, fields.get(f"{name}_offset")) for name in ("start", "end"))
        if not isinstance(start, int) or not isinstance(end, int) or fields.get("label") is None:
            problem = f"line {number + 1} has the span {str(span)[:40]!r}"
            raise InputError(f"{problem}; start, end and label are needed")
        yield {"type": str(fields["label"]), "start": float(start), "end": float(end)}, span


def conll_marks(text: str) -> SpanAnnotations:
    """Tokens, one a line, with tags by contributor (? did not see it); a first line may name them."""
    lines = [line.rstrip() for line in text.split("\n") if not line.startswith("-DOCSTART-")]
    names: list[str] = []
    if lines and lines[0].lower().startswith("token"):
        names, lines = lines[0].split()[1:], lines[1:]
    marks: list[dict[str, Any]] = []
    texts, tags_of = {}, {annotator: set[str]() for annotator in names}
    for number, block in enumerate(each for each in "\n".join(lines).split("\n\n") if each.strip()):
        rows = [line.split() for line in block.splitlines() if line.strip()]
        names = names or [f"annotator {k + 1}" for k in range(len(rows[0]) - 1)]
        if any(len(row) != len(names) + 1 for row in rows) or not names:
            raise InputError(f"sentence {number + 1} has lines other than a token and {len(names)} tags")
        document, tokens = f"s{number + 1}", [row[0] for row in rows]
        ends = [end - 1 for end in itertools.accumulate(len(token) + 1 for token in tokens)]
        texts[document] = " ".join(tokens)
        for place, annotator in enumerate(names, 1):
            tags = [row[place] for row in rows]
            if "?" in tags and set(tags) != {"?"}:
                why = f"sentence {number + 1} has tags of {annotator!r} beside ?"
                raise InputError(f"{why}, which is for all or none")
            if "?" in tags:
                continue
            tags_of.setdefault(annotator, set()).update(tags)
            base = {"document": document, "contributor": annotator}
            marks += [base, *(base | each for each in _chunks(tags, tokens, ends))]
    for place, (annotator, used) in enumerate(tags_of.items(), 2):
        plain = next((tag for tag in sorted(used) if "-" not in tag), None)
        if plain is not None and "O" not in used:
            raise InputError(
                f"column {place} ({annotator}) has {plain!r} and nowhere O: its tags are of no spans"
            )
    return _to_annotations(marks, texts, ("start", "end"), ())


def _chunks(tags: list[str], tokens: list[str], ends: list[int]) -> Iterable[dict[str, Any]]:
    """Spans of tags such as B-PER, I-PER, E-PER, S-PER, and O."""
    opened: dict[str, Any] | None = None
    for tag, token, end in zip(tags, tokens, ends, strict=True):
        how, _, kind = tag.partition("-") if "-" in tag else ("I", "", tag)
        if opened is not None and tag != "O" and how in "IELM" and kind == opened["type"]:
            opened["end"] = float(end)
            continue
        if opened is not None:
            yield opened
        opened = None if tag == "O" else {"type": kind, "start": float(end - len(token)), "end": float(end)}
    if opened is not None:
        yield opened


def _to_annotations(
    marks: list[dict[str, Any]], texts: dict[str, Any], numbers: tuple[str, ...], notes: tuple[str, ...]
) -> SpanAnnotations:
    if not marks:
        raise InputError("no finished annotation was found in this file")
    kinds: dict[str, Any] = {"document": pl.String, "contributor": pl.String, "type": pl.String}
    extra = {"time": pl.String, IS_TRUTH: pl.Boolean, TIME_SPENT_COLUMN: pl.Float64}
    known = {name for mark in marks for name in mark if mark[name] not in (None, False)}
    rest = [name for name in extra if name in known]
    kinds |= dict.fromkeys(numbers, pl.Float64) | {name: extra[name] for name in rest}
    frame = pl.from_dicts(marks, schema=kinds)
    exposure = frame.group_by("document", "contributor", maintain_order=True).agg(pl.col(rest).first())
    columns = {"document": [*texts], "text": [*texts.values()]}
    shown = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).drop_nulls() if texts else None
    return SpanAnnotations(
        frame.filter(pl.col("type").is_not_null()).drop(rest), exposure, shown, None, notes
    )
