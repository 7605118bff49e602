"""External values by contributor, such as Shapley values, as integer multipliers."""

from pathlib import Path

import polars as pl

from anml.core.errors import InputError
from anml.io.contributions import of_contributors
from anml.settlement.allocate import UNIT


def read_multipliers(path: Path) -> dict[str, int]:
    """Read contributor and value, scaled so that the largest is 1; what is below zero counts as zero."""
    found = of_contributors(path, "value")
    values = pl.Series([*found.values()], dtype=pl.String).cast(pl.Float64, strict=False)
    if values.null_count() or not values.is_finite().all():
        raise InputError(f"{path.name} has values that are not numbers")
    positive = values.clip(lower_bound=0.0).to_list()
    if (largest := max(positive)) <= 0:
        raise InputError(f"{path.name} has no value above zero; nobody could be paid")
    return {name: round(value / largest * UNIT) for name, value in zip(found, positive, strict=True)}
