"""Gold: marks or right labels, told by name and values."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.columns import choose_columns
from anml.io.labels import read_test_label
from anml.io.roles import ALIASES, BOOLEAN_SPELLINGS
from intake_tables import labelled, prepared


def test_gold_marks() -> None:
    made = prepared(labelled(is_golden=["yes", "No", None, "1"]))
    assert made.gold is not None
    assert made.gold.kind == "marks"
    assert made.gold.known.tolist() == made.gold.right.tolist() == [True, False, False, True]
    assert any("marks as known to be right 2 rows" in note for note in made.notes)


def test_a_mark_on_traps_says_nothing_of_the_label() -> None:
    table = labelled(is_honeypot=[True, False, True, False])
    chosen, notes = choose_columns(table)
    assert chosen.test_label is None
    assert "is_honeypot" not in chosen.features
    assert any("marks items with a known answer" in note for note in notes)
    with pytest.raises(
        InputError, match=r"'is_honeypot' .test_label. says where the answer is known, not which"
    ):
        prepared(table, test_label="is_honeypot")


def test_marks_on_two_labels_of_an_item_are_marks_on_the_item() -> None:
    # Labels are b, a, b, a: both of item 1 cannot be right.
    table = labelled(item=[1, 1, 2, 2], is_gold=[True, True, False, False])
    with pytest.raises(InputError, match="different labels of item '1'; name the column of answers"):
        prepared(table)


def test_gold_labels() -> None:
    # Labels are b, a, b, a; what nobody gave as a label is a right label all the same.
    made = prepared(labelled(g=["b", "b", None, "c"]), test_label="g")
    assert made.gold is not None
    assert made.gold.kind == "labels"
    assert made.gold.known.tolist() == [True, True, False, True]
    assert made.gold.right.tolist() == [True, False, False, False]
    assert "g" not in made.preparation.feature_names


@pytest.mark.parametrize(("name", "kind"), [("g", "labels"), ("is_gold", "marks")])
def test_gold_where_labels_are_flags_too_goes_by_the_name(name: str, kind: str) -> None:
    table = labelled(**{name: [1, 0, 1, 1]}).with_columns(label=pl.Series([1, 0, 0, 1]))
    made = prepared(table, test_label=name)
    assert made.gold is not None
    assert made.gold.kind == kind
    right = {"labels": [True, True, False, True], "marks": [True, False, True, True]}
    assert made.gold.right.tolist() == right[kind]


@pytest.mark.parametrize(
    ("column", "labels", "message"),
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
def test_bad_gold(column: dict[str, Any], labels: list[Any] | None, message: str) -> None:
    table = labelled(**column)
    if labels is not None:
        table = table.with_columns(label=pl.Series(labels))
    with pytest.raises(InputError, match=message):
        prepared(table, test_label=next(iter(column)))


def test_gold_that_knows_nothing_is_a_warning() -> None:
    made = prepared(labelled(is_gold=["no", "no", "no"]), test_label="is_gold")
    assert made.warnings == ["column 'is_gold' (test_label) says of no label that it is known"]


def read(values: Any, labels: Any, name: str = "g", task: str = "classification") -> Any:
    return read_test_label(pl.Series(name, values), pl.Series("label", labels), task)


@pytest.mark.parametrize(("word", "marked"), BOOLEAN_SPELLINGS.items())
def test_every_flag_in_any_case(word: str, marked: bool) -> None:
    result = read([f" {word.upper()} ", None], ["a", "b"])
    assert (result.kind, result.known.tolist()) == ("marks", [marked, False])


@pytest.mark.parametrize("name", ALIASES["test_label"])
def test_every_name_of_marks_means_marks(name: str) -> None:
    assert read(["1", "0", "1"], ["1", "0", "0"], name).kind == "marks"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["a", "b", None])), min_size=1, max_size=20))
def test_labels_are_right_exactly_where_they_agree(rows: list[tuple[str, str | None]]) -> None:
    labels, gold = [label for label, _ in rows], [message for _, message in rows]
    if not set(gold) & set(labels):
        return
    result = read(gold, labels)
    assert result.known.tolist() == [message is not None for message in gold]
    assert result.right.tolist() == [message == label for label, message in rows]


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=20))
def test_marks_say_nothing_of_the_rows_they_leave_out(values: list[bool | None]) -> None:
    result = read(pl.Series(values, dtype=pl.Boolean), ["x"] * len(values))
    assert result.known.tolist() == result.right.tolist() == [value is True for value in values]


def test_marks_may_stand_beside_numbers() -> None:
    assert read([1, 0], [2.5, 3.5], task="regression").right.tolist() == [True, False]
