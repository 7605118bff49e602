"""Several tags on an item: a yes or no of each contributor shown the item, for each tag."""

import json
from typing import Any

import polars as pl

from anml.core.errors import InputError
from anml.core.text import pluralise
from anml.io.argilla import SUBMITTED, answers_to, question_of
from anml.io.contributions import as_object
from anml.io.label_studio import last_annotations
from anml.io.plain import as_text
from anml.io.roles import ALIASES, are_flags, find_column, read_flags, require_column
from anml.io.tasks.types import TAGS, CandidateLabels, Given, StructuredTask, extra_columns, label_table

TAG_PRESENT, TAG_ABSENT = "yes", "no"
SEPARATORS = (";", "|", ",")
NAMES = ("tags", "tag", *ALIASES["label"])
# More yes and no than these are not asked of all tags.
MAX_PAIRS = 2_000_000
# Name of the column made of several columns, and columns of the result.
MULTI_COLUMN_NAME, OUTPUT_COLUMNS = "these columns", ("item", "label", "tag")


def read_tags(frame: pl.DataFrame, given: Given) -> CandidateLabels:
    """Sets of tags in one column (lists, lists as JSON, names apart by ;, | or a comma) or in several."""
    frame, columns, notes = _columns(frame, given)
    frame, contributor, item, label = label_table(frame, {**given, "label": columns}, ())
    sets = _sets(frame[label])
    exposure = frame.select(thing=as_text(frame[item]), contributor=contributor, tags=pl.Series(sets))
    exposure = exposure.hstack(
        extra_columns(frame, (item, contributor, label), (*exposure.columns, *OUTPUT_COLUMNS))
    )
    known = given.get("true_label")
    if known is not None:
        exposure = exposure.with_columns(
            _known_sets(exposure[require_column(exposure.columns, known, "true_label")], sets)
        )
    keys = ["thing", "contributor"]
    if again := exposure.height - exposure.select(keys).n_unique():
        # Rows with one tag each, or a second visit: together they are one set.
        rest = pl.exclude(*keys, "tags").drop_nulls().first()
        together = pl.col("tags").list.explode(keep_nulls=False, empty_as_null=False).unique().sort()
        exposure = exposure.group_by(keys, maintain_order=True).agg(together, rest)
        notes.append(f"{pluralise(again, 'row')} by a contributor who already has one of the item: one set")
    return _binary_judgements(exposure, known, label, notes)


def _binary_judgements(
    exposure: pl.DataFrame, known: str | None, label: str, other_notes: list[str]
) -> CandidateLabels:
    """Return each pair of an item and a tag as a yes or no of each contributor shown the item."""
    ticked = [exposure.select("thing", tag=name) for name in ("tags", known) if name is not None]
    ticked_pairs = pl.concat(ticked).explode("tag").drop_nulls("tag").unique()
    if ticked_pairs.is_empty():
        raise InputError(f"column {label!r} has no tag in any row")
    asked, what = _item_tag_pairs(ticked_pairs, exposure)
    rows = asked.join(exposure, on="thing", maintain_order="left_right")
    has = pl.col("tags").list.contains(pl.col("tag"))
    answer = pl.when(has).then(pl.lit(TAG_PRESENT)).otherwise(pl.lit(TAG_ABSENT))
    rows = rows.with_columns(item=pl.format("{} · {}", "thing", "tag"), label=answer)
    if known is not None:
        right = pl.col(known).list.contains(pl.col("tag"))
        known_answer = pl.when(right).then(pl.lit(TAG_PRESENT)).when(~right).then(pl.lit(TAG_ABSENT))
        rows = rows.with_columns(known_answer.alias(known))
    if rows.join(ticked_pairs, on=["thing", "tag"]).filter(pl.col("label") == TAG_ABSENT).is_empty():
        raise InputError("all who saw an item ticked the same tags there; there is nothing to compare")
    empty = int((exposure["tags"].list.len() == 0).sum())
    warnings = [f"{pluralise(empty, 'row says', 'rows say')} that no tag fits"] if empty else []
    tags, pairs = pluralise(asked["tag"].n_unique(), "tag"), pluralise(asked.height, "pair")
    each = f"each of {pairs} of an item and a tag{what} is a yes or no of all who saw the item"
    notes = [f"{label!r} holds sets of {tags}; {each}", *other_notes]
    first = ["item", "contributor", "label", "thing", "tag"]
    shape = StructuredTask(TAGS, "tag label", {"seen": exposure.select("thing", "contributor")})
    return CandidateLabels(rows.select(*first, pl.exclude(*first, "tags")), shape, notes, warnings)


def _item_tag_pairs(ticked: pl.DataFrame, exposure: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return all pairs of an item and a tag, or the ticked ones if there are too many, and a description.

    Without pairs that no contributor ticks, contributors who tick at random would seem to contradict.
    """
    tags, things = ticked["tag"].unique(), exposure["thing"].unique()
    if len(tags) * exposure.height > MAX_PAIRS:
        return ticked.sort("thing", "tag"), " that anybody ticked"
    every = pl.DataFrame({"thing": things}).join(pl.DataFrame({"tag": tags}), how="cross")
    return every.sort("thing", "tag"), ""


def _columns(frame: pl.DataFrame, given: Given) -> tuple[pl.DataFrame, str | None, list[str]]:
    """The column of sets; several, of yes and no or of a tag each, are made into one."""
    asked = given.get("label")
    several = [] if asked is None or asked in frame.columns else [each.strip() for each in asked.split(",")]
    label = asked or find_column(frame.columns, given, "label", NAMES)
    if label is None:
        roles = [find_column(frame.columns, given, role, ALIASES[role]) for role in ("contributor", "item")]
        free = [name for name in frame.columns if name not in (*roles, *given.values())]
        several = [name for name in free if are_flags(as_text(frame[name]).drop_nulls())]
    if len(several) < 2:
        return frame, label, []
    columns_found = [as_text(frame[require_column(frame.columns, name, "label")]) for name in several]
    flags = [are_flags(series.drop_nulls()) for series in columns_found]
    if len(set(flags)) > 1:
        odd = several[flags.index(not flags[0])]
        raise InputError(f"columns {several[0]!r} and {odd!r} are not both yes and no, or both names of tags")
    if flags[0]:
        ticks = [read_flags(series, "a tag")[0] for series in columns_found]
        sets = [[n for n, yes in zip(several, row, strict=True) if yes] for row in zip(*ticks, strict=True)]
    else:
        sets = [[tag for tag in row if tag] for row in zip(*columns_found, strict=True)]
    frame = frame.drop(several).with_columns(pl.Series(MULTI_COLUMN_NAME, sets, dtype=pl.List(pl.String)))
    return frame, MULTI_COLUMN_NAME, [f"columns {', '.join(several[:12])} say which tags an item has"]


def _known_sets(series: pl.Series, given: list[list[str]]) -> pl.Series:
    """Known sets, or those given where they are marked as right; null where nothing is known."""
    known, sets = series.is_not_null().to_list(), given
    if series.dtype.is_nested() or not are_flags(as_text(series).drop_nulls()):
        sets = _sets(series)
    else:
        known = read_flags(series, "true_label")[0].tolist()
    known_sets = [tags if one else None for one, tags in zip(known, sets, strict=True)]
    return pl.Series(series.name, known_sets, dtype=pl.List(pl.String))


def _sets(series: pl.Series) -> list[list[str]]:
    if series.dtype.is_nested():
        return [sorted({str(tag) for tag in value or [] if tag is not None}) for value in series.to_list()]
    texts = [text or "" for text in as_text(series).to_list()]
    if all(text.lstrip().startswith("[") for text in texts if text):
        return [sorted(set(_from_json(text))) if text else [] for text in texts]
    mark = next((each for each in SEPARATORS if any(each in text for text in texts)), None)
    parts = [text.split(mark) if mark else [text] for text in texts]
    return [sorted({part.strip() for part in each} - {""}) for each in parts]


def _from_json(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except ValueError:
        raise InputError(f"{text[:60]!r} begins like a list of tags and is none") from None
    if not isinstance(value, list) or not all(isinstance(tag, str | int | float) for tag in value):
        raise InputError(f"{text[:60]!r} is not a list of tags")
    return [str(tag) for tag in value]


def is_tag_column(series: pl.Series) -> bool:
    """True if a label column holds sets: lists, or separated names that also occur singly."""
    if series.dtype.is_nested():
        return isinstance(series.dtype, pl.List)
    texts = [text for text in as_text(series).unique().to_list() if text]
    for mark in SEPARATORS:
        alone = {text for text in texts if mark not in text}
        parts = [{part.strip() for part in text.split(mark)} for text in texts if mark in text]
        if parts and len(alone) > 1 and all(each <= alone and len(each) > 1 for each in parts):
            return True
    return False


def label_studio_tags(tasks: list[dict[str, Any]], given: Given) -> tuple[pl.DataFrame, list[str]]:
    """Choices of a Label Studio export, several answers allowed."""
    made, question = [], given.get("label")
    annotations, notes = last_annotations(tasks)
    for each in annotations:
        chosen = [result for result in each.results(question) if result.get("type") == "choices"]
        if len(names := {str(result.get("from_name")) for result in chosen}) > 1:
            listed = ", ".join(sorted(names))
            raise InputError(f"tasks have several questions ({listed}); name one with --label")
        values = [as_object(result.get("value"), "choices").get("choices") or [] for result in chosen]
        tags = [str(tag) for choices in values for tag in choices]
        made.append({"item": each.item, "contributor": each.annotator, "tags": tags, **each.details})
    return _framed(made), notes


def argilla_tags(records: list[dict[str, Any]], given: Given) -> tuple[pl.DataFrame, list[str]]:
    """Answers to a question with several labels of an Argilla export."""
    made = []
    for item, _, value, user, status in answers_to(records, question_of(records, given.get("label"))):
        if status in SUBMITTED and user is not None:
            listed = value if isinstance(value, list) else [] if value is None else [value]
            made.append({"item": item, "contributor": user, "tags": [str(tag) for tag in listed]})
    return _framed(made), []


def _framed(made: list[dict[str, Any]]) -> pl.DataFrame:
    if not made:
        raise InputError("no finished answer was found in this file")
    return pl.DataFrame(made, schema_overrides={"tags": pl.List(pl.String)}, infer_schema_length=None)
