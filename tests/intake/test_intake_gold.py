"""Gold: marks or right labels, told by name and values."""

from typing import Any

import polars as pl
import pytest
from intake_tables import labelled, prepared

from anml.core.errors import InputError


def test_gold_marks() -> None:
    made = prepared(labelled(honeypot=["yes", "No", None, "1"]))
    assert made.gold is not None
    assert made.gold.kind == "marks"
    assert made.gold.known.tolist() == made.gold.right.tolist() == [True, False, False, True]
    assert any("marks as known to be right 2 rows" in note for note in made.notes)


def test_gold_labels() -> None:
    # Labels are b, a, b, a; what nobody gave as a label is a right label all the same.
    made = prepared(labelled(g=["b", "b", None, "c"]), gold="g")
    assert made.gold is not None
    assert made.gold.kind == "labels"
    assert made.gold.known.tolist() == [True, True, False, True]
    assert made.gold.right.tolist() == [True, False, False, False]
    assert "g" not in made.preparation.feature_names


@pytest.mark.parametrize(("name", "kind"), [("g", "labels"), ("is_gold", "marks")])
def test_gold_where_labels_are_flags_too_goes_by_the_name(name: str, kind: str) -> None:
    table = labelled(**{name: [1, 0, 1, 1]}).with_columns(label=pl.Series([1, 0, 0, 1]))
    made = prepared(table, gold=name)
    assert made.gold is not None
    assert made.gold.kind == kind
    right = {"labels": [True, True, False, True], "marks": [True, False, True, True]}
    assert made.gold.right.tolist() == right[kind]


@pytest.mark.parametrize(
    ("column", "labels", "said"),
    [
        (
            {"g": ["perhaps", "no", "no"]},
            None,
            "must hold true or false, or labels of column 'label'",
        ),
        ({"is_gold": ["a", "b", "b"]}, None, "must be true or false, got 'a'"),
        (
            {"g": [1.5, 2.5, 7.25]},
            [1.5, 2.5, 7.0],
            "true or false where labels are numbers, got '1.5'",
        ),
    ],
    ids=["neither", "labels under a name of marks", "numbers"],
)
def test_bad_gold(column: dict[str, Any], labels: list[Any] | None, said: str) -> None:
    table = labelled(**column)
    if labels is not None:
        table = table.with_columns(label=pl.Series(labels))
    with pytest.raises(InputError, match=said):
        prepared(table, gold=next(iter(column)))


def test_gold_that_knows_nothing_is_a_warning() -> None:
    made = prepared(labelled(is_gold=["no", "no", "no"]), gold="is_gold")
    assert made.warnings == ["column 'is_gold' (gold) says of no label that it is known"]
