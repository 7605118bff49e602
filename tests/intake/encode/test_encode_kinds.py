"""Which kind of feature a column is."""

from typing import Any

import polars as pl
import pytest

from anml.intake.encode.kinds import kind_of
from anml.intake.encode.preparation import ENCODERS
from anml.intake.plain import plain


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        ([True, None], "boolean"),
        (["2024-01-31", None], "date"),
        (["2024-01-31T10:00:00Z", "2024-02-01"], "date"),
        (["2024-01-31", "never"], "category"),
        (["2024", "2025"], "category"),
        (["red", "blue"], "category"),
        (["strongly agree with it", "do not agree at all"] * 5, "category"),
        ([f"this is text {at}" for at in range(6)], "text"),
        ([f"this is text {at}" for at in range(60)] * 20, "text"),
        ([f"user{at}" for at in range(60)], "category"),
        ([None, None], "category"),
        ([[1], [2]], "nested"),
    ],
)
def test_kinds(values: list[Any], kind: str) -> None:
    series = plain(pl.DataFrame({"c": values}))["c"]
    assert kind_of(series) == kind
    assert kind in ENCODERS or kind == "nested"
