"""From a file or a table of some shape to labels of items: the reader of each shape and format."""

from collections.abc import Callable
from typing import Any

import polars as pl

from anml.core.errors import UnsupportedError
from anml.intake.contributions import entries
from anml.intake.file import File
from anml.intake.roles import ALIASES
from anml.intake.shapes.boxes import read_boxes, reduce_boxes
from anml.intake.shapes.grades import read_grades
from anml.intake.shapes.places import Marks
from anml.intake.shapes.preference import argilla_pairs, label_studio_pairs, read_preferences
from anml.intake.shapes.regions import REFUSED, REGIONS, conll_marks, label_studio_marks, line_marks
from anml.intake.shapes.shape import BOXES, GRADES, PREFERENCE, SPANS, TAGS, Given, Reduced, find_column
from anml.intake.shapes.spans import read_spans, reduce_spans
from anml.intake.shapes.tags import are_tags, argilla_tags, label_studio_tags, read_tags
from anml.intake.tables import Table

# Formats that hold spans and nothing else.
SPAN_FORMATS = ("prodigy", "doccano", "conll")
TABLES: dict[str, Callable[[pl.DataFrame, Given], Reduced]] = {
    PREFERENCE: read_preferences,
    SPANS: read_spans,
    BOXES: read_boxes,
    TAGS: read_tags,
    GRADES: read_grades,
}
_RANKED = {"group": ["record"], "first": "first", "second": "second", "choice": "choice"}
_TICKED = {"item": "item", "label": "tags"}
# Exports as a table with columns of these names.
EXPORTS: dict[
    tuple[str, str], tuple[Callable[[list[dict[str, Any]], Given], pl.DataFrame], dict[str, Any]]
] = {
    (PREFERENCE, "label-studio"): (label_studio_pairs, {"choice": "choice"}),
    (PREFERENCE, "argilla"): (argilla_pairs, _RANKED),
    (TAGS, "label-studio"): (label_studio_tags, _TICKED),
    (TAGS, "argilla"): (argilla_tags, _TICKED),
}
MARKS: dict[str, Callable[[Marks], Reduced]] = {SPANS: reduce_spans, BOXES: reduce_boxes}


def reduced(source: File | Table, task: str, format: str, given: Given) -> Reduced:
    """Labels of items, from a file of a format or from a table."""
    if isinstance(source, Table) or format == "table":
        table = source if isinstance(source, Table) else source.table
        return TABLES[task](table.frame, given)
    if format == "conll" and task == SPANS:
        return reduce_spans(conll_marks(source.text))
    if format in ("prodigy", "doccano") and task in MARKS:
        return MARKS[task](line_marks(entries(source), given, task))
    if format == "label-studio" and task in MARKS:
        return MARKS[task](label_studio_marks(entries(source), given, task))
    if (task, format) not in EXPORTS:
        raise UnsupportedError(f"{task} cannot be read from a {format} file")
    read, fixed = EXPORTS[task, format]
    return TABLES[task](read(entries(source), given), {**given, "contributor": "contributor", **fixed})


def told_shape(source: File, format: str) -> str | None:
    """The shape of the judgements in a file, where its own words tell it; None where they are classes."""
    if format in SPAN_FORMATS:
        return SPANS
    if format == "argilla":
        return _argilla_shape(entries(source)[:100])
    if format != "label-studio":
        return None
    kinds: set[str] = set()
    several = False
    for task in entries(source)[:100]:
        for annotation in _dicts(task.get("annotations")):
            results = _dicts(annotation.get("result"))
            kinds |= {str(each.get("type")) for each in results}
            values = _dicts([each.get("value") for each in results])
            ticked = [value["choices"] for value in values if isinstance(value.get("choices"), list)]
            several |= any(len(choices) > 1 for choices in ticked)
    if kinds and kinds <= set(REFUSED):
        named = " and ".join(sorted(kinds))
        raise UnsupportedError(f"all results in this file are of type {named}, which is not read")
    regions = [shape for shape, known in REGIONS.items() if kinds & set(known)]
    if regions:
        return regions[0] if len(regions) == 1 else None
    if kinds == {"choices"} and several:
        return TAGS
    return PREFERENCE if kinds == {"pairwise"} else None


def _argilla_shape(found: list[dict[str, Any]]) -> str | None:
    """Rankings, or several labels at a time, where there is one question."""
    answers = [each["responses"] for each in found if isinstance(each.get("responses"), dict)]
    if len({name for each in answers for name in each}) != 1:
        return None
    values = [each.get("value") for of in answers for given in of.values() for each in _dicts(given)]
    lists = [value for value in values if isinstance(value, list)]
    if any("rank" in each for value in lists for each in _dicts(value)):
        return PREFERENCE
    return TAGS if any(len(value) > 1 and not _dicts(value) for value in lists) else None


def _dicts(found: Any) -> list[dict[str, Any]]:
    """Those of a list that are objects; what is no list is refused by whoever reads the file."""
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def holds_tags(frame: pl.DataFrame, given: Given) -> bool:
    """Whether a table of items and contributors has sets of tags for labels."""
    names = {"contributor": ALIASES["contributor"], "item": ALIASES["item"]}
    names["label"] = ("tags", *ALIASES["label"])
    named = [given.get(role) or find_column(frame, given, role, of) for role, of in names.items()]
    return all(name in frame.columns for name in named) and are_tags(frame[str(named[-1])])
