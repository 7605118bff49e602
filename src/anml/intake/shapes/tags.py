"""Several tags on an item: a yes or no of everybody who saw it, for each tag that anybody ticked there."""

import json
from typing import Any

import polars as pl

from anml.core.errors import InputError
from anml.core.words import counted
from anml.intake.argilla import SUBMITTED, answers_to, question_of
from anml.intake.contributions import record, records
from anml.intake.label_studio import account, annotations_of
from anml.intake.plain import as_text
from anml.intake.roles import ALIASES
from anml.intake.shapes.shape import TAGS, Given, Reduced, Shape, labelled

YES, NO = "yes", "no"
SEPARATORS = (";", "|")


def read_tags(frame: pl.DataFrame, given: Given) -> Reduced:
    """Sets of tags in one column: lists, lists as JSON, or names apart by ; or |."""
    frame, contributor, item, label = labelled(frame, given, ("tags", *ALIASES["label"]))
    sets = pl.Series(_sets(frame[label]))
    seen = frame.select(thing=as_text(frame[item]), contributor=contributor, tags=sets)
    twice = seen.height - seen.select("thing", "contributor").n_unique()
    if twice:
        raise InputError(f"{counted(twice, 'item')} have two sets of tags by the same contributor")
    asked = seen.explode("tags").drop_nulls("tags").select("thing", tag="tags").unique().sort("thing", "tag")
    if asked.is_empty():
        raise InputError(f"column {label!r} has no tag in any row")
    rows = asked.join(seen, on="thing", maintain_order="left_right")
    rows = rows.select(
        item=pl.format("{} · {}", "thing", "tag"), contributor="contributor",
        label=pl.when(pl.col("tags").list.contains(pl.col("tag"))).then(pl.lit(YES)).otherwise(pl.lit(NO)),
        thing="thing", tag="tag",
    )  # fmt: skip
    if (rows["label"] == NO).sum() == 0:
        raise InputError("all who saw an item ticked the same tags there; there is nothing to compare")
    empty = int((seen["tags"].list.len() == 0).sum())
    warnings = [f"{counted(empty, 'row')} without a tag say that none fits"] if empty else []
    notes = [
        f"{label!r} holds sets of {counted(asked['tag'].n_unique(), 'tag')}; each of "
        f"{counted(asked.height, 'pair')} of an item and a tag that anybody ticked is a yes or no of all who "
        "saw the item"
    ]
    shape = Shape(TAGS, "yes or no", {"seen": seen.select("thing", "contributor")})
    return Reduced(rows, shape, notes, warnings)


def _sets(series: pl.Series) -> list[list[str]]:
    if series.dtype.is_nested():
        return [sorted({str(tag) for tag in value or []}) for value in series.to_list()]
    texts = [text or "" for text in as_text(series).to_list()]
    if all(text.lstrip().startswith("[") for text in texts if text):
        return [sorted(set(_from_json(text))) if text else [] for text in texts]
    mark = next((each for each in SEPARATORS if any(each in text for text in texts)), None)
    parts = [text.split(mark) if mark else [text] for text in texts]
    return [sorted({part.strip() for part in each} - {""}) for each in parts]


def _from_json(text: str) -> list[str]:
    try:
        found = json.loads(text)
    except ValueError:
        raise InputError(f"{text[:60]!r} begins like a list of tags and is none") from None
    if not isinstance(found, list) or not all(isinstance(tag, str | int | float) for tag in found):
        raise InputError(f"{text[:60]!r} is no list of tags")
    return [str(tag) for tag in found]


def are_tags(series: pl.Series) -> bool:
    """Whether a column of labels holds sets: lists, or names apart by a mark that also stand alone."""
    if series.dtype.is_nested():
        return isinstance(series.dtype, pl.List)
    texts = [text for text in as_text(series).unique().to_list() if text]
    for mark in SEPARATORS:
        alone = {text for text in texts if mark not in text}
        parts = [{part.strip() for part in text.split(mark)} for text in texts if mark in text]
        if parts and len(alone) > 1 and all(each <= alone and len(each) > 1 for each in parts):
            return True
    return False


def label_studio_tags(tasks: list[dict[str, Any]], given: Given) -> pl.DataFrame:
    """Choices of a Label Studio export, several answers allowed."""
    made, question = [], given.get("label")
    for item, _, _, annotation in annotations_of(tasks):
        who = account(annotation.get("completed_by"))
        if annotation.get("was_cancelled") or who is None:
            continue
        results = records(annotation.get("result"), "the result of an annotation")
        results = [each for each in results if each.get("type") == "choices"]
        names = {str(each.get("from_name")) for each in results}
        if question is None and len(names) > 1:
            listed = ", ".join(sorted(names))
            raise InputError(f"tasks have several questions ({listed}); name one with --label")
        chosen = [each for each in results if question in (None, each.get("from_name"))]
        values = [record(each.get("value"), "choices").get("choices") or [] for each in chosen]
        made.append({"item": item, "contributor": who, "tags": [str(tag) for of in values for tag in of]})
    return _framed(made)


def argilla_tags(found: list[dict[str, Any]], given: Given) -> pl.DataFrame:
    """Answers to a question with several labels of an Argilla export."""
    made = []
    for item, _, value, user, status in answers_to(found, question_of(found, given.get("label"))):
        if status in SUBMITTED and user is not None:
            listed = value if isinstance(value, list) else [] if value is None else [value]
            made.append({"item": item, "contributor": user, "tags": [str(tag) for tag in listed]})
    return _framed(made)


def _framed(made: list[dict[str, Any]]) -> pl.DataFrame:
    if not made:
        raise InputError("no finished answer was found in this file")
    kinds: dict[str, Any] = {"item": pl.String, "contributor": pl.String, "tags": pl.List(pl.String)}
    return pl.DataFrame(made, schema=kinds)
