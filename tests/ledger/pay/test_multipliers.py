"""External values as integer multipliers: proportions kept, bad tables refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.ledger.pay.multipliers import read_multipliers
from anml.settlement.allocate import UNIT


def table(tmp_path, text: str):
    path = tmp_path / "values.csv"
    path.write_text(text)
    return path


def test_by_hand(tmp_path):
    """The largest is one, a quarter of it a quarter, and what is below zero counts as nothing."""
    path = table(tmp_path, "contributor,value\nann,8\nben,2\ncat,-3\n")
    assert read_multipliers(path) == {"ann": UNIT, "ben": UNIT // 4, "cat": 0}


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=5), st.floats(0.01, 100))
def test_the_unit_of_the_values_does_not_matter(tmp_path_factory, values, unit):
    folder = tmp_path_factory.mktemp("m")
    rows = [f"c{place},{value!r}" for place, value in enumerate(values)]
    scaled = [f"c{place},{value * unit!r}" for place, value in enumerate(values)]
    one = read_multipliers(table(folder, "contributor,value\n" + "\n".join(rows)))
    two = read_multipliers(table(folder, "contributor,value\n" + "\n".join(scaled)))
    assert max(one.values()) == UNIT
    assert all(abs(one[name] - two[name]) <= 2 for name in one)


def test_names_that_look_like_numbers_stay_names(tmp_path):
    assert set(read_multipliers(table(tmp_path, "contributor,value\n12,1\n7,1\n"))) == {"12", "7"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contributor\nann\n", "has no column 'value'; it needs contributor, value"),
        ("who,value\nann,1\n", "has no column 'contributor'; it needs contributor, value"),
        ("contributor,value\nann,much\n", "has values that are not numbers"),
        ("contributor,value\nann,\n", "has values that are not numbers"),
        ("contributor,value\nann,inf\n", "has values that are not numbers"),
        ("contributor,value\nann,nan\n", "has values that are not numbers"),
        ("contributor,value\n,1\n", "has a value that belongs to no contributor"),
        ("contributor,value\nann,1\nann,2\n", "names a contributor twice"),
        ("contributor,value\nann,0\nben,-1\n", "has no value above zero; nobody could be paid"),
    ],
)
def test_tables_that_are_refused_by_name(tmp_path, text, said):
    with pytest.raises(InputError, match=f"^values.csv {said}"):
        read_multipliers(table(tmp_path, text))
