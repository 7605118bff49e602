"""From a table and the roles of its columns to arrays."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.errors import AnmlError, InputError
from anml.core.text import pluralise
from anml.core.types import Task
from anml.io.columns import FEATURES_REQUIRED_MESSAGE, Columns
from anml.io.encode.preparation import FeatureEncoder
from anml.io.labels import EvalGold, Labels, read_gold_labels, read_labels, read_targets, read_test_label
from anml.io.plain import as_text, text_array
from anml.io.roles import read_flags
from anml.io.side_inputs import SideInputs, read_embeddings, read_predictions
from anml.io.tables import Table
from anml.io.times import ages, require_times
from anml.io.true_labels import GoldLabels, v_from_gold
from anml.signals.levels import level_values
from anml.signals.reputation import REPUTATION
from anml.signals.verification import VERIFICATION

__all__ = ["FeatureEncoder", "GlobalEncoding", "Prepared", "prepare"]

ANSWERS_HINT = "--set schema.answers=last keeps the last, --column batch=NAME names the batch of an item"
# The level of the paper for what was retracted.
RETRACTED = "flagged"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table as arrays, an entry for each row used, whose positions in the table are `rows`.

    `y` are codes of `classes`, or values; `age` years; `parents` positions of the rows each was derived from;
    `side_input_files` has name and hash of the predictions and embeddings that were given.
    """

    x: npt.NDArray[np.float32]
    y: np.ndarray[Any, Any]
    task: Task
    classes: list[str]
    contributor: npt.NDArray[np.str_] | None
    item: npt.NDArray[np.str_] | None
    verification: Floats | None
    reputation: Floats | None
    age: Floats | None
    parents: list[list[int]] | None
    gold: EvalGold | None
    known: GoldLabels | None
    predictions: Floats | None
    side_input_files: dict[str, dict[str, str]]
    preparation: FeatureEncoder
    notes: list[str]
    warnings: list[str]
    rows: Ints


class GlobalEncoding(NamedTuple):
    """Encoding shared by all slices of a table: classes and feature encoder."""

    classes: list[str]
    preparation: FeatureEncoder


def prepare(
    table: Table, columns: Columns, *, task: str = "auto", now: datetime | None = None, seed: int = 0,
    side_inputs: SideInputs | None = None, fixed: GlobalEncoding | None = None, excluded: Bools | None = None,
) -> Prepared:  # fmt: skip
    """Turn a table into arrays; ages count from `now`, and `fixed` is decided where it is a slice.

    `excluded` are rows that are not used.
    """
    side_inputs = side_inputs or SideInputs()
    notes: list[str] = []
    warnings: list[str] = []
    frame, rows = _drop_unlabelled(table, columns, warnings, excluded)
    if fixed is None:
        labels = read_labels(frame[columns.label], task)
    else:
        codes = read_targets(frame[columns.label], "classification", fixed.classes)
        labels = Labels(codes, "classification", fixed.classes, [])
    people, items = (None if name is None else frame[name] for name in (columns.contributor, columns.item))
    item = None if items is None else read_identifiers(items, "item")
    known = read_gold_labels(frame, columns, labels, item, notes, warnings)
    verification = _verification(frame, columns.verification, known, warnings)
    if columns.retracted is not None:
        verification = _with_retractions(frame[columns.retracted], verification, notes)
    rated = columns.reputation
    reputation = None if rated is None else read_signal(frame[rated], "reputation", warnings)
    _note_irregularities(frame, columns, notes, warnings)
    age = None if columns.time is None else read_ages(frame[columns.time], now, notes, warnings)
    gold = (
        None
        if columns.test_label is None
        else _test_label(frame, columns, labels.task, known, notes, warnings)
    )
    predictions, embeddings, about = None, None, {}
    if side_inputs.predictions is not None:
        given = side_inputs.predictions
        predictions, about["predictions"] = read_predictions(given, table, rows, labels, side_inputs.key)
    if side_inputs.embeddings is not None:
        embeddings, about["embeddings"] = read_embeddings(
            side_inputs.embeddings, table, rows, side_inputs.key
        )
    preparation = FeatureEncoder.fit(frame, columns.features, seed) if fixed is None else fixed.preparation
    if fixed is None:
        _check_enough(table, frame, columns, preparation, predictions, embeddings)
    derived = None if columns.derived_from is None else frame[columns.derived_from]
    return Prepared(
        x=preparation.transform(frame) if embeddings is None else embeddings,
        y=labels.y, task=labels.task, classes=labels.classes,
        contributor=None if people is None else read_identifiers(people, "contributor"), item=item,
        verification=verification, reputation=reputation, age=age,
        parents=None if derived is None else read_parents(derived, items),
        gold=gold, known=known, predictions=predictions, side_input_files=about, preparation=preparation,
        notes=[*labels.notes, *notes], warnings=warnings, rows=rows,
    )  # fmt: skip


def _check_enough(
    table: Table, frame: pl.DataFrame, columns: Columns, preparation: FeatureEncoder,
    predictions: Array | None, embeddings: Array | None,
) -> None:  # fmt: skip
    if preparation.feature_names or embeddings is not None:
        return
    if columns.features:
        raise InputError(f"the feature columns of {table.name} hold no word or number to learn from")
    if predictions is None and frame[columns.item or columns.label].n_unique() == frame.height:
        why = f"there is no feature column, and every item of column {columns.item!r} has one label"
        raise InputError(f"{why}; {FEATURES_REQUIRED_MESSAGE}")


def _test_label(
    frame: pl.DataFrame, columns: Columns, task: str, known_already: GoldLabels | None,
    notes: list[str], warnings: list[str],
) -> EvalGold:  # fmt: skip
    assert columns.test_label is not None
    items = None if columns.item is None else frame[columns.item]
    gold = read_test_label(frame[columns.test_label], frame[columns.label], task, items)
    if known_already is not None and (both := gold.known & known_already.known).any():
        # A label that is used in the fit is not scored.
        gold = gold._replace(known=gold.known & ~both, right=gold.right & ~both)
        rows = f"{int(both.sum()):,} rows of column {columns.test_label!r} (test_label)"
        notes.append(f"{rows} are known already and check nothing")
    known = int(gold.known.sum())
    if not known:
        warnings.append(f"column {columns.test_label!r} (test_label) says of no label that it is known")
        return gold
    what = "holds the right label of" if gold.kind == "labels" else "marks as known to be right"
    notes.append(
        f"column {columns.test_label!r} (test_label) {what} {known:,} rows, which check and train nothing"
    )
    return gold


def _drop_unlabelled(
    table: Table, columns: Columns, warnings: list[str], excluded: Bools | None
) -> tuple[pl.DataFrame, Ints]:
    present, height = table.frame[columns.label].is_not_null().to_numpy(), table.frame.height
    used = present if excluded is None else present & ~excluded
    rows = np.flatnonzero(used).astype(np.int64)
    gaps = height - int((present if excluded is None else present | excluded).sum())
    if len(rows) == 0:
        raise InputError(f"column {columns.label!r} (label) is empty in all {height} rows of {table.name}")
    if len(rows) == height:
        return table.frame, rows
    if gaps:
        without = pluralise(gaps, "row, which is left out", "rows, which are left out")
        warnings.append(f"column {columns.label!r} (label) is missing in {without}")
    return table.frame.filter(used), rows


def _verification(
    frame: pl.DataFrame, name: str | None, known: GoldLabels | None, warnings: list[str]
) -> Any:
    """Return verification as given; where it is missing, it follows from true labels."""
    if known is None or not known.known.any():
        return None if name is None else read_signal(frame[name], "verification", warnings)
    v = v_from_gold(known)
    if name is not None:
        given = frame[name].is_not_null().to_numpy() | ~(known.right | known.wrong)
        v[given] = read_signal(frame[name].filter(given), "verification", warnings)
    return v


def _with_retractions(retracted: pl.Series, verification: Any, notes: list[str]) -> Any:
    """Return verification with the level of retracted rows, which overrides all others."""
    marked, _ = read_flags(retracted, "retracted")
    level = VERIFICATION[RETRACTED].default
    notes.append(f"{int(marked.sum()):,} rows are retracted (column {retracted.name!r}): v is {RETRACTED!r}")
    return np.where(marked, level, 1.0 if verification is None else verification)


def _note_irregularities(
    frame: pl.DataFrame, columns: Columns, notes: list[str], warnings: list[str]
) -> None:
    """Say what is unusual about contributors, and which features have gaps or infinite values."""
    contributors = columns.contributor
    if contributors is not None and frame[contributors].n_unique() == 1:
        warnings.append(f"column {contributors!r} names one contributor only, who cannot be compared")
    pair = [name for name in (columns.item, contributors) if name is not None]
    if len(pair) == 2 and (repeated := frame.height - frame.select(pair).n_unique()):
        rows = pluralise(repeated, "row repeats", "rows repeat")
        warnings.append(
            f"{rows} a pair of {columns.item!r} and {contributors!r}; all are kept, {ANSWERS_HINT}"
        )
    gaps: list[tuple[int, str]] = []
    for name in columns.features:
        if frame.schema[name].is_float() and (count := int(frame[name].is_infinite().sum())):
            as_gaps = pluralise(count, "infinite value, which counts", "infinite values, which count")
            warnings.append(f"column {name!r} has {as_gaps} as missing")
        if missing := frame[name].null_count():
            gaps.append((-missing, name))
    if gaps:
        listed = ", ".join(f"{name!r} {-missing}" for missing, name in sorted(gaps)[:5])
        more = f" and {len(gaps) - 5} more columns" if len(gaps) > 5 else ""
        notes.append(f"missing feature values were filled in and marked: {listed}{more}")


# Levels of a signal, which of them stands for no value and false, and which for true: no evidence is read as
# the most cautious level other than flagged.
SIGNALS = {
    "verification": (VERIFICATION, "self-attested", "institution"),
    "reputation": (REPUTATION, "new", "established"),
}


def read_identifiers(series: pl.Series, role: str) -> npt.NDArray[np.str_]:
    """Return identifiers as text, or say how many are missing."""
    if missing := series.null_count():
        why = f"column {series.name!r} ({role}) is empty in {missing} of {series.len()} rows"
        raise InputError(f"{why}; every row needs one")
    return text_array(as_text(series))


def read_signal(series: pl.Series, role: str, warnings: list[str]) -> Floats:
    """Return verification or reputation in [0, 1]; what is missing is cautious, counted and said."""
    levels, cautious, true = SIGNALS[role]
    if series.dtype == pl.Boolean:
        flags = f"column {series.name!r} ({role}) holds truth values"
        warnings.append(f"{flags}: true is read as {true!r}, false as {cautious!r}")
        series = series.replace_strict({True: true, False: cautious}, return_dtype=pl.String)
    if missing := series.null_count():
        without = "review" if role == "verification" else role
        warnings.append(f"{missing:,} of {series.len():,} labels have no {without}")
    try:
        return level_values(role, series.to_list(), levels, missing=levels[cautious].default)
    except AnmlError as error:
        raise InputError(f"column {series.name!r}: {error}") from None


def read_ages(series: pl.Series, now: datetime | None, notes: list[str], warnings: list[str]) -> Floats:
    """Return ages in years; missing and future times have age 0, counted and said."""
    times = require_times(series)
    years, moment, future = ages(times, now)
    if now is None and times.null_count() < len(times):
        notes.append(f"ages are counted from the newest time in {series.name!r}, {moment.isoformat(sep=' ')}")
    cases = {"is missing": times.null_count(), f"lies after {moment.isoformat(sep=' ')}": future}
    for what, rows in cases.items():
        if rows:
            as_new = pluralise(rows, "row, which counts as new", "rows, which count as new")
            warnings.append(f"column {series.name!r} (time) {what} in {as_new}")
    return years


def read_parents(derived: pl.Series, items: pl.Series | None) -> list[list[int]]:
    """For each row, all rows with one of the items that it was derived from."""
    if items is None:
        raise InputError(f"column {derived.name!r} (derived_from) refers to items; there is no item column")
    rows = pl.DataFrame({"item": as_text(items)}).with_row_index("parent").cast({"parent": pl.Int64})
    parts = as_text(derived).str.split(";")
    links = pl.DataFrame({"part": parts}).with_row_index("row").explode("part")
    links = links.with_columns(pl.col("part").str.strip_chars()).filter(pl.col("part") != "")
    matched = links.join(rows, left_on="part", right_on="item", how="left", maintain_order="left_right")
    if len(unknown := matched.filter(pl.col("parent").is_null())):
        names = f"names {unknown['part'].n_unique()} items that are not in column {items.name!r}"
        first = unknown["part"][0]
        raise InputError(f"column {derived.name!r} (derived_from) {names}, the first {first!r}")
    if len(own := matched.filter(pl.col("parent") == pl.col("row"))):
        raise InputError(f"column {derived.name!r} (derived_from) derives {own['part'][0]!r} from itself")
    grouped = matched.group_by("row", maintain_order=True).agg(pl.col("parent").unique(maintain_order=True))
    above = dict(grouped.iter_rows())
    return [above.get(row, []) for row in range(len(derived))]
