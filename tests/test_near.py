"""Words to the letter, figures within a tolerance."""

import pytest

from near import alike, near, says

PRINTED = "Who: dan takes “bad” for “good” (46 rows,\n  about 40 wrong). Error: 17.3% → 12.0%."


@pytest.mark.parametrize(
    "line",
    [
        "dan takes “bad” for “good” (46 rows, about 41 wrong)",
        "about 50 wrong",
        "17.9% → 11.1%.",
        "Who: dan",
    ],
)
def test_words_are_the_same_and_figures_near(line):
    assert says(PRINTED, line)


@pytest.mark.parametrize(
    "line",
    [
        "dan takes “good” for “bad” (46 rows, about 40 wrong)",
        "about 70 wrong",
        "17.3% → 27.0%.",
        "46 rows, 40 wrong",
        "eve",
    ],
)
def test_other_words_and_far_figures_are_found_out(line):
    assert not says(PRINTED, line)


def test_thousands_and_every_place_where_the_words_stand():
    assert says("1 of 10 rows; 1,010 of 2,000 rows", "1,000 of 1,999 rows")
    assert not says("1 of 10 rows; 10 of 2,000 rows", "1,000 of 1,999 rows")


def test_the_tolerance_is_a_share_or_units():
    assert near(100, 126)
    assert not near(100, 140)
    assert near(1, 3)
    assert not near(1, 3, units=0.5)
    assert not near(0.02, 0.5, units=0.1)


MADE = {"name": "main", "ours": 0.123456, "low": None, "said": ["difference -5.928 [-6.769, 12]"], "rows": 3}


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"ours": 0.123457}, True),
        ({"said": ["difference -5.929 [-6.769, 12]"]}, True),
        ({"ours": 0.2}, False),
        ({"ours": None}, False),
        ({"low": 0.0}, False),
        ({"rows": 4}, False),
        ({"said": ["difference 5.928 [-6.769, 12]"]}, False),
        ({"said": []}, False),
        ({"more": 1}, False),
    ],
)
def test_values_of_json_may_differ_in_the_last_figures_alone(changed, same):
    assert alike(MADE, MADE | changed) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5 < 5, difference -8.9e-16 [-1, 1]", "5 = 5, difference 0 [-1, 1]", True),
        ("5 < 5, difference -8.9e-16", "5 > 5, difference 4.4e-15", True),
        ("5 < 5.1, difference -0.1 [-1, 1]", "5 = 5.1, difference 0 [-1, 1]", False),
        ("5 < 5.1, difference -0.1 [-1, 1]", "5 > 5.1, difference -0.1 [-1, 1]", False),
    ],
)
def test_which_of_two_equal_figures_is_larger_is_no_finding(one, other, same):
    assert alike(one, other) is same
