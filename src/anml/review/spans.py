"""Review queue of documents with the spans, boxes or tags of the consensus, for labelling tools."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl

from anml.annotators.spans import non_overlapping_subset
from anml.core.canonical import sha256
from anml.core.checks import as_codes
from anml.core.errors import UnsupportedError
from anml.io.argilla import fields_of, question_of, record_name
from anml.io.contributions import OWN_PREFIX, export_records
from anml.io.file import InputFile
from anml.io.label_studio import annotations_of
from anml.io.source import Source
from anml.io.tasks.candidates import NO_SPAN
from anml.io.tasks.preferences import FIRST, SECOND
from anml.io.tasks.regions import ANNOTATOR_FIELDS, REGIONS, SPAN_FIELDS, spans_of, to_character_offsets
from anml.io.tasks.tags import TAG_PRESENT
from anml.io.tasks.types import PREFERENCE, SPANS, TAGS, StructuredTask
from anml.pipeline.review_queue import ReviewQueue

AGENT = "anml"
Records = list[dict[str, Any]]
# Review information of each document, and its annotations by consensus.
Made = dict[str, tuple[dict[str, Any], Records]]
# Columns of tags and of pairs that are the document and the type of an item.
DOCUMENTS = {TAGS: {"thing": "document", "tag": "type"}, PREFERENCE: {"group": "document"}}
# Fields of the annotation, not of the text.
PRIVATE_FIELDS = ("answer", "_task_hash", "_timestamp")


def format_span_queue(queue: ReviewQueue, source: Source, format: str) -> str | Records:
    """Format documents with the annotations of the consensus, by expected gain."""
    shape = source.shape
    assert shape is not None
    items = source.table.frame.unique("item", maintain_order=True).rename(DOCUMENTS.get(shape.kind, {}))
    listed = queue.rows.join(items.select("item", "document"), on="item", maintain_order="left")
    wrong = pl.col("p_label_wrong").sum().round(4).alias("expected_wrong_labels")
    figures = pl.col("reason").first(), wrong
    by_document = listed.group_by("document", maintain_order=True).agg(figures)
    tables = (by_document, _consensus(queue.items, shape, items))
    fields, drawn = (each.rows_by_key("document", named=True) for each in tables)
    made = {document: (rows[0], drawn.get(document, [])) for document, rows in fields.items()}
    return WRITERS[format](made, source, shape)


def records(file: Path | None) -> Records:
    """Tasks or records of a file of a labelling tool."""
    assert file is not None, "an export is a file"
    return export_records(InputFile(file))


def _consensus(items: pl.DataFrame | None, shape: StructuredTask, things: pl.DataFrame) -> pl.DataFrame:
    """Candidates in the consensus, without overlaps."""
    if items is None:
        raise UnsupportedError(
            "no item has labels of two contributors, so there is no consensus; use --format csv"
        )
    items = items.select("item", consensus="consensus_label", p="p_consensus")
    if shape.kind == PREFERENCE:
        return _ranked(items, things)
    if shape.kind == TAGS:
        ticked = items.filter(pl.col("consensus") == TAG_PRESENT).select("item", "p")
        return things.select("item", "document", "type").join(ticked, on="item")
    items = items.select("item", "p", type="consensus").filter(pl.col("type") != NO_SPAN)
    kept = shape.frames["candidates"].join(items, on="item", maintain_order="left")
    if shape.kind != SPANS or shape.nested or kept.is_empty():
        return kept
    documents, _ = as_codes("document", kept["document"].to_numpy(), kept.height)
    start, end, p = (kept[name].to_numpy() for name in ("start", "end", "p"))
    return kept.filter(pl.Series(non_overlapping_subset(documents, start, end, p, 0.0)))


def _ranked(items: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Rank the candidates of each group by the number of won comparisons."""
    consensus = items.select("item", "consensus", "p")
    pairs = pairs.select("item", "document", "first", "second").join(consensus, on="item")
    ahead = (pl.col("consensus") == FIRST).cast(pl.Int64) - (pl.col("consensus") == SECOND).cast(pl.Int64)
    signs = {"first": 1, "second": -1}.items()
    sides = [pairs.select("document", "p", type=name, won=ahead * sign) for name, sign in signs]
    each = pl.concat(sides).group_by("document", "type").agg(pl.col("won").sum(), pl.col("p").min())
    rank = pl.col("won").rank("min", descending=True).over("document").cast(pl.Int64)
    return each.with_columns(rank=rank).sort("document", "rank", "type")


def _label_studio(made: Made, source: Source, shape: StructuredTask) -> Records:
    tasks, region_types = records(source.path), REGIONS.get(shape.kind, ("choices",))
    texts = dict(shape.frames["texts"].iter_rows()) if "texts" in shape.frames else {}
    given: dict[str, Records] = {}
    by_id = {str(task.get("id", number)): task for number, task in enumerate(tasks)}
    for document, _, _, annotation in annotations_of(tasks):
        results = [each for each in annotation.get("result") or [] if each.get("type") in region_types]
        answers = [each for each in results if source.question in (None, each.get("from_name"))]
        given.setdefault(document, []).extend(answers)
    like = next(result for results in given.values() for result in results)
    written = []
    for document, (fields, rows) in made.items():
        score = min((row["p"] for row in rows), default=None)
        regions = given.get(document) or [like]
        if shape.kind == TAGS:
            drawn_in = [_template(like) | {"value": {"choices": sorted(row["type"] for row in rows)}}]
        else:
            drawn_in = [_to_region(regions, row, document, texts.get(document)) for row in rows]
        written.append(predicted_task(by_id[document], {"task": document, **fields}, score, [drawn_in]))
    return written


def predicted_task(
    task: dict[str, Any], fields: dict[str, Any], score: float | None, results: list[Any]
) -> dict[str, Any]:
    """Return an imported task with predictions, and with review information in its data."""
    own = {"id": task["id"]} if isinstance(task.get("id"), int) else {}
    scored = {} if score is None else {"score": round(score, 4)}
    about = {f"{OWN_PREFIX}{name}": value for name, value in fields.items()}
    predictions = [{"model_version": AGENT, **scored, "result": result} for result in results]
    return {**own, "data": {**task.get("data", {}), **about}, "predictions": predictions}


def _to_region(theirs: Records, row: dict[str, Any], document: str, text: str | None) -> dict[str, Any]:
    """Region of a consensus span in the form of an imported region, with its path or image size."""
    kind = theirs[0]["type"]
    numbers = next(regions[kind] for regions in REGIONS.values() if kind in regions)
    value: dict[str, Any] = {name: row[name] for name in numbers}
    for drawn in theirs if "start" in numbers else ():
        own = drawn["value"]
        place = {name: float({**own, **(own.get("globalOffsets") or {})}[name]) for name in numbers}
        if text is not None and own.get("text"):
            place = to_character_offsets(text, place, own["text"]) or place
        if place == value:
            value = {**own}
            break
    if text is not None and "text" not in value:
        value["text"] = text[row["start"] : row["end"]]
    value = {**value, kind: [row["type"]]}
    mark = sha256(json.dumps([document, value], sort_keys=True).encode())[:10]
    return {"id": mark, **_template(theirs[0]), "value": value}


def _template(like: dict[str, Any]) -> dict[str, Any]:
    """Question, type and image size of a result, without the annotation."""
    own = ("id", "value", "origin", "meta", "score", "parentID", "readonly")
    return {name: value for name, value in like.items() if name not in own}


def _jsonl_records(made: Made, source: Source, shape: StructuredTask) -> str:
    """Imported lines of Prodigy or doccano with the spans of the consensus, without annotator and time."""
    texts, key = dict(shape.frames["texts"].iter_rows()), SPAN_FIELDS[0]
    first: dict[str, dict[str, Any]] = {}
    theirs: dict[tuple[Any, ...], Any] = {}
    for number, entry in enumerate(records(source.path)):
        first.setdefault(entry["text"], entry)
        key = next((name for name in SPAN_FIELDS if entry.get(name)), key)
        for place, span in spans_of(entry, number):
            theirs.setdefault((entry["text"], place["start"], place["end"]), span)
    lines = []
    for document, (fields, rows) in made.items():
        text, marks = texts[document], []
        for start, end, kind in ((row["start"], row["end"], row["type"]) for row in rows):
            span = theirs[text, start, end]
            marks.append({**span, "label": kind} if isinstance(span, dict) else [start, end, kind])
        own = (*ANNOTATOR_FIELDS, *SPAN_FIELDS, *PRIVATE_FIELDS)
        kept = {name: value for name, value in first[text].items() if name not in own}
        meta = {**(kept.get("meta") or {}), AGENT: {"document": document, **fields}}
        lines.append(json.dumps({**kept, key: marks, "meta": meta}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _argilla(made: Made, source: Source, shape: StructuredTask) -> Records:
    suggested = []
    for record, (fields, rows) in made.items():
        value: list[Any] = sorted(row["type"] for row in rows)
        if shape.kind == PREFERENCE:
            value = [{"value": row["type"], "rank": row["rank"]} for row in rows]
        score = min((row["p"] for row in rows), default=None)
        suggested.append((record, value or None, score, {"task": record, **fields}))
    return argilla_records(records(source.path), source.question, suggested)


def argilla_records(
    entries: Records, asked: str | None, suggested: Iterable[tuple[str, Any, float | None, dict[str, Any]]]
) -> Records:
    """Return records with suggestions under their ids, so that Argilla updates them."""
    by_name = {record_name(entry, number): entry for number, entry in enumerate(entries)}
    question, written = question_of(entries, asked), []
    for name, value, score, fields in suggested:
        entry, scored = by_name[name], {} if score is None else {"score": round(score, 4)}
        server = {"_server_id": entry["_server_id"]} if entry.get("_server_id") else {}
        suggestion = {question: {"value": value, "agent": AGENT, **scored}}
        shown = {"fields": fields_of(entry), "metadata": entry.get("metadata") or {}}
        answers = {"suggestions": {} if value is None else suggestion, "responses": {}}
        # Argilla rejects unknown metadata, so review information is a separate key.
        written.append({"id": name, **server, **shown, **answers, AGENT: fields})
    return written


WRITERS: dict[str, Callable[[Made, Source, StructuredTask], str | Records]] = {
    "label-studio": _label_studio, "prodigy": _jsonl_records, "doccano": _jsonl_records, "argilla": _argilla,
}  # fmt: skip
