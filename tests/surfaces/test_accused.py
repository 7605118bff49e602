"""What somebody confuses, from rows counted by hand."""

import polars as pl
import pytest

from anml.surfaces.accused import _confused


def wrong(*pairs):
    rows = [("ann", right, given) for right, given, count in pairs for _ in range(count)]
    return pl.DataFrame(rows, schema=["contributor", "suggested", "label"], orient="row")


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("cat", "dog", 9), ("dog", "cat", 1), ("cow", "dog", 2)], "takes “cat” for “dog”"),
        ([("cat", "dog", 5), ("dog", "cat", 4), ("cow", "dog", 2)], "confuses “cat” with “dog”"),
    ],
)
def test_one_label_for_the_other_or_each_for_the_other(pairs, said):
    assert _confused(wrong(*pairs))["ann"].one == said


def test_many_things_that_are_wrong_are_no_confusion():
    assert _confused(wrong(("cat", "dog", 3), ("cow", "dog", 3), ("cat", "cow", 3))) == {}
