"""Row ownership: by hand, and independent of the order of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.attribution.games import all_coalitions
from anml.attribution.row_ownership import parts_of, rows_per_contributor
from anml.core.errors import InputError


def test_parts_by_hand():
    found = parts_of(["b", "a", "b", "a"], copies=[7, 7, 8, 9])
    assert found.names == ["a", "b"]
    assert found.rows.tolist() == [0, 2, 3]
    assert found.holders[found.part].astype(int).tolist() == [[1, 1], [0, 1], [1, 0]]
    assert (found.holders.sum(axis=1) > 1).sum() == 1
    assert rows_per_contributor(found).tolist() == [1.5, 1.5]
    first = parts_of(["b", "a", "b", "a"], copies=[7, 7, 8, 9], first=[5, 1, 1, 1])
    assert first.rows.tolist() == [1, 2, 3]
    assert rows_per_contributor(first).tolist() == [2, 1]
    with pytest.raises(InputError, match="one group per row: 4 expected, got 2"):
        parts_of(["a", "b", "a", "b"], copies=[1, 2])


@st.composite
def held(draw):
    n = draw(st.integers(1, 15))
    row = lambda values: draw(st.lists(values, min_size=n, max_size=n))  # noqa: E731
    return row(st.sampled_from("abc")), row(st.integers(0, 5)), row(st.integers(0, 3))


@given(held())
def test_of_copies_one_row_counts(rows):
    who, copies, first = rows
    for found in (parts_of(who, copies), parts_of(who, copies, first)):
        groups = [copies[at] for at in found.rows]
        assert sorted(groups) == sorted(set(copies))
        assert rows_per_contributor(found).sum() == pytest.approx(len(set(copies)))


@given(held())
def test_everybody_who_has_a_copy_holds_it(rows):
    who, copies, _ = rows
    found = parts_of(who, copies)
    for at, part in zip(found.rows, found.part, strict=True):
        holders = {found.names[k] for k in np.flatnonzero(found.holders[part])}
        assert holders == {who[row] for row in range(len(who)) if copies[row] == copies[at]}


@given(held())
def test_with_times_a_group_belongs_to_whoever_had_it_first(rows):
    who, copies, first = rows
    found = parts_of(who, copies, first)
    assert (found.holders.sum(axis=1) == 1).all()
    assert (found.holders.sum(axis=1) == 1).all()
    for at in found.rows:
        same = [row for row in range(len(who)) if copies[row] == copies[at]]
        assert at == min(same, key=lambda row: (first[row], row))


@given(held())
def test_a_coalition_has_what_any_of_its_members_holds(rows):
    who, copies, _ = rows
    found = parts_of(who, copies)
    members = all_coalitions(len(found.names))
    present = found.present(members)
    for coalition, has in zip(members, present, strict=True):
        assert has.tolist() == [bool((holds & coalition).any()) for holds in found.holders]


def test_without_copies_every_row_is_its_own():
    found = parts_of(["b", "a", "b"])
    assert found.rows.tolist() == [0, 1, 2]
    assert rows_per_contributor(found).tolist() == [1, 2]
