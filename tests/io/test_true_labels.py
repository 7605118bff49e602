"""True labels: by hand, then properties for both label types."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.io.true_labels import (
    GoldLabels,
    combine_gold,
    empty_gold,
    has_gold_label,
    items_with_conflicting_gold,
    v_from_gold,
)
from anml.signals.verification import VERIFICATION

NO = np.zeros(4, dtype=bool)


def marks(*rows, n=4):
    result = np.zeros(n, dtype=bool)
    result[list(rows)] = True
    return result


@st.composite
def classes(draw):
    """Labels, right labels where they are known, marks, and the item of each row."""
    n = draw(st.integers(1, 20))
    row = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    y, truth = row(st.integers(0, 3)), row(st.integers(-1, 3))
    right, wrong = row(st.booleans()), row(st.booleans())
    return y, truth, right, wrong & ~right, row(st.integers(0, 4))


@pytest.mark.parametrize(
    ("task", "expected"), [("classification", [-1, -1]), ("regression", [np.nan, np.nan])]
)
def test_nothing_is_known_at_first(task, expected):
    y = np.array([1, 2]) if task == "classification" else np.array([1.5, 2.5])
    truth = empty_gold(y, task)
    np.testing.assert_array_equal(truth, expected)
    assert not has_gold_label(truth).any()
    assert not combine_gold(y, truth, NO[:2], NO[:2]).known.any()


def test_a_right_label_goes_before_a_mark():
    # Row 0: named right by its label but marked wrong; row 1: contradicted but marked right.
    result = combine_gold(np.array([0, 1, 1, 1]), np.array([0, 0, -1, -1]), marks(1, 2), marks(0, 3))
    assert result.right.tolist() == [True, False, True, False]
    assert result.wrong.tolist() == [False, True, False, True]


def test_a_label_marked_right_becomes_the_right_label():
    result = combine_gold(np.array([3, 1, 1, 1]), np.full(4, -1), marks(0), NO)
    assert result.truth.tolist() == [3, -1, -1, -1]


def test_what_is_known_of_one_row_holds_for_its_item():
    # The first row of the item is marked right with label 2, so the second, which says 0, is wrong.
    result = combine_gold(
        np.array([2, 0, 2, 0]), np.full(4, -1), marks(0), NO, np.array(["a", "a", "b", "b"])
    )
    assert result.truth.tolist() == [2, 2, -1, -1]
    assert result.wrong.tolist() == [False, True, False, False]


def test_an_item_with_two_right_labels_is_left_as_it_is():
    truth = np.array([0, 1, -1, -1])
    result = combine_gold(np.array([0, 0, 0, 0]), truth, NO, NO, np.array(["a", "a", "a", "b"]))
    assert result.truth.tolist() == truth.tolist()
    assert items_with_conflicting_gold(truth, np.array(["a", "a", "a", "b"])) == ["a"]


def test_a_rejected_label_is_wrong_whoever_gave_it_to_the_item():
    item = np.array(["a", "a", "a", "b"])
    result = combine_gold(np.array([0, 0, 1, 0]), np.array([-1, -1, -1, -1]), NO, marks(0), item)
    assert result.wrong.tolist() == [True, True, False, False]
    assert result.truth.tolist() == [-1] * 4


def test_numbers_that_differ_are_not_called_wrong():
    truth = np.array([1.0, 2.0, np.nan, np.nan])
    result = combine_gold(np.array([1.0, 5.0, 7.0, 8.0]), truth, NO, marks(3))
    assert result.right.tolist() == [True, False, False, False]
    assert result.wrong.tolist() == [False, False, False, True]
    assert result.known.tolist() == [True, True, False, True]


def test_numbers_agree_to_nine_digits_and_zero_exactly():
    truth = np.array([1e6, 1e6, 0.0, 0.0])
    result = combine_gold(np.array([1e6 * (1 + 1e-10), 1e6 * (1 + 1e-8), 0.0, 1e-12]), truth, NO, NO)
    assert result.right.tolist() == [True, False, True, False]


def test_the_smallest_class_counts_as_known():
    """Class 0 is a label like any other, and not a missing one."""
    assert has_gold_label(np.array([0, -1])).tolist() == [True, False]
    assert combine_gold(np.array([0]), np.array([0]), NO[:1], NO[:1]).right.tolist() == [True]


@given(classes())
def test_right_and_wrong_exclude_each_other(drawn):
    y, truth, right, wrong, item = drawn
    for total in (None, item):
        result = combine_gold(y, truth, right, wrong, total)
        assert not (result.right & result.wrong).any()
        assert (result.right | result.wrong | has_gold_label(result.truth) == result.known).all()


@given(classes())
def test_what_is_told_of_a_row_is_never_changed(drawn):
    y, truth, right, wrong, item = drawn
    result = combine_gold(y, truth, right, wrong, item)
    subset = has_gold_label(truth)
    np.testing.assert_array_equal(result.truth[subset], truth[subset])
    assert result.truth.dtype == truth.dtype


@given(classes())
def test_class_labels_that_differ_from_the_truth_are_wrong(drawn):
    y, truth, right, wrong, item = drawn
    result = combine_gold(y, truth, right, wrong, item)
    subset = has_gold_label(result.truth)
    np.testing.assert_array_equal(result.wrong[subset], y[subset] != result.truth[subset])
    # Elsewhere by a mark, on it or on an equal label of its item.
    marked = {(item[row], y[row]) for row in np.flatnonzero(wrong & ~subset)}
    expected = [(item[row], y[row]) in marked for row in np.flatnonzero(~subset)]
    assert result.wrong[~subset].tolist() == expected


@given(classes(), st.randoms())
def test_rows_may_come_in_any_order(drawn, random):
    y, truth, right, wrong, item = drawn
    order = np.array(random.sample(range(len(y)), len(y)))
    one = combine_gold(y, truth, right, wrong, item)
    two = combine_gold(*(part[order] for part in drawn))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(np.asarray(a)[order], b)


@given(classes())
def test_answers_are_settled_at_once(drawn):
    """Asking again with what was found changes nothing."""
    y, truth, right, wrong, item = drawn
    once = combine_gold(y, truth, right, wrong, item)
    twice = combine_gold(y, once.truth, once.right, once.wrong, item)
    for a, b in zip(once, twice, strict=True):
        np.testing.assert_array_equal(a, b)


@given(classes())
def test_contradicted_items_are_those_with_several_right_labels(drawn):
    _, truth, _, _, item = drawn
    message = {int(i): {int(t) for t in truth[item == i] if t >= 0} for i in item}
    assert items_with_conflicting_gold(truth, item) == sorted(
        str(i) for i, labels in message.items() if len(labels) > 1
    )


def test_v_earned_by_hand():
    result = GoldLabels(np.array([0, -1, -1]), np.array([True, False, False]), np.array([False, True, False]))
    levels = [VERIFICATION[name].default for name in ("reproduced", "flagged", "self-attested")]
    np.testing.assert_array_equal(v_from_gold(result), levels)
