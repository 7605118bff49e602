"""Spellings of one value, by hand, and laws of the folded form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.io.spellings import (
    bare,
    flag_spellings,
    fold,
    groups,
    is_natural_case,
    missing_answers,
    near_spellings,
    normalise,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  cat\u200b ", "cat"),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),
        ("11.0", "11"),
        ("-3.00", "-3"),
        ("1.50", "1.50"),
        ("a  b", "a b"),
    ],
)
def test_normalised_text(text, expected):
    assert normalise(text) == expected


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    once = normalise(normalise(text))
    assert normalise(once) == once


@given(st.text(alphabet="abcXYZ -_.", max_size=12))
def test_case_does_not_matter_to_the_folded_form(text):
    assert fold(text) == fold(text.upper()) == fold(text.lower())


def test_separators_and_a_final_stop_do_not_matter():
    assert fold("Not_Spam.") == fold("not-spam") == fold("NOT SPAM") == "not spam"
    assert bare("Don't know!") == "dont know"


def test_answers_without_a_label_need_two_classes_beside_them():
    assert missing_answers(["cat", "dog", "skip", "N/A"]) == ["skip", "N/A"]
    assert missing_answers(["cat", "skip"]) == []
    assert missing_answers(["+", "-", "0", "1"]) == []


def test_groups_keep_values_with_one_key():
    assert groups({"Yes": 9, "yes": 2, "no": 5}, fold) == [["Yes", "yes"]]


def test_flags_take_the_most_frequent_system():
    assert flag_spellings({"yes": 50, "no": 40, "1": 3, "0": 2}) == {
        "yes": "yes",
        "no": "no",
        "1": "yes",
        "0": "no",
    }
    assert flag_spellings({"yes": 5, "no": 5}) == {}
    assert flag_spellings({"yes": 5, "no": 5, "maybe": 1}) == {}


def test_capitals_of_words_and_addresses_are_natural():
    assert all(is_natural_case(name) for name in ("Ann Lee", "ANN", "Ann@example.org"))
    assert not is_natural_case("aXb9Qz")


def test_a_rare_misspelling_is_near_and_numbered_names_are_not():
    assert near_spellings({"positive": 100, "postive": 2, "negative": 90}) == [["positive", "postive"]]
    assert near_spellings({"positive": 100, "postive": 60}) == []
    assert near_spellings({"worker 1": 100, "worker 2": 1}) == []
