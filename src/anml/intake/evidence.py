"""The columns beside features and label: who, which thing, how verified, how trusted, how old."""

from datetime import datetime

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.checks import Floats
from anml.core.errors import AnmlError, InputError
from anml.core.signals.levels import level_values
from anml.core.signals.reputation import REPUTATION
from anml.core.signals.verification import VERIFICATION
from anml.core.words import counted
from anml.intake.plain import as_text, text_array
from anml.intake.times import ages, read_instants

PARENT_SEPARATOR = ";"


# Levels of a signal, which of them stands for no value and false, and which for true: no evidence is read as
# the most cautious level that does not accuse.
SIGNALS = {
    "verification": (VERIFICATION, "self-attested", "institution"),
    "reputation": (REPUTATION, "new", "established"),
}


def read_identifiers(series: pl.Series, role: str) -> npt.NDArray[np.str_]:
    """Return identifiers as text, or say how many are missing."""
    missing = series.null_count()
    if missing:
        raise InputError(
            f"column {series.name!r} ({role}) is empty in {missing} of {series.len()} rows; "
            "every row needs one"
        )
    return text_array(as_text(series))


def read_signal(series: pl.Series, role: str, said: list[str]) -> Floats:
    """Return verification or reputation in [0, 1]; what is missing is cautious, counted and said."""
    levels, cautious, true = SIGNALS[role]
    if series.dtype == pl.Boolean:
        said.append(
            f"column {series.name!r} ({role}) holds truth values: true is read as {true!r}, "
            f"false as {cautious!r}"
        )
        series = series.replace_strict({True: true, False: cautious}, return_dtype=pl.String)
    missing = series.null_count()
    if missing:
        without = "review" if role == "verification" else role
        some = f"{missing:,} of {series.len():,} labels"
        said.append(f"{some} have no {without}")
    try:
        return level_values(role, series.to_list(), levels, missing=levels[cautious].default)
    except AnmlError as error:
        raise InputError(f"column {series.name!r}: {error}") from None


def read_ages(series: pl.Series, now: datetime | None, notes: list[str], warnings: list[str]) -> Floats:
    """Return ages in years; missing and future times have age 0, counted and said."""
    times = read_instants(series)
    years, moment, future = ages(times, now)
    if now is None and times.null_count() < len(times):
        notes.append(f"ages are counted from the newest time in {series.name!r}, {moment.isoformat(sep=' ')}")
    cases = {"is missing": times.null_count(), f"lies after {moment.isoformat(sep=' ')}": future}
    for what, rows in cases.items():
        if rows:
            as_new = counted(rows, "row, which counts as new", "rows, which count as new")
            warnings.append(f"column {series.name!r} (time) {what} in {as_new}")
    return years


def read_parents(derived: pl.Series, items: pl.Series | None) -> list[list[int]]:
    """For each row, all rows with one of the items that it was derived from."""
    if items is None:
        raise InputError(f"column {derived.name!r} (derived_from) refers to items; there is no item column")
    rows = pl.DataFrame({"item": as_text(items)}).with_row_index("parent").cast({"parent": pl.Int64})
    parts = as_text(derived).str.split(PARENT_SEPARATOR)
    links = (
        pl.DataFrame({"part": parts})
        .with_row_index("row")
        .explode("part")
        .with_columns(pl.col("part").str.strip_chars())
        .filter(pl.col("part").is_not_null() & (pl.col("part") != ""))
    )
    found = links.join(rows, left_on="part", right_on="item", how="left", maintain_order="left_right")
    unknown = found.filter(pl.col("parent").is_null())
    if len(unknown):
        raise InputError(
            f"column {derived.name!r} (derived_from) names {unknown['part'].n_unique()} items that are not "
            f"in column {items.name!r}, the first {unknown['part'][0]!r}"
        )
    own = found.filter(pl.col("parent") == pl.col("row"))
    if len(own):
        raise InputError(f"column {derived.name!r} (derived_from) derives {own['part'][0]!r} from itself")
    grouped = found.group_by("row", maintain_order=True).agg(pl.col("parent").unique(maintain_order=True))
    above = dict(grouped.iter_rows())
    return [above.get(row, []) for row in range(len(derived))]
