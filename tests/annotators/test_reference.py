"""Independent others behind a contributor, worked by hand."""

import numpy as np
import pytest

from anml.annotators.reference import NearestRows, add_pairs, item_pairs, near_pairs, reference
from anml.annotators.rows import LabelData, SideInformation, make_label_data

# Shares of regular contributors, spammers and outliers before anything is seen.
USUAL = np.array([0.88, 0.06, 0.06])


def rows_of(item, codes, y, classes=2) -> LabelData:
    item, codes, y = (np.asarray(part) for part in (item, codes, y))
    flat = np.log(np.full((len(y), classes), 1 / classes))
    return make_label_data(flat, y, SideInformation(codes, items=item))


def believed(truth, classes=2):
    """A posterior that is sure of the truth of each row."""
    return np.eye(classes)[np.asarray(truth)]


class TestItems:
    """Four label ten items; the last one gives every item the other class."""

    ITEM, WHO = np.repeat(np.arange(10), 4), np.tile(np.arange(4), 10)
    Y = (WHO == 3).astype(int)

    def result(self, selected=slice(None)):
        rows = rows_of(self.ITEM[selected], self.WHO[selected], self.Y[selected])
        rows.count = 4
        return item_pairs(rows, believed(np.zeros(rows.n, dtype=int)))

    def test_all_have_three_around(self):
        result = reference(self.result(), np.full(4, 0.25), USUAL)
        np.testing.assert_allclose(result.neighbours, 3.0)

    def test_three_contradict_the_last_alone(self):
        result = reference(self.result(), np.full(4, 0.25), USUAL)
        np.testing.assert_allclose(result.against, [0, 0, 0, 3])
        np.testing.assert_allclose(result.side, 1.0)

    def test_three_to_one_are_seldom_wrong(self):
        result = reference(self.result(), np.full(4, 0.25), USUAL)
        odds = 0.06 / 0.88
        assert result.unsound[3] == pytest.approx(odds**2 / (1 + odds**2))

    def test_where_most_are_atypical_three_may_well_be(self):
        one, two = (
            reference(self.result(), np.full(4, 0.25), np.array(types)).unsound[3]
            for types in ([0.88, 0.06, 0.06], [0.5, 0.25, 0.25])
        )
        assert two > 5 * one

    def test_slices_add_up(self):
        first = self.ITEM < 4
        both = add_pairs(self.result(first), self.result(~first))
        for one, two in zip(both, self.result(), strict=True):
            np.testing.assert_allclose(
                one.toarray() if hasattr(one, "toarray") else one,
                two.toarray() if hasattr(two, "toarray") else two,
            )


def test_two_accounts_beside_one_another_are_two_for_whom_they_contradict():
    """One against one: either may be wrong."""
    rows = rows_of(np.repeat(np.arange(6), 2), np.tile([0, 1], 6), np.tile([0, 1], 6))
    result = reference(item_pairs(rows, believed(np.zeros(12, dtype=int))), np.full(2, 0.5), USUAL)
    assert result.neighbours.tolist() == [1.0, 1.0]
    assert result.unsound[1] == pytest.approx(0.5)
    assert result.p_alone[1] == pytest.approx(0.5)


def test_rows_among_their_own_contributor_have_no_other_near():
    """Rows 0 to 2 are near each other and of one contributor; rows 3 to 5 of three."""
    rows = rows_of(np.arange(6), [0, 0, 0, 1, 2, 3], np.zeros(6, dtype=int))
    near = NearestRows(
        np.arange(6), np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]]), np.ones((6, 2), dtype=bool)
    )
    result = reference(near_pairs(rows, believed(np.zeros(6, dtype=int)), near), np.full(4, 0.25), USUAL)
    np.testing.assert_allclose(result.unseen, [1, 0, 0, 0])
    np.testing.assert_allclose(result.neighbours, [0, 2, 2, 2])


def test_without_items_and_features_all_are_compared():
    rows = rows_of(np.arange(4), [0, 1, 2, 3], np.zeros(4, dtype=int))
    result = reference(item_pairs(rows, believed(np.zeros(4, dtype=int))), np.full(4, 0.25), USUAL)
    np.testing.assert_allclose(result.neighbours, 3.0)
