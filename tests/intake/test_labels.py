"""Labels: classes or a quantity, as told or guessed; and what can be neither."""

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from intake_tables import prepared


def labels_of(values: Any, **options: Any) -> Any:
    return prepared(pl.DataFrame({"size": range(len(values)), "label": values}), label="label", **options)


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
    ("values", "options", "said"),
    [
        ([None, None], {}, r"'label' \(label\) is empty in all 2 rows of frame"),
        (["x", "x", "x"], {}, "one class only, 'x'"),
        (["x", None, "x"], {}, "one class only, 'x'"),
        ([f"c{at}" for at in range(9)], {}, "9 classes in 9 rows.*name another label column$"),
        ([*"abcdef", "a"], {}, "6 classes in 7 rows"),
        (list(range(9)), {"task": "classification"}, "9 classes in 9 rows.*regression"),
        (["x", "y"], {"task": "regression"}, "cannot be a quantity for regression: 'x' is not a number"),
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
def test_bad_labels(values: list[Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        labels_of(values, **options)
