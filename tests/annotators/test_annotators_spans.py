"""Selection of overlapping spans, and error rates of contributors."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.annotators.spans import (
    count_errors,
    non_overlapping_subset,
    p_detection_guessing,
    p_type_guessing,
    type_confusion,
)

SPANS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 12), st.integers(1, 6), st.floats(0, 1)),
    min_size=1,
    max_size=8,
)


def best_gain(document, start, end, p, least):
    def clash(a, b):
        return document[a] == document[b] and start[a] < end[b] and start[b] < end[a]

    sets = (each for size in range(len(p) + 1) for each in combinations(range(len(p)), size))
    fine = (each for each in sets if not any(clash(a, b) for a, b in combinations(each, 2)))
    return max(sum(p[k] - least for k in each if p[k] > least) for each in fine)


@given(SPANS)
def test_no_set_without_overlaps_gains_more(spans):
    document, start, length, p = (np.array(column) for column in zip(*spans, strict=True))
    end = start + length
    kept = non_overlapping_subset(document, start, end, p, 0.3)
    chosen = np.flatnonzero(kept)
    for a, b in combinations(chosen, 2):
        assert document[a] != document[b] or end[a] <= start[b] or end[b] <= start[a]
    assert (p[kept] - 0.3).sum() == pytest.approx(best_gain(document, start, end, p, 0.3))


def test_nothing_likely_and_nothing_stays():
    nothing = np.zeros(2, dtype=int)
    assert not non_overlapping_subset(nothing, np.array([0, 5]), np.array([3, 9]), np.array([0.1, 0.2])).any()


def test_errors_by_hand():
    # Two places: the first is a PER (class 1), the second is nothing. Ann marks both as class 2; bob none.
    truth = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]] * 2)
    who, label = np.array([0, 0, 1, 1]), np.array([2, 2, 0, 0])
    found = count_errors(who, 2, truth, label, np.zeros(4, dtype=bool), np.zeros(4))
    assert found.there.tolist() == [1, 1]
    assert found.marked.tolist() == [2, 0]
    assert found.missed.tolist() == [0, 1]
    assert found.invented.tolist() == [1, 0]
    assert found.mistyped.tolist() == [1, 0]


def test_a_mark_beside_the_right_place_is_shifted_not_missed_nor_invented():
    # The right place is the first; ann marked the second, which overlaps it.
    truth = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = count_errors(
        np.zeros(2, dtype=int), 1, truth, np.array([0, 1]), np.array([True, True]), np.array([0.0, 1.0])
    )
    assert (found.missed[0], found.invented[0], found.shifted[0]) == (0, 0, 1)


def test_finding_and_types_are_judged_apart():
    rng = np.random.default_rng(0)
    truth = np.eye(3)[rng.integers(0, 3, 600)]
    who, kind = np.repeat(np.arange(4), 150), truth.argmax(axis=1)
    label = kind.copy()
    label[who == 1] = 0  # marks nothing
    label[who == 2] = np.where(kind[who == 2] > 0, 3 - kind[who == 2], 0)  # takes each type for the other
    label[who == 3] = rng.integers(0, 3, 150)
    nowhere = np.zeros(600)
    by_finding, rows = p_detection_guessing(who, 4, truth, label, nowhere > 0, nowhere)
    by_types = p_type_guessing(type_confusion(who, 4, truth, label), rng)
    assert rows.tolist() == [150] * 4
    assert by_finding[[0, 2]].max() < 0.01 < 0.9 < by_finding[1]
    assert by_finding[3] > 0.5
    assert by_types[0] < 0.01 < 0.95 < by_types[2]


def test_places_of_which_nobody_knows_tell_nothing_of_finding():
    # All places are as likely, and one person marks half of them: that is no guess, for nothing shows it.
    rng = np.random.default_rng(0)
    truth, who = np.tile([0.25, 0.75], (200, 1)), np.repeat([0, 1], 100)
    nowhere = np.zeros(200)
    p, _ = p_detection_guessing(who, 2, truth, rng.integers(0, 2, 200), nowhere > 0, nowhere)
    assert p.max() < 0.5
