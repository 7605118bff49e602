"""Labels: classes or a quantity, as told or guessed; and what can be neither."""

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.labels import MAX_NUMERIC_CLASSES, guess_task, read_labels, read_targets
from intake_tables import prepared


def labels_of(values: Any, **options: Any) -> Any:
    return prepared(
        pl.DataFrame({"size": [at * 1.5 for at in range(len(values))], "label": values}),
        label="label",
        **options,
    )


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        (["x", "y"] * 4, "classification", ["x", "y"]),
        ([True, False] * 4, "classification", ["false", "true"]),
        ([10, 2, 10, 2], "classification", ["2", "10"]),
        ([1.0, 0.0, None, 1.0, 0.0], "classification", ["0", "1"]),
        ([0.5, 1.5, 0.5, 1.5], "regression", []),
        (list(range(200)), "regression", []),
        ([at / 3 for at in range(9)], "regression", []),
    ],
)
def test_task_from_labels(values: list[Any], task: str, classes: list[str]) -> None:
    made = labels_of(values)
    assert (made.task, made.classes) == (task, classes)
    known = [value for value in values if value is not None]
    if task == "regression":
        assert made.y.dtype == np.float64
        assert made.y.tolist() == known
    else:
        assert [classes[code] for code in made.y] == [str(v).lower().removesuffix(".0") for v in known]
    if isinstance(known[0], float | int) and not isinstance(known[0], bool):
        assert f"({task})" in made.notes[0]


def test_task_as_told() -> None:
    assert labels_of([0, 1] * 4, task="regression").y.tolist() == [0.0, 1.0] * 4
    assert labels_of([0.5, 1.5] * 4, task="classification").classes == ["0.5", "1.5"]
    assert labels_of(["1.5", "2"] * 4, task="regression").y.tolist() == [1.5, 2.0] * 4


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([None, None], {}, r"'label' \(label\) is empty in all 2 rows of frame"),
        (["x", "x", "x"], {}, "one class only, 'x'"),
        (["x", None, "x"], {}, "one class only, 'x'"),
        ([f"c{at}" for at in range(9)], {}, "9 classes in 9 rows.*name another label column$"),
        ([*"abcdef", "a"], {}, "6 classes in 7 rows"),
        (list(range(9)), {"task": "classification"}, "9 classes in 9 rows.*regression"),
        (["x", "y"], {"task": "regression"}, "cannot be a quantity: 'x' is not a number"),
        ([2.5, 2.5], {"task": "regression"}, "2.5 in every row"),
        ([float("inf"), 2.5], {}, "1 infinite labels"),
        ([date(2024, 1, 1)] * 2, {}, "cannot be a quantity"),
        ([[1], [2]], {}, "cannot be a label"),
        (
            ["x", "y"],
            {"task": "clustering"},
            "unknown task 'clustering'; allowed: auto, classification, regression",
        ),
    ],
)
def test_bad_labels(values: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        labels_of(values, **options)


classes_ = st.lists(st.sampled_from(["b", "a", "10", "9"]), min_size=8, max_size=20).filter(
    lambda values: 2 <= len(set(values)) <= len(values) / 2
)


class TestClasses:
    @given(classes_)
    def test_codes_are_positions_in_sorted_classes(self, values):
        result = read_labels(pl.Series("label", values))
        assert result.classes == sorted(set(values))
        assert [result.classes[code] for code in result.y] == values

    @given(classes_, st.randoms())
    def test_a_class_has_one_code_whatever_the_order_of_rows(self, values, random):
        shuffled = random.sample(values, len(values))
        one, two = (read_labels(pl.Series("label", rows)) for rows in (values, shuffled))
        assert one.classes == two.classes
        assert sorted(one.y.tolist()) == sorted(two.y.tolist())

    def test_numbered_classes_come_in_the_order_of_their_numbers(self):
        assert read_labels(pl.Series("label", [10, 2, 10, 2, 1, 1])).classes == ["1", "2", "10"]

    @given(classes_)
    def test_labels_of_another_table_have_the_same_codes(self, values):
        result = read_labels(pl.Series("label", values))
        other = read_targets(pl.Series(["unseen", *values]), "classification", result.classes)
        assert other.tolist() == [-1, *result.y.tolist()]


class TestGuess:
    @pytest.mark.parametrize(
        ("values", "task"),
        [
            (["a", "b"], "classification"),
            ([True, False], "classification"),
            ([1, 1, 2, 2], "classification"),
            ([1.0, 1.0, 2.0, 2.0], "classification"),
            ([1.5, 1.5, 2.0, 2.0], "regression"),
            ([1, 2, 3], "regression"),
            ([at % MAX_NUMERIC_CLASSES for at in range(200)], "classification"),
            ([at % (MAX_NUMERIC_CLASSES + 1) for at in range(200)], "regression"),
            ([date(2024, 1, 1), date(2024, 1, 2)], "regression"),
        ],
    )
    def test_by_values(self, values, task):
        assert guess_task(pl.Series(values)) == task

    @given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.randoms())
    def test_order_does_not_matter(self, values, random):
        assert guess_task(pl.Series(random.sample(values, len(values)))) == guess_task(pl.Series(values))


class TestQuantities:
    @given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20, unique=True))
    def test_values_pass_as_they_are(self, values):
        result = read_labels(pl.Series("label", values), "regression")
        assert result.y.tolist() == values
        assert result.classes == []

    def test_labels_that_cannot_be_squared_are_refused(self):
        with pytest.raises(InputError, match=r"labels beyond 1e\+150, as -1e\+200; scale them"):
            read_labels(pl.Series("label", [1.0, -1e200]), "regression")

    def test_numbers_as_text_are_numbers_where_they_are_asked_for(self):
        assert read_targets(pl.Series(["1.5", "2"]), "regression", []).tolist() == [1.5, 2.0]

    def test_the_first_that_is_no_number_is_shown(self):
        with pytest.raises(InputError, match="'tall' is not a number"):
            read_targets(pl.Series("label", ["1", "tall", "small"]), "regression", [])
