"""Main confusion of a contributor, from rows counted by hand."""

import polars as pl
import pytest

from anml.report.verdict_text import _main_confusion


def wrong(*pairs):
    rows = [("ann", right, given) for right, given, count in pairs for _ in range(count)]
    return pl.DataFrame(rows, schema=["contributor", "suggested_label", "label"], orient="row")


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("cat", "dog", 9), ("dog", "cat", 1), ("cow", "dog", 2)], "labels “cat” items as “dog”"),
        ([("cat", "dog", 5), ("dog", "cat", 4), ("cow", "dog", 2)], "confuses “cat” with “dog”"),
    ],
)
def test_one_label_for_the_other_or_each_for_the_other(pairs, message):
    assert _main_confusion(wrong(*pairs))["ann"].singular == message


def test_many_things_that_are_wrong_are_no_confusion():
    assert _main_confusion(wrong(("cat", "dog", 3), ("cow", "dog", 3), ("cat", "cow", 3))) == {}
