"""Labels and predicted probabilities on arrays: types, order of grades, and one sentence otherwise."""

import numpy as np
import pandas as pd
import pytest

from anml.core.errors import InputError
from anml.sklearn.labels import read_labels, read_probabilities
from anml.tasks import Ordinal


def test_classes_grades_and_numbers():
    classes = read_labels(["b", "a", "b"], "auto")
    assert (classes.y.tolist(), classes.classes.tolist(), classes.task) == (
        [1, 0, 1],
        ["a", "b"],
        "classification",
    )
    grades = read_labels(["10", "9", "10"], "ordinal")
    assert (grades.classes.tolist(), grades.y.tolist(), grades.ordered) == (["9", "10"], [1, 0, 1], True)
    named = read_labels(["high", "low"], Ordinal(order=["low", "high"]))
    assert named.y.tolist() == [1, 0]
    numbers = read_labels([1.5, 2.25, 3.0], "regression")
    assert (numbers.classes, numbers.task, numbers.y.tolist()) == (None, "regression", [1.5, 2.25, 3.0])


@pytest.mark.parametrize(
    ("labels", "task", "message"),
    [
        (["a", "a"], "auto", "only one class is present, 'a'"),
        (["low", "high"], "ordinal", "is not a number: name the grades"),
        (["low", "top"], Ordinal(order=["low", "high"]), "the grade 'top' is not in the order: low, high"),
        ([2.0, 2.0], "regression", "all labels are 2"),
        ([1e200, 1.0], "regression", "labels has values beyond"),
        ([[1, 2]], "auto", "labels must be one label per row"),
    ],
)
def test_invalid_labels_are_one_sentence(labels, task, message):
    with pytest.raises(InputError, match=message):
        read_labels(labels, task)


def test_columns_of_probabilities_are_found_by_name_and_sum_to_one():
    classes = np.array(["a", "b"])
    frame = pd.DataFrame({"b": [0.25, 1.0], "a": [0.75, 0.0]})
    np.testing.assert_allclose(read_probabilities(frame, classes, 2), [[0.75, 0.25], [0, 1]])
    with pytest.raises(InputError, match=r"one column for each class \('a', 'b'\), got 'a', 'c'"):
        read_probabilities(pd.DataFrame({"a": [1.0], "c": [0.0]}), classes, 1)
    with pytest.raises(InputError, match=r"must have shape \(2, 2\)"):
        read_probabilities([[1.0, 0.0]], classes, 2)
    with pytest.raises(InputError, match=r"sum to 1 in each row, got .* at position 0"):
        read_probabilities([[0.9, 0.9]], classes, 1)
