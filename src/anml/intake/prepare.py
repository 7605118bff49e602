"""From a table and the roles of its columns to arrays."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.checks import Floats, Ints
from anml.core.domain import Task
from anml.core.errors import InputError
from anml.intake.columns import Columns
from anml.intake.encode.preparation import Preparation
from anml.intake.evidence import read_ages, read_identifiers, read_parents, read_signal
from anml.intake.gold import Gold, read_gold
from anml.intake.labels import read_labels
from anml.intake.tables import Table

__all__ = ["Preparation", "Prepared", "prepare"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table as arrays; every array has one entry per row used.

    Parameters
    ----------
    y
        Codes of `classes`, or values for regression.
    age
        Years.
    parents
        For each row the positions, in these arrays, of the rows it was derived from.
    notes, warnings
        What was done and what to look at, one sentence each.
    rows
        Positions in the table of the rows used.
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
    gold: Gold | None
    preparation: Preparation
    notes: list[str]
    warnings: list[str]
    rows: Ints


def prepare(
    table: Table, columns: Columns, *, task: str = "auto", now: datetime | None = None, seed: int = 0
) -> Prepared:
    """Turn a table into arrays.

    Rows without a label are left out, counted and said; `rows` says which were used.

    Parameters
    ----------
    task
        "classification", "regression", or "auto" to tell from the labels.
    now
        The moment ages are counted from; the newest time in the table by default.
    seed
        Starts the decomposition of text columns.
    """
    notes: list[str] = []
    warnings: list[str] = []
    frame, rows = _labelled(table, columns, warnings)
    labels = read_labels(frame[columns.label], task)
    notes += labels.notes
    verification = _signal(frame, columns.verification, "verification", warnings)
    reputation = _signal(frame, columns.reputation, "reputation", warnings)
    contributor = _identifiers(frame, columns.contributor, "contributor")
    item = _identifiers(frame, columns.item, "item")
    warnings += _about_contributors(frame, columns)
    warnings += _about_features(frame, columns)
    notes += _about_gaps(frame, columns)
    age = None if columns.time is None else read_ages(frame[columns.time], now, notes, warnings)
    gold = None if columns.gold is None else _gold(frame, columns, labels.task, notes, warnings)
    derived = None if columns.derived_from is None else frame[columns.derived_from]
    items = None if columns.item is None else frame[columns.item]
    preparation = Preparation.fit(frame, columns.features, seed)
    if not preparation.feature_names:
        raise InputError(f"the feature columns of {table.name} hold no word or number to learn from")
    return Prepared(
        x=preparation.transform(frame),
        y=labels.y,
        task=labels.task,
        classes=labels.classes,
        contributor=contributor,
        item=item,
        verification=verification,
        reputation=reputation,
        age=age,
        parents=None if derived is None else read_parents(derived, items),
        gold=gold,
        preparation=preparation,
        notes=notes,
        warnings=warnings,
        rows=rows,
    )


def _gold(frame: pl.DataFrame, columns: Columns, task: str, notes: list[str], warnings: list[str]) -> Gold:
    assert columns.gold is not None
    found = read_gold(frame[columns.gold], frame[columns.label], task)
    known = int(found.known.sum())
    if not known:
        warnings.append(f"column {columns.gold!r} (gold) says of no label that it is known")
        return found
    what = "holds the right label of" if found.kind == "labels" else "marks as known to be right"
    notes.append(
        f"column {columns.gold!r} (gold) {what} {known:,} rows; they check the beliefs and train nothing"
    )
    return found


def _labelled(table: Table, columns: Columns, warnings: list[str]) -> tuple[pl.DataFrame, Ints]:
    present = table.frame[columns.label].is_not_null().to_numpy()
    rows = np.flatnonzero(present).astype(np.int64)
    if len(rows) == 0:
        raise InputError(
            f"column {columns.label!r} (label) is empty in all {table.frame.height} rows of {table.name}"
        )
    if len(rows) == table.frame.height:
        return table.frame, rows
    missing = table.frame.height - len(rows)
    warnings.append(f"column {columns.label!r} (label) is missing in {missing} rows, which are left out")
    return table.frame.filter(present), rows


def _signal(frame: pl.DataFrame, name: str | None, role: str, warnings: list[str]) -> Floats | None:
    return None if name is None else read_signal(frame[name], role, warnings)


def _identifiers(frame: pl.DataFrame, name: str | None, role: str) -> npt.NDArray[np.str_] | None:
    return None if name is None else read_identifiers(frame[name], role)


def _about_contributors(frame: pl.DataFrame, columns: Columns) -> list[str]:
    if columns.contributor is None:
        return []
    said = []
    if frame[columns.contributor].n_unique() == 1:
        said.append(
            f"column {columns.contributor!r} names one contributor only, so contributors cannot be compared"
        )
    if columns.item is not None:
        repeated = frame.height - frame.select(columns.item, columns.contributor).n_unique()
        if repeated:
            said.append(
                f"{repeated} rows repeat a pair of {columns.item!r} and {columns.contributor!r}; all are kept"
            )
    return said


def _about_features(frame: pl.DataFrame, columns: Columns) -> list[str]:
    said = []
    for name in columns.features:
        if frame[name].dtype.is_float():
            infinite = int(frame[name].is_infinite().sum())
            if infinite:
                said.append(f"column {name!r} has {infinite} infinite values, which count as missing")
    return said


def _about_gaps(frame: pl.DataFrame, columns: Columns) -> list[str]:
    gaps = {name: frame[name].null_count() for name in columns.features if frame[name].null_count()}
    if not gaps:
        return []
    most = sorted(gaps.items(), key=lambda gap: (-gap[1], gap[0]))
    listed = ", ".join(f"{name!r} {count}" for name, count in most[:5])
    more = f" and {len(most) - 5} more columns" if len(most) > 5 else ""
    return [f"missing feature values were filled in and marked: {listed}{more}"]
