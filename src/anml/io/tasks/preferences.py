"""Preferences: which of two candidates each contributor chose, from tables, Label Studio and Argilla."""

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from anml.core.checks import Floats
from anml.core.errors import InputError
from anml.core.text import pluralise
from anml.io.argilla import SUBMITTED, answers_to, question_of
from anml.io.contributions import ANNOTATION, as_object, as_object_list, scalar_fields
from anml.io.label_studio import last_annotations
from anml.io.plain import as_text
from anml.io.roles import are_flags, find_column, format_names, require_column
from anml.io.side_inputs import align_to_rows, check_vectors, read_numbers
from anml.io.tables import Table
from anml.io.tasks.types import (
    PREFERENCE,
    CandidateLabels,
    Given,
    StructuredTask,
    column,
    contributor_column,
    extra_columns,
)

FIRST, SECOND, TIE = "first", "second", "equal"
# Names of the two columns, in pairs, the most specific first.
PAIRS = (
    ("first", "second"), ("left", "right"), ("model_a", "model_b"), ("response_a", "response_b"),
    ("option_a", "option_b"), ("candidate_a", "candidate_b"), ("answer_a", "answer_b"), ("a", "b"),
    ("text1", "text2"), ("response_1", "response_2"), ("answer_1", "answer_2"), ("chosen", "rejected"),
)  # fmt: skip
CHOICES = ("choice", "preference", "preferred", "winner", "selected", "answer", "label", "judgement")
GROUPS = ("prompt", "query", "topic", "question", "group", "criterion")
CHOICE_SYNONYMS = {
    **dict.fromkeys(("first", "left", "a", "1", "model_a", "response_a", "option_a", "answer_a"), FIRST),
    **dict.fromkeys(("second", "right", "b", "2", "model_b", "response_b", "option_b", "answer_b"), SECOND),
    **dict.fromkeys(
        ("equal", "tie", "tied", "draw", "same", "both", "neither", "tie (bothbad)", "both bad", "both_bad"),
        TIE,
    ),
}
ALLOWED_CHOICES_TEXT = (
    "first, second or equal (also left, right, a, b, 1, 2, tie), or one of the two candidates"
)


def read_preferences(frame: pl.DataFrame, given: Given) -> CandidateLabels:
    """Comparisons of a table: who was shown what first and second, and chose which."""
    frame = frame.with_columns(_chats(series) for series in frame.get_columns() if series.dtype.is_nested())
    frame, first, second, choice = _columns(frame, given)
    contributor, frame = contributor_column(frame, given)
    notes = [f"{first!r} and {second!r} are compared, and {choice!r} says which was chosen"]
    warnings: list[str] = []
    groups = _groups(frame, given, first, second, warnings)
    frame = frame.with_columns(as_text(frame[name]) for name in (first, second, choice, *groups))
    if frame[choice].null_count() == frame.height:
        raise InputError(f"no row of column {choice!r} says what was chosen")
    named = [pl.col(name).fill_null("") for name in groups] or [pl.lit("")]
    chosen = _choices(frame.select(first, second, choice))
    rows = frame.select(
        item=pl.concat_str([*groups, first, second], separator=" · ", ignore_nulls=True),
        contributor=pl.col(contributor),
        label=pl.Series(chosen, dtype=pl.String),
        first=pl.col(first).fill_null(""),
        second=pl.col(second).fill_null(""),
        group=pl.concat_str(named, separator=" / "),
    )
    if rows["contributor"].n_unique() < 2:
        raise InputError(f"one contributor alone, {rows['contributor'][0]!r}, made all comparisons")
    roles = (first, second, choice, contributor, *groups)
    kept = extra_columns(frame, roles, rows.columns)
    for role in ("true_label", "test_label"):
        known = given.get(role)
        if known is None or are_flags(
            as_text(frame[require_column(frame.columns, known, role)]).drop_nulls()
        ):
            continue
        known_choices = frame.select(first, second, as_text(frame[known]))
        kept = kept.with_columns(pl.Series(known, _choices(known_choices), dtype=pl.String))
    notes.append(f"{pluralise(rows.height, 'comparison')} by {rows['contributor'].n_unique():,} contributors")
    return CandidateLabels(rows.hstack(kept), StructuredTask(PREFERENCE, "comparison", {}), notes, warnings)


def _columns(frame: pl.DataFrame, given: Given) -> tuple[pl.DataFrame, str, str, str]:
    """The two that are compared and the choice; pairs of chosen and rejected say it by their names."""
    first = second = None
    for one, other in PAIRS:
        first = find_column(frame.columns, given, "first", (one,))
        second = find_column(frame.columns, given, "second", (other,))
        if first is not None and second is not None:
            break
    if first is None or second is None:
        why = "no two columns are compared"
        raise InputError(f"{why}; name them with --first and --second, of {format_names(frame.columns)}")
    taken = {**given, "first": first, "second": second}
    choice = given.get("choice")
    if choice is not None or (first, second) != ("chosen", "rejected"):
        choice = column(frame, taken, "choice", CHOICES)
    if choice is None:
        # Which of the two was shown first is not known: any order does that knows nothing of it.
        sides = pl.col("chosen").cast(pl.String), pl.col("rejected").cast(pl.String)
        pair = pl.concat_str(pl.min_horizontal(sides), pl.max_horizontal(sides), separator="\0")
        ahead = (sides[0] <= sides[1]) == (pair.rank("dense") % 2 == 0)
        choice = "anml_choice"
        frame = frame.with_columns(
            pl.when(ahead).then(pl.lit(FIRST)).otherwise(pl.lit(SECOND)).alias(choice),
            pl.when(ahead).then("chosen").otherwise("rejected").alias("anml_first"),
            pl.when(ahead).then("rejected").otherwise("chosen").alias("anml_second"),
        )
        first, second = "anml_first", "anml_second"
    return frame, first, second, choice


def _groups(frame: pl.DataFrame, given: Given, first: str, second: str, warnings: list[str]) -> list[str]:
    """Columns within which candidates are compared; a candidate of two groups is two candidates."""
    named = given.get("group") or []
    groups = [named] if isinstance(named, str) else list(named)
    if groups:
        return [require_column(frame.columns, name, "group") for name in groups]
    names_found = [name for name in frame.columns if name.lower() in GROUPS and name not in given.values()]
    if first == "anml_first":
        return names_found
    for name in names_found:
        both = pl.concat([frame.select(name, c=pl.col(each).cast(pl.String)) for each in (first, second)])
        if both.unique().height > both["c"].n_unique():
            problem = f"some candidates are compared under several values of {name!r} and count as the same"
            warnings.append(f"{problem}; to rank them within each, name --column group={name}")
    return []


def read_candidate_features(source: Any, names: pl.DataFrame) -> tuple[Floats, dict[str, str], list[str]]:
    """Numbers of every candidate in `names` (group, candidate), what was read, and what is to be said of it.

    They are a frame or file with a column `candidate`, and one `group` where it takes that to tell them
    apart, or a dict by candidate.
    """
    read = read_numbers(_of_dict(source) if isinstance(source, dict) else source, "embeddings")
    if not isinstance(read, Table) or "candidate" not in read.frame.columns:
        got = (
            f"columns: {format_names(read.frame.columns)}" if isinstance(read, Table) else "got numbers alone"
        )
        raise InputError(f"embeddings of preferences name each candidate in a column 'candidate'; {got}")
    frame = read.frame.with_columns(_chats(read.frame["candidate"]))
    if "group" in frame.columns:
        both = pl.concat_str("group", "candidate", separator=" · ").alias("candidate")
        frame, names = (each.with_columns(both).drop("group") for each in (frame, names))
    given = align_to_rows(
        frame, "embeddings", replace(read, frame=names), np.arange(names.height), "candidate"
    )
    check_vectors(given.values, np.arange(names.height))
    more = frame.height - names["candidate"].n_unique()
    notes = (
        [f"embeddings of {pluralise(more, 'candidate')} that nobody compared are left out"] if more else []
    )
    return given.values, {"name": read.name, "sha256": read.sha256}, notes


def _of_dict(source: dict[Any, Any]) -> pl.DataFrame:
    try:
        vectors = [np.atleast_1d(np.asarray(each, dtype=np.float64)).tolist() for each in source.values()]
    except (TypeError, ValueError):
        raise InputError("embeddings by candidate must be numbers, or lists of them") from None
    return pl.DataFrame({"candidate": [str(name) for name in source], "vector": vectors})


def _chats(series: pl.Series) -> pl.Series:
    """A column as text; lists of messages, as chats are compared, by the text of them."""
    if not series.dtype.is_nested():
        return as_text(series)
    texts = [None if chat is None else chat_text(chat) for chat in series.to_list()]
    return pl.Series(series.name, texts, dtype=pl.String)


def chat_text(chat: Any) -> str:
    """A list of messages as text, whatever the order of their keys."""
    return json.dumps(chat, ensure_ascii=False, sort_keys=True, default=str)


def normalise_choice(word: str) -> str:
    """A word for a side, such as left or b, as the side; any other as it is."""
    return CHOICE_SYNONYMS.get(word.strip().lower(), word)


def _choices(table: pl.DataFrame) -> list[str | None]:
    """Return the choice of each row; the whole column holds either sides or candidate names."""
    rows = [*table.iter_rows()]
    sides = [None if row[2] is None else _choice(number, *row) for number, row in enumerate(rows)]
    words = [None if row[2] is None else CHOICE_SYNONYMS.get(row[2].strip().lower()) for row in rows]
    given = [(row, word) for row, word in zip(rows, words, strict=True) if row[2] is not None]
    by_name, by_side = all(row[2] in row[:2] or word == TIE for row, word in given), all(w for _, w in given)
    # A name such as 2 may be that of a candidate, and of a side.
    unlike = [at for at, word in enumerate(words) if word not in (None, sides[at])]
    if unlike and by_name == by_side:
        first, second, choice = rows[unlike[0]]
        why = f"row {unlike[0]} chooses {choice!r} of {first!r} and {second!r}"
        raise InputError(f"{why}, which may be the candidate or the side; write first, second and equal")
    return words if unlike and by_side else sides


def _choice(number: int, first: str | None, second: str | None, choice: str) -> str:
    if first is None or second is None:
        raise InputError(f"row {number} has no {'first' if first is None else 'second'} candidate")
    if first == second:
        raise InputError(f"row {number} compares {first[:60]!r} with itself")
    if choice in (first, second):
        return FIRST if choice == first else SECOND
    if (side := CHOICE_SYNONYMS.get(choice.strip().lower())) is None:
        why = f"row {number} chooses {choice[:60]!r}, which is neither {first[:60]!r} nor {second[:60]!r}"
        raise InputError(f"{why}; allowed are {ALLOWED_CHOICES_TEXT}")
    return side


def label_studio_pairs(tasks: list[dict[str, Any]], given: Given) -> tuple[pl.DataFrame, list[str]]:
    """Pairwise comparisons of a Label Studio export; the data's two columns are named, or told by name."""
    made, none = [], 0
    annotations, notes = last_annotations(tasks)
    for each in annotations:
        results = [one for one in each.results(given.get("label")) if one.get("type") == "pairwise"]
        if len(results) > 1:
            named = ", ".join(sorted({str(one.get("from_name")) for one in results}))
            raise InputError(f"task {each.item} has several comparisons ({named}); name one with --label")
        if not results:
            none += 1
            continue
        selected = as_object(results[0].get("value"), "a comparison").get("selected")
        data = scalar_fields(as_object(each.task.get("data"), f"data of task {each.item}"))
        row = {"contributor": each.annotator, "choice": selected, ANNOTATION: each.name}
        made.append({**data, **row, **each.details})
    if not made:
        raise InputError("no annotation of this Label Studio export is a pairwise comparison")
    notes += [f"{pluralise(none, 'annotation')} without a comparison left out"] if none else []
    return pl.from_dicts(made, infer_schema_length=None), notes


def argilla_pairs(records: list[dict[str, Any]], given: Given) -> tuple[pl.DataFrame, list[str]]:
    """All pairs of every ranking of an Argilla export, within its record; equal ranks are ties."""
    name = question_of(records, given.get("label"))
    made = []
    for item, _, value, user, status in answers_to(records, name):
        if status not in SUBMITTED:
            continue
        listed = as_object_list(value, f"ranking {name}")
        ranks: dict[str, Any] = {str(each.get("value")): each.get("rank") for each in listed}
        if len(ranks) < 2 or not all(isinstance(rank, int) for rank in ranks.values()):
            raise InputError(f"the answer to {name!r} of record {item} is no ranking of two or more")
        for one, other in combinations(sorted(ranks), 2):
            gap = ranks[other] - ranks[one]
            choice = TIE if gap == 0 else FIRST if gap > 0 else SECOND
            pair = {"first": one, "second": other, "choice": choice}
            made.append({"record": item, "contributor": user, **pair})
    if not made:
        raise InputError(f"no ranking was submitted to question {name!r}")
    return pl.from_dicts(made, infer_schema_length=None), []
