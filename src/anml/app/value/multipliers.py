"""External values by contributor, such as Shapley values, as integer multipliers."""

from pathlib import Path

import polars as pl

from anml.core.errors import InputError
from anml.core.settle import UNIT
from anml.intake.contributions import read_typed


def read_multipliers(path: Path) -> dict[str, int]:
    """Read contributor and value, scaled so that the largest is 1; what is below zero counts as zero."""
    frame = read_typed(path, ("contributor",))
    if not {"contributor", "value"} <= set(frame.columns):
        raise InputError(f"{path.name} needs the columns contributor and value")
    values = frame["value"].cast(pl.Float64, strict=False)
    if values.null_count() or not values.is_finite().all():
        raise InputError(f"{path.name} has values that are not numbers")
    if frame["contributor"].null_count():
        raise InputError(f"{path.name} has a value that belongs to no contributor")
    if frame["contributor"].n_unique() != frame.height:
        raise InputError(f"{path.name} names a contributor twice")
    positive = values.clip(lower_bound=0.0)
    largest = float(positive.to_numpy().max())
    if largest <= 0:
        raise InputError(f"{path.name} has no value above zero; nobody could be paid")
    pairs = zip(frame["contributor"], positive, strict=True)
    return {name: round(value / largest * UNIT) for name, value in pairs}
