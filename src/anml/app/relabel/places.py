"""Documents to look at first, with spans, boxes or tags of the consensus put in: what tools import."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from anml.app.relabel.queue import Looking
from anml.core.canonical import sha256
from anml.core.checks import as_codes
from anml.core.errors import UnsupportedError
from anml.core.people.marks import without_overlaps
from anml.intake.contributions import OURS
from anml.intake.file import File
from anml.intake.shapes.places import NOTHING
from anml.intake.shapes.regions import REGIONS
from anml.intake.shapes.shape import SPANS, TAGS
from anml.intake.shapes.tags import YES
from anml.intake.source import Source

AGENT = "anml"


def places_file(looking: Looking, source: Source, path: Path | None, format: str) -> str:
    """Write documents with what the consensus marks in them, the most to gain first."""
    assert source.shape is not None
    assert path is not None, "an export is a file"
    rows = _documents(source).select("item", "document")
    listed = looking.rows.join(rows, on="item", maintain_order="left")
    about = listed.group_by("document", maintain_order=True).agg(
        pl.col("gain").sum().round(4), pl.col("reason").first(), places=pl.len()
    )
    drawn = consensus_of(looking, source).partition_by("document", as_dict=True, include_key=False)
    made = {row["document"]: (row, drawn.get((row["document"],))) for row in about.iter_rows(named=True)}
    return WRITERS[format](made, source, path)


Made = dict[str, tuple[dict[str, Any], pl.DataFrame | None]]


def _documents(source: Source) -> pl.DataFrame:
    """The document of each item; of tags, the thing that is tagged, and the tag as a type."""
    frame = source.table.frame.unique("item", maintain_order=True)
    return frame.rename({"thing": "document", "tag": "type"}) if "thing" in frame.columns else frame


def consensus_of(looking: Looking, source: Source) -> pl.DataFrame:
    """Candidates that the labels of their items together call something, spans without overlaps."""
    assert source.shape is not None
    if looking.items is None:
        raise UnsupportedError("no place was judged by two people, so that there is no consensus to draw in")
    if source.shape.kind == TAGS:
        ticked = looking.items.filter(pl.col("consensus") == YES).select("item", "p")
        return _documents(source).select("item", "document", "type").join(ticked, on="item")
    items = looking.items.select("item", "p", type="consensus").filter(pl.col("type") != NOTHING)
    kept = source.shape.frames["candidates"].join(items, on="item", maintain_order="left")
    if source.shape.kind != SPANS or kept.is_empty():
        return kept
    documents, _ = as_codes("document", kept["document"].to_numpy(), kept.height)
    start, end, p = (kept[name].to_numpy() for name in ("start", "end", "p"))
    return kept.filter(pl.Series(without_overlaps(documents, start, end, p, 0.0)))


def _label_studio(made: Made, source: Source, path: Path) -> str:
    """Tasks as they came, with the consensus as a prediction."""
    assert source.shape is not None
    tasks, known = File(path).json, REGIONS.get(source.shape.kind, ("choices",))
    like = next(
        result
        for task in tasks
        for annotation in task.get("annotations") or []
        for result in annotation.get("result") or []
        if result.get("type") in known and source.question in (None, result.get("from_name"))
    )
    by_id = {str(task.get("id", number)): task for number, task in enumerate(tasks)}
    written = []
    for document, (about, drawn) in made.items():
        task, rows = by_id[document], [] if drawn is None else drawn.to_dicts()
        said = {"task": document, "reason": about["reason"], "gain": about["gain"]}
        score = min((row["p"] for row in rows), default=None)
        if source.shape.kind == TAGS:
            drawn_in = [_named(like) | {"value": {"choices": sorted(row["type"] for row in rows)}}]
        else:
            drawn_in = [_region(like, row, task, document) for row in rows]
        written.append(predicted_task(task, said, score, [drawn_in]))
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def predicted_task(
    task: dict[str, Any], said: dict[str, Any], score: float | None, results: list[Any]
) -> dict[str, Any]:
    """A task of Label Studio as it came, with predictions, and what is said of it in its data."""
    own = {"id": task["id"]} if isinstance(task.get("id"), int) else {}
    scored = {} if score is None else {"score": round(score, 4)}
    about = {f"{OURS}{name}": value for name, value in said.items()}
    predictions = [{"model_version": AGENT, **scored, "result": result} for result in results]
    return {**own, "data": {**task.get("data", {}), **about}, "predictions": predictions}


def _region(like: dict[str, Any], row: dict[str, Any], task: dict[str, Any], document: str) -> dict[str, Any]:
    kind = like["type"]
    numbers = next(known[kind] for known in REGIONS.values() if kind in known)
    value: dict[str, Any] = {name: row[name] for name in numbers} | {kind: [row["type"]]}
    text = (task.get("data") or {}).get("text")
    if "start" in numbers and isinstance(text, str):
        value["text"] = text[row["start"] : row["end"]]
    mark = sha256(json.dumps([document, value], sort_keys=True).encode())[:10]
    return {"id": mark, **_named(like), "value": value}


def _named(like: dict[str, Any]) -> dict[str, Any]:
    return {name: like[name] for name in ("from_name", "to_name", "type") if name in like}


def _lines(made: Made, source: Source, path: Path) -> str:
    """Lines of Prodigy or doccano, with the consensus as spans."""
    assert source.shape is not None
    texts = dict(source.shape.frames["texts"].iter_rows())
    prodigy, lines = source.format == "prodigy", []
    for document, (about, drawn) in made.items():
        spans = [] if drawn is None else drawn.select("start", "end", "type").rows()
        marks: dict[str, Any] = {"label": [list(span) for span in spans]}
        if prodigy:
            marks = {"spans": [dict(zip(("start", "end", "label"), span, strict=True)) for span in spans]}
        meta = {"document": document, "reason": about["reason"], "gain": about["gain"]}
        line = {"text": texts[document], **marks, "meta": {AGENT: meta}}
        lines.append(json.dumps(line, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


WRITERS: dict[str, Callable[[Made, Source, Path], str]] = {
    "label-studio": _label_studio, "prodigy": _lines, "doccano": _lines,
}  # fmt: skip
