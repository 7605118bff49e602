"""Marks of labelling tools: Label Studio's regions, Prodigy's and doccano's lines, and CoNLL's columns."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from anml.core.errors import InputError, UnsupportedError
from anml.intake.contributions import record, records
from anml.intake.label_studio import account, annotations_of
from anml.intake.shapes.places import Marks
from anml.intake.shapes.shape import BOXES, SPANS, Given

# Regions of Label Studio that are read, and the numbers of each; others are refused by name.
REGIONS: dict[str, dict[str, tuple[str, ...]]] = {
    SPANS: {"labels": ("start", "end"), "hypertextlabels": ("start", "end")},
    BOXES: {"rectanglelabels": ("x", "y", "width", "height")},
}
REFUSED = (
    "polygonlabels", "keypointlabels", "brushlabels", "ellipselabels", "videorectangle", "timeserieslabels",
    "timelinelabels", "relation", "textarea", "paragraphlabels", "vectorlabels",
)  # fmt: skip
PEOPLE = ("_annotator_id", "_session_id", "annotator", "username", "user", "annotated_by", "contributor")


def label_studio_marks(tasks: list[dict[str, Any]], given: Given, kind: str) -> Marks:
    """Regions of a Label Studio export; an annotation without any saw the task and marked nothing."""
    marks: list[dict[str, Any]] = []
    texts, left = {}, 0
    for document, task, _, annotation in annotations_of(tasks):
        who = account(annotation.get("completed_by"))
        if annotation.get("was_cancelled") or who is None:
            left += 1
            continue
        base = {"document": document, "contributor": who}
        marks += [base, *(base | each for each in _regions(annotation, document, given, kind))]
        data = record(task.get("data"), f"data of task {document}")
        texts[document] = data.get("text") or next((v for v in data.values() if isinstance(v, str)), None)
    said = (f"{left} annotations that were cancelled, or by nobody, were left out",) if left else ()
    html = any("hypertextlabels" in str(task.get("annotations")) for task in tasks)
    return _made(marks, {} if html or kind != SPANS else texts, next(iter(REGIONS[kind].values())), said)


def _regions(annotation: dict[str, Any], document: str, given: Given, kind: str) -> Iterable[dict[str, Any]]:
    for result in records(annotation.get("result"), "the result of an annotation"):
        named, tag = str(result.get("type")), given.get("label")
        if tag is not None and result.get("from_name") != tag:
            continue
        if named not in REGIONS[kind]:
            why = "is not read" if named in REFUSED else f"is no region of the kind {kind}"
            raise UnsupportedError(
                f"task {document} has a result of type {named!r}, which {why}; name the tag to be read with "
                "--label"
            )
        value = record(result.get("value"), f"a region of task {document}")
        value = {**value, **record(value.get("globalOffsets"), "globalOffsets")}
        types, numbers = value.get(named) or [], REGIONS[kind][named]
        if len(types) != 1:
            raise UnsupportedError(f"a region of task {document} has {len(types)} types, and one is needed")
        if not all(isinstance(value.get(name), int | float) for name in numbers):
            raise InputError(f"a region of task {document} has no {' and '.join(numbers)} as numbers")
        if value.get("rotation"):
            raise UnsupportedError(f"a box of task {document} is rotated; only upright ones are read")
        yield {"type": str(types[0]), **{name: float(value[name]) for name in numbers}}


def line_marks(entries: list[dict[str, Any]], given: Given, kind: str) -> Marks:
    """Lines of Prodigy (text, spans, who) or of doccano (text, label or entities, who)."""
    if kind != SPANS:
        raise UnsupportedError(f"{kind} cannot be read from lines of texts with spans")
    marks: list[dict[str, Any]] = []
    texts, left = {}, 0
    for number, entry in enumerate(entries):
        text = entry.get("text")
        if not isinstance(text, str):
            raise InputError(f"line {number + 1} has no text")
        who = given.get("contributor")
        who = next((entry[name] for name in ((who,) if who else PEOPLE) if entry.get(name) is not None), None)
        if who is None:
            raise InputError(f"line {number + 1} does not say who annotated it ({', '.join(PEOPLE)})")
        if entry.get("answer", "accept") != "accept":
            left += 1
            continue
        # The same text shown to several people is one document, whatever its line is called.
        document = str(entry.get("_input_hash") or entry.get("document") or text[:60])
        base = {"document": document, "contributor": str(who)}
        marks += [base, *(base | each for each in _spans(entry, number))]
        texts[document] = text
    said = (f"{left} lines that were rejected or ignored were left out",) if left else ()
    return _made(marks, texts, ("start", "end"), said)


def _spans(entry: dict[str, Any], number: int) -> Iterable[dict[str, Any]]:
    if entry.get("relations"):
        raise UnsupportedError(f"line {number + 1} has relations, which are not read; take them out")
    named = ("spans", "entities", "label", "labels")
    for span in next((entry[name] for name in named if entry.get(name)), []):
        found = span
        if isinstance(span, list | tuple) and len(span) == 3:
            found = dict(zip(("start", "end", "label"), span, strict=True))
        found = found if isinstance(found, dict) else {}
        start, end = found.get("start", found.get("start_offset")), found.get("end", found.get("end_offset"))
        if not isinstance(start, int) or not isinstance(end, int) or found.get("label") is None:
            said = f"line {number + 1} has the span {str(span)[:40]!r}"
            raise InputError(f"{said}; start, end and label are needed")
        yield {"type": str(found["label"]), "start": float(start), "end": float(end)}


def conll_marks(text: str) -> Marks:
    """Tokens, one a line, with tags by contributor (? did not see it); a first line may name them."""
    lines = [line for line in text.splitlines() if not line.startswith("-DOCSTART-")]
    names: list[str] = []
    if lines and lines[0].lower().startswith("token"):
        names, lines = lines[0].split()[1:], lines[1:]
    marks: list[dict[str, Any]] = []
    texts = {}
    for number, block in enumerate(each for each in "\n".join(lines).split("\n\n") if each.strip()):
        rows = [line.split() for line in block.splitlines() if line.strip()]
        names = names or [f"annotator {k + 1}" for k in range(len(rows[0]) - 1)]
        if any(len(row) != len(names) + 1 for row in rows) or not names:
            raise InputError(f"sentence {number + 1} has lines other than a token and {len(names)} tags")
        document, tokens = f"s{number + 1}", [row[0] for row in rows]
        ends = [sum(len(token) + 1 for token in tokens[: k + 1]) - 1 for k in range(len(tokens))]
        texts[document] = " ".join(tokens)
        for place, who in enumerate(names, 1):
            tags = [row[place] for row in rows]
            if "?" in tags:
                continue
            base = {"document": document, "contributor": who}
            marks += [base, *(base | each for each in _chunks(tags, tokens, ends))]
    return _made(marks, texts, ("start", "end"), ())


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


def _made(
    marks: list[dict[str, Any]], texts: dict[str, Any], numbers: tuple[str, ...], said: tuple[str, ...]
) -> Marks:
    if not marks:
        raise InputError("no finished annotation was found in this file")
    kinds = {"document": pl.String, "contributor": pl.String, "type": pl.String}
    frame = pl.from_dicts(marks, schema=kinds | dict.fromkeys(numbers, pl.Float64))
    seen = frame.select("document", "contributor").unique(maintain_order=True)
    columns = {"document": [*texts], "text": [*texts.values()]}
    known = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).drop_nulls() if texts else None
    return Marks(frame.filter(pl.col("type").is_not_null()), seen, known, None, said)
