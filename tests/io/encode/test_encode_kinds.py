"""Detection of the feature type of a column."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.io.encode.preparation import ENCODERS, MIN_TEXTS, is_text, kind_of
from anml.io.plain import normalise_types


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
    series = normalise_types(pl.DataFrame({"c": values}))["c"]
    assert kind_of(series) == kind
    assert kind in ENCODERS or kind == "nested"


@pytest.mark.parametrize("kind", ENCODERS)
def test_every_kind_is_told_by_some_column(kind: str) -> None:
    examples = {
        "number": [1, 2], "boolean": [True, False], "date": ["2024-01-31"], "category": ["red", "blue"],
        "text": [f"some words here {at}" for at in range(9)],
    }  # fmt: skip
    assert kind_of(pl.Series(examples[kind])) == kind


@given(st.lists(st.none() | st.integers(), min_size=1, max_size=10), st.randoms())
def test_neither_order_nor_repetition_makes_another_kind(values: list[Any], random: Any) -> None:
    series = pl.Series(values, dtype=pl.Int64, strict=False)
    shuffled = pl.Series(random.sample(values, len(values)) * 3, dtype=pl.Int64, strict=False)
    assert kind_of(shuffled) == kind_of(series) == "number"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], False),
        (["one two three"], False),
        (["one two three", "four five six", "seven eight nine"], True),
        (["one two", "three four", "five six"], False),
        (["yes it is so", "no it is not"] * 20, False),
        (["x" * 60 + str(at) for at in range(MIN_TEXTS + 1)], True),
        ([f"word{at}" for at in range(MIN_TEXTS + 1)], False),
    ],
)
def test_text_is_several_words_that_are_rarely_the_same(texts: list[str], expected: bool) -> None:
    assert is_text(pl.Series(texts, dtype=pl.String)) == expected
