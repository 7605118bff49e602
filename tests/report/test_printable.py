"""Names as they can be shown: cut to a width, nothing in them that does not print or turns a line round."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from anml.report.printable import sanitise, truncate


@given(st.text(max_size=30), st.integers(1, 20))
def test_a_name_is_never_wider_than_it_may_be(name, width):
    assert cell_len(truncate(name, width)) <= width


@given(st.text(max_size=30))
def test_what_is_short_enough_is_only_made_printable(name):
    assert truncate(name, 100) == sanitise(name)


@given(st.text(max_size=30))
def test_nothing_is_left_that_breaks_a_line_or_turns_it(name):
    for letter in sanitise(name):
        assert unicodedata.category(letter) not in {"Cc", "Cs", "Zl", "Zp"}
        assert unicodedata.bidirectional(letter) not in {
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        }


@given(st.text(max_size=30))
def test_once_printable_is_printable(name):
    assert sanitise(sanitise(name)) == sanitise(name)


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [("abcdef", 4, "abc…"), ("漢字漢字", 5, "漢字…"), ("漢字漢字", 4, "漢…"), ("ab\x1b[31m", 10, "ab [31m")],
)
def test_by_hand(name, width, shown):
    assert truncate(name, width) == shown
