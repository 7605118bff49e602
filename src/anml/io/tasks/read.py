"""From a file or a table of some shape to labels of items: the reader of each shape and format."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from anml.core.errors import UnsupportedError
from anml.io.contributions import export_records
from anml.io.file import InputFile
from anml.io.roles import ALIASES, find_column, is_named
from anml.io.tables import Table
from anml.io.tasks.boxes import BOXED, read_boxes, reduce_boxes, with_sizes
from anml.io.tasks.candidates import DOCUMENTS, TYPES, SpanAnnotations
from anml.io.tasks.ordinal import NAMES as GRADES
from anml.io.tasks.ordinal import read_grades
from anml.io.tasks.preferences import (
    CHOICE_SYNONYMS,
    PAIRS,
    argilla_pairs,
    label_studio_pairs,
    read_preferences,
)
from anml.io.tasks.regions import REFUSED, REGIONS, conll_marks, jsonl_spans, label_studio_regions
from anml.io.tasks.spans import SPAN_ALIASES, read_spans, reduce_spans
from anml.io.tasks.tags import NAMES, argilla_tags, is_tag_column, label_studio_tags, read_tags
from anml.io.tasks.types import BOXES, ORDINAL, PREFERENCE, SPANS, TAGS, CandidateLabels, Given

# Names of columns with the chosen one of two, and the most grades that are taken for ratings.
COMPARISONS, MAX_STEPS = ("winner", "preferred", "preference", "choice"), 11
# Formats that hold spans and nothing else.
SPAN_FORMATS = ("prodigy", "doccano", "conll")
TABLES: dict[str, Callable[[pl.DataFrame, Given], CandidateLabels]] = {
    PREFERENCE: read_preferences,
    SPANS: read_spans,
    BOXES: read_boxes,
    TAGS: read_tags,
    ORDINAL: read_grades,
}
_RANKED = {"group": ["record"], "first": "first", "second": "second", "choice": "choice"}
_TICKED = {"item": "item", "label": "tags"}
# Exports as a table with columns of these names.
_Reader = Callable[[list[dict[str, Any]], Given], tuple[pl.DataFrame, list[str]]]
EXPORTS: dict[tuple[str, str], tuple[_Reader, dict[str, Any]]] = {
    (PREFERENCE, "label-studio"): (label_studio_pairs, {"choice": "choice"}),
    (PREFERENCE, "argilla"): (argilla_pairs, _RANKED),
    (TAGS, "label-studio"): (label_studio_tags, _TICKED),
    (TAGS, "argilla"): (argilla_tags, _TICKED),
}
SPAN_READERS: dict[str, Callable[[SpanAnnotations], CandidateLabels]] = {
    SPANS: reduce_spans,
    BOXES: reduce_boxes,
}


def read_structured(source: InputFile | Table, task: str, format: str, given: Given) -> CandidateLabels:
    """Labels of items, from a file of a format or from a table."""
    if isinstance(source, Table) or format == "table":
        table = source if isinstance(source, Table) else source.table
        return TABLES[task](table.frame, given)
    if format == "conll" and task == SPANS:
        return reduce_spans(conll_marks(source.text))
    if format in ("prodigy", "doccano") and task in SPAN_READERS:
        return SPAN_READERS[task](jsonl_spans(export_records(source), given, task))
    if format == "label-studio" and task in SPAN_READERS:
        return SPAN_READERS[task](label_studio_regions(export_records(source), given, task))
    if (task, format) not in EXPORTS:
        raise UnsupportedError(f"{task} cannot be read from a file of {format}")
    read, fixed = EXPORTS[task, format]
    frame, notes = read(export_records(source), given)
    made = TABLES[task](frame, {**given, "contributor": "contributor", **fixed})
    return made._replace(warnings=[*notes, *made.warnings])


def export_task_type(source: InputFile, format: str) -> str | None:
    """The shape of the judgements in a file, where its own words tell it; None where they are classes."""
    if format in SPAN_FORMATS:
        return SPANS
    if format == "argilla":
        return _argilla_shape(export_records(source))
    if format != "label-studio":
        return None
    kinds: set[str] = set()
    several = False
    for task in export_records(source):
        for annotation in _dicts(task.get("annotations")):
            results = _dicts(annotation.get("result"))
            kinds |= {str(each.get("type")) for each in results}
            values = _dicts([each.get("value") for each in results])
            ticked = [value["choices"] for value in values if isinstance(value.get("choices"), list)]
            several |= any(len(choices) > 1 for choices in ticked)
    if kinds and kinds <= set(REFUSED):
        named = " and ".join(sorted(kinds))
        raise UnsupportedError(f"all results in this file are of type {named}, which is not read")
    if regions := [shape for shape, known in REGIONS.items() if kinds & set(known)]:
        return regions[0] if len(regions) == 1 else None
    if kinds == {"choices"} and several:
        return TAGS
    return PREFERENCE if kinds == {"pairwise"} else None


def _argilla_shape(records: list[dict[str, Any]]) -> str | None:
    """Rankings, or several labels at a time, where there is one question."""
    answers = [each["responses"] for each in records if isinstance(each.get("responses"), dict)]
    if len({name for each in answers for name in each}) != 1:
        return None
    values = [each.get("value") for answer in answers for given in answer.values() for each in _dicts(given)]
    lists = [value for value in values if isinstance(value, list)]
    if any("rank" in each for value in lists for each in _dicts(value)):
        return PREFERENCE
    return TAGS if any(len(value) > 1 and not _dicts(value) for value in lists) else None


def _dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, none of another value, which the reader of the file refuses."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def infer_task_type(frame: pl.DataFrame, given: Given) -> str | None:
    """Return the task of a table, inferred from its columns; None for classes."""
    if {"chosen", "rejected"} <= set(frame.columns) and not given.get("label"):
        return PREFERENCE

    def named(role: str, names: Sequence[str]) -> str | None:
        chosen = given.get(role) or find_column(frame.columns, given, role, names)
        return chosen if chosen in frame.columns else None

    frame = with_sizes(frame)
    if named("contributor", ALIASES["contributor"]) is None:
        return None
    document = given.get("item") or named("document", DOCUMENTS)
    if document in frame.columns and (given.get("label") or named("type", TYPES)) is not None:
        for shape, numbers in ((SPANS, SPAN_ALIASES), (BOXES, BOXED)):
            places = [name for role, names in numbers.items() if (name := named(role, names)) is not None]
            numeric = len(places) == len(numbers) and all(frame.schema[name].is_numeric() for name in places)
            # Numbers that are equal in all rows of an item belong to the item, and are not positions in it.
            if numeric and frame.select(document, *places).n_unique() > frame[document].n_unique():
                return shape
    item, label = named("item", ALIASES["item"]), named("label", NAMES)
    if item is not None and label is not None and is_tag_column(frame[label]):
        return TAGS
    if given.get("label") is None and _compares(frame, named("choice", COMPARISONS)):
        return PREFERENCE
    return ORDINAL if item is not None and _grades(frame, given.get("label"), item) else None


def _compares(frame: pl.DataFrame, choice: str | None) -> bool:
    """Return True if a column holds which of two other columns was chosen."""
    sides = [pair for pair in PAIRS if set(pair) <= set(frame.columns)]
    if choice is None or not sides:
        return False
    names = {str(value).lower() for value in frame[choice].drop_nulls().unique()}
    values = pl.concat([frame[side].cast(pl.String).alias("side") for side in sides[0]])
    return names <= {*CHOICE_SYNONYMS, *values.drop_nulls().str.to_lowercase().unique()}


def _grades(frame: pl.DataFrame, label: str | None, item: str) -> bool:
    """Return True if the label is a column of ratings: a few whole numbers without gaps, several per item."""
    names = [label] if label is not None else frame.columns
    rated = [name for name in names if is_named(name, GRADES)]
    others = [name for name in names if name not in rated and is_named(name, ALIASES["label"])]
    if len(rated) != 1 or others:
        return False
    values = frame[rated[0]].drop_nulls()
    if not values.dtype.is_integer() or frame[item].n_unique() > 0.7 * frame.height:
        return False
    low, high, distinct = values.min(), values.max(), values.n_unique()
    return 3 <= distinct <= MAX_STEPS and int(high) - int(low) + 1 == distinct  # type: ignore[arg-type]
