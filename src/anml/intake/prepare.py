"""From a table and the roles of its columns to arrays."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.answers import Answers, earned
from anml.core.checks import Array, Floats, Ints
from anml.core.domain import Task
from anml.core.errors import InputError
from anml.core.words import counted
from anml.intake.beside import Beside
from anml.intake.columns import NEEDED, Columns
from anml.intake.encode.preparation import Preparation
from anml.intake.evidence import read_ages, read_identifiers, read_parents, read_signal
from anml.intake.known import Gold, read_gold, read_known
from anml.intake.labels import Labels, read_labels, read_targets
from anml.intake.predictions import read_embeddings, read_predictions
from anml.intake.tables import Table

__all__ = ["Fixed", "Preparation", "Prepared", "prepare"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table as arrays, an entry for each row used, whose positions in the table are `rows`.

    `y` are codes of `classes`, or values; `age` years; `parents` positions of the rows each was derived from;
    `beside` has name and hash of the predictions and embeddings that were given.
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
    known: Answers | None
    predictions: Floats | None
    beside: dict[str, dict[str, str]]
    preparation: Preparation
    notes: list[str]
    warnings: list[str]
    rows: Ints


class Fixed(NamedTuple):
    """What the slices of a table share: its classes, and how columns become numbers."""

    classes: list[str]
    preparation: Preparation


def prepare(
    table: Table, columns: Columns, *, task: str = "auto", now: datetime | None = None, seed: int = 0,
    beside: Beside | None = None, fixed: Fixed | None = None,
) -> Prepared:  # fmt: skip
    """Turn a table into arrays; ages count from `now`, and `fixed` is decided where it is a slice."""
    beside = beside or Beside()
    notes: list[str] = []
    warnings: list[str] = []
    frame, rows = _labelled(table, columns, warnings)
    labels = _labels(frame[columns.label], task, fixed)
    item = _identifiers(frame, columns.item, "item")
    known = read_known(frame, columns, labels, item, notes, warnings)
    verification = _verification(frame, columns.verification, known, warnings)
    rated = columns.reputation
    reputation = None if rated is None else read_signal(frame[rated], "reputation", warnings)
    warnings += _about_contributors(frame, columns) + _about_features(frame, columns)
    notes += _about_gaps(frame, columns)
    age = None if columns.time is None else read_ages(frame[columns.time], now, notes, warnings)
    gold = None if columns.gold is None else _gold(frame, columns, labels.task, known, notes, warnings)
    predictions, embeddings, about = _beside(beside, table, rows, labels)
    preparation = Preparation.fit(frame, columns.features, seed) if fixed is None else fixed.preparation
    if fixed is None:
        _check_enough(table, frame, columns, preparation, predictions, embeddings)
    items = None if columns.item is None else frame[columns.item]
    derived = None if columns.derived_from is None else frame[columns.derived_from]
    return Prepared(
        x=preparation.transform(frame) if embeddings is None else embeddings,
        y=labels.y, task=labels.task, classes=labels.classes,
        contributor=_identifiers(frame, columns.contributor, "contributor"), item=item,
        verification=verification, reputation=reputation, age=age,
        parents=None if derived is None else read_parents(derived, items),
        gold=gold, known=known, predictions=predictions, beside=about, preparation=preparation,
        notes=[*labels.notes, *notes], warnings=warnings, rows=rows,
    )  # fmt: skip


def _labels(series: pl.Series, task: str, fixed: Fixed | None) -> Labels:
    if fixed is None:
        return read_labels(series, task)
    codes = read_targets(series, "classification", fixed.classes)
    return Labels(codes, "classification", fixed.classes, [])


def _beside(
    beside: Beside, table: Table, rows: Ints, labels: Labels
) -> tuple[Floats | None, npt.NDArray[np.float32] | None, dict[str, dict[str, str]]]:
    predictions = embeddings = None
    about: dict[str, dict[str, str]] = {}
    if beside.predictions is not None:
        given = beside.predictions
        predictions, about["predictions"] = read_predictions(given, table, rows, labels, beside.key)
    if beside.embeddings is not None:
        embeddings, about["embeddings"] = read_embeddings(beside.embeddings, table, rows, beside.key)
    return predictions, embeddings, about


def _check_enough(
    table: Table, frame: pl.DataFrame, columns: Columns, preparation: Preparation,
    predictions: Array | None, embeddings: Array | None,
) -> None:  # fmt: skip
    """Refuse a table that nothing can be told from."""
    if preparation.feature_names or embeddings is not None:
        return
    if columns.features:
        raise InputError(f"the feature columns of {table.name} hold no word or number to learn from")
    if predictions is None and frame[columns.item or columns.label].n_unique() == frame.height:
        raise InputError(
            f"there is no feature column, and every item of column {columns.item!r} has one label; {NEEDED}"
        )


def _gold(
    frame: pl.DataFrame, columns: Columns, task: str, known_already: Answers | None,
    notes: list[str], warnings: list[str],
) -> Gold:  # fmt: skip
    assert columns.gold is not None
    items = None if columns.item is None else frame[columns.item]
    found = read_gold(frame[columns.gold], frame[columns.label], task, items)
    if known_already is not None and (both := found.known & known_already.known).any():
        # What is used cannot check: a row is the one or the other.
        found = found._replace(known=found.known & ~both, right=found.right & ~both)
        notes.append(
            f"{int(both.sum()):,} rows of column {columns.gold!r} (gold) are known already and check nothing"
        )
    known = int(found.known.sum())
    if not known:
        warnings.append(f"column {columns.gold!r} (gold) says of no label that it is known")
        return found
    what = "holds the right label of" if found.kind == "labels" else "marks as known to be right"
    notes.append(f"column {columns.gold!r} (gold) {what} {known:,} rows, which check and train nothing")
    return found


def _labelled(table: Table, columns: Columns, warnings: list[str]) -> tuple[pl.DataFrame, Ints]:
    present = table.frame[columns.label].is_not_null().to_numpy()
    rows = np.flatnonzero(present).astype(np.int64)
    height = table.frame.height
    if len(rows) == 0:
        raise InputError(f"column {columns.label!r} (label) is empty in all {height} rows of {table.name}")
    if len(rows) == height:
        return table.frame, rows
    left_out = counted(height - len(rows), "row, which is left out", "rows, which are left out")
    warnings.append(f"column {columns.label!r} (label) is missing in {left_out}")
    return table.frame.filter(present), rows


def _verification(frame: pl.DataFrame, name: str | None, known: Answers | None, said: list[str]) -> Any:
    """Verification as given; where it is not, rows earn it by what is known of them."""
    if known is None or not known.known.any():
        return None if name is None else read_signal(frame[name], "verification", said)
    v = earned(known)
    if name is not None:
        given = frame[name].is_not_null().to_numpy() | ~(known.right | known.wrong)
        v[given] = read_signal(frame[name].filter(given), "verification", said)
    return v


def _identifiers(frame: pl.DataFrame, name: str | None, role: str) -> npt.NDArray[np.str_] | None:
    return None if name is None else read_identifiers(frame[name], role)


def _about_contributors(frame: pl.DataFrame, columns: Columns) -> list[str]:
    if columns.contributor is None:
        return []
    said = []
    if frame[columns.contributor].n_unique() == 1:
        said.append(f"column {columns.contributor!r} names one contributor only, who cannot be compared")
    if columns.item is not None:
        repeated = frame.height - frame.select(columns.item, columns.contributor).n_unique()
        if repeated:
            said.append(
                f"{counted(repeated, 'row repeats', 'rows repeat')} a pair of {columns.item!r} and "
                f"{columns.contributor!r}; all are kept"
            )
    return said


def _about_features(frame: pl.DataFrame, columns: Columns) -> list[str]:
    floats = [name for name in columns.features if frame.schema[name].is_float()]
    infinite = {name: int(frame[name].is_infinite().sum()) for name in floats}
    as_gaps = ("infinite value, which counts", "infinite values, which count")
    return [f"column {name!r} has {counted(n, *as_gaps)} as missing" for name, n in infinite.items() if n]


def _about_gaps(frame: pl.DataFrame, columns: Columns) -> list[str]:
    gaps = {name: frame[name].null_count() for name in columns.features if frame[name].null_count()}
    if not gaps:
        return []
    most = sorted(gaps.items(), key=lambda gap: (-gap[1], gap[0]))
    listed = ", ".join(f"{name!r} {count}" for name, count in most[:5])
    more = f" and {len(most) - 5} more columns" if len(most) > 5 else ""
    return [f"missing feature values were filled in and marked: {listed}{more}"]
