"""Grades with an order, of numbers or as it is given."""

import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io.tasks.ordinal import read_grades


def table(grades):
    return pl.DataFrame({"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "stars": grades})


def order(made):
    return made.shape.frames["order"]["grade"].to_list()


def test_numbers_are_in_the_order_of_numbers():
    assert order(read_grades(table([10, 2, 1]), {})) == ["1", "2", "10"]
    assert order(read_grades(table(["10", "2", "1"]), {})) == ["1", "2", "10"]


def test_words_have_the_order_that_is_given():
    made = read_grades(table(["good", "bad", "fair"]), {"order": ["bad", "fair", "good"]})
    assert order(made) == ["bad", "fair", "good"]
    assert made.rows.height == 3


def test_rows_without_a_grade_keep_their_numbers():
    made = read_grades(table([1, None, 2]), {})
    assert made.rows["label"].to_list() == ["1", None, "2"]


@pytest.mark.parametrize(
    ("grades", "given", "message"),
    [
        (["good", "bad", "fair"], {}, r"is no number; name the grades as task.order"),
        (["good", "bad", "odd"], {"order": ["bad", "good"]}, "the grade 'odd' is not in the order given"),
        ([3, 3, 3], {}, "has 1 grades"),
    ],
)
def test_grades_without_an_order_are_refused(grades, given, message):
    with pytest.raises(InputError, match=message):
        read_grades(table(grades), given)


def test_what_stands_beside_a_grade_is_kept():
    made = read_grades(table([1, 2, 3]).with_columns(verified=pl.Series([0.1, 0.2, 0.3])), {})
    assert made.rows["verified"].to_list() == [0.1, 0.2, 0.3]
    with pytest.raises(InputError, match="the grade 'nan' is no number"):
        read_grades(table(["1", "nan", "3"]), {})
