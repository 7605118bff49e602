"""Grades: classes with an order, of numbers or as it is given."""

import polars as pl

from anml.core.errors import InputError
from anml.io.plain import as_text
from anml.io.roles import ALIASES
from anml.io.tasks.types import ORDINAL, CandidateLabels, Given, StructuredTask, extra_columns, label_table

MAX_GRADES = 30
NAMES = ("grade", "rating", "score", "stars")


def read_grades(frame: pl.DataFrame, given: Given) -> CandidateLabels:
    """One grade of each row; the order is that of the numbers, or of the names in `order`, lowest first."""
    frame, contributor, item, label = label_table(frame, given, (*NAMES, *ALIASES["label"]))
    texts = as_text(frame[label])
    order = _order(texts, given.get("order"), label)
    # Rows without a grade are dropped, with a warning, where labels are read: row numbers are unchanged.
    rows = frame.select(item=as_text(frame[item]), contributor=contributor, label=texts)
    rows = rows.hstack(extra_columns(frame, (item, contributor, label), rows.columns))
    frames = {"order": pl.DataFrame({"grade": order, "step": range(len(order))})}
    notes = [f"{label!r} is graded from {order[0]!r} to {order[-1]!r}, in {len(order)} steps"]
    return CandidateLabels(rows, StructuredTask(ORDINAL, "grade", frames), notes, [])


def _order(texts: pl.Series, given: object, label: str) -> list[str]:
    names = [str(name) for name in texts.drop_nulls().unique().to_list()]
    order = [given] if isinstance(given, str) else list(given or [])  # type: ignore[call-overload]
    if order:
        if strange := sorted(set(names) - set(order)):
            raise InputError(f"the grade {strange[0]!r} is not in the order given: {', '.join(order)}")
        return order
    numbers = pl.Series(names).cast(pl.Float64, strict=False)
    numbers = numbers.set(~numbers.is_finite(), None)
    if numbers.null_count():
        word = pl.Series(names).filter(numbers.is_null())[0]
        raise InputError(f"the grade {word!r} is no number; name the grades as task.order, the lowest first")
    if not 2 <= len(names) <= MAX_GRADES:
        raise InputError(f"column {label!r} has {len(names)} grades; from 2 to {MAX_GRADES} can be ordered")
    return [name for _, name in sorted(zip(numbers.to_list(), names, strict=True))]
