"""The door: what is let in unchanged, what is turned away, and in which words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from anml.core.checks import as_ages, as_codes, as_integer, as_unit_interval, as_vector, in_range, one_of
from anml.core.errors import InputError, UnknownNameError

finite = st.floats(-1e9, 1e9)
VECTORS = (as_vector, as_unit_interval, as_ages)


@pytest.mark.parametrize("check", VECTORS)
class TestEveryVector:
    @given(hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1)))
    def test_good_values_pass_unchanged(self, check, values):
        for given_ in (values, values.tolist(), tuple(values)):
            np.testing.assert_array_equal(check("x", given_), values)

    def test_one_number_stands_for_all(self, check):
        np.testing.assert_array_equal(check("x", 0.5, 3), [0.5, 0.5, 0.5])
        np.testing.assert_array_equal(check("x", True, 2), [1.0, 1.0])

    @pytest.mark.parametrize(
        ("values", "n", "says"),
        [
            (["a", "b"], None, r"x must be numbers, got \['a', 'b'\]"),
            ({"a": 1}, None, "x must be numbers"),
            (0.5, None, r"one value per sample, got an array of shape \(\)"),
            ([[0.1], [0.2]], 2, r"shape \(2, 1\)"),
            ([0.1, 0.2], 3, "x has 2 values for 3 samples"),
            ([], None, "x is empty; at least one sample is needed"),
            ([0.1, np.nan, np.inf], None, "2 missing or infinite values, the first at position 1"),
            ([None, 0.1], None, "1 missing or infinite values, the first at position 0"),
        ],
    )
    def test_bad_values_are_named(self, check, values, n, says):
        with pytest.raises(InputError, match=says):
            check("x", values, n)

    def test_long_values_are_cut_short_in_what_is_said(self, check):
        with pytest.raises(InputError) as raised:
            check("x", ["word"] * 1000)
        assert len(str(raised.value)) < 100
        assert str(raised.value).endswith("...")


class TestUnit:
    @given(hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(-2, 2)))
    def test_exactly_what_lies_in_the_unit_interval_passes(self, values):
        outside = (values < 0) | (values > 1)
        if not outside.any():
            np.testing.assert_array_equal(as_unit_interval("q", values), values)
            return
        where = int(np.flatnonzero(outside)[0])
        with pytest.raises(InputError, match=rf"at position {where} \({outside.sum()} values outside\)"):
            as_unit_interval("q", values)

    def test_the_ends_belong_to_it(self):
        np.testing.assert_array_equal(as_unit_interval("q", [0.0, 1.0]), [0.0, 1.0])

    def test_the_value_is_shown(self):
        with pytest.raises(InputError, match=r"q must lie in \[0, 1\], got -0.25 at position 2"):
            as_unit_interval("q", [0.0, 1.0, -0.25])


class TestAges:
    def test_the_youngest_is_shown(self):
        with pytest.raises(InputError, match="age must not be negative, got -3"):
            as_ages("age", [-1.0, -3.0, 2.0])

    def test_any_age_is_allowed(self):
        np.testing.assert_array_equal(as_ages("age", [0.0, 1e12]), [0.0, 1e12])


class TestInRange:
    @given(finite, finite, finite, st.booleans(), st.booleans())
    def test_passes_exactly_what_the_interval_holds(self, value, one, other, open_low, open_high):
        low, high = min(one, other), max(one, other)
        inside = (low < value if open_low else low <= value) and (
            value < high if open_high else value <= high
        )
        if inside:
            assert in_range("x", value, low, high, open_low=open_low, open_high=open_high) == value
        else:
            with pytest.raises(InputError, match="x must lie in"):
                in_range("x", value, low, high, open_low=open_low, open_high=open_high)

    @pytest.mark.parametrize(
        ("options", "interval"),
        [
            ({}, r"\[0, 1\]"),
            ({"open_low": True}, r"\(0, 1\]"),
            ({"open_high": True}, r"\[0, 1\)"),
            ({"open_low": True, "open_high": True}, r"\(0, 1\)"),
        ],
    )
    def test_says_which_ends_belong(self, options, interval):
        with pytest.raises(InputError, match=rf"^x must lie in {interval}, got 2$"):
            in_range("x", 2, 0, 1, **options)

    @pytest.mark.parametrize("value", [True, "0.5", None, [0.5], 1j])
    def test_what_is_no_number_is_not_taken_for_one(self, value):
        with pytest.raises(InputError, match="x must be a number, got"):
            in_range("x", value, 0, 1)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_infinity_and_nan_never_pass(self, value):
        with pytest.raises(InputError, match="x must lie in"):
            in_range("x", value, -np.inf, np.inf)

    @pytest.mark.parametrize("value", [np.float32(0.5), np.int64(1), 0.5, 1])
    def test_numbers_of_numpy_are_numbers(self, value):
        assert in_range("x", value, 0, 1) == value


class TestWhole:
    @given(st.integers())
    def test_whole_numbers_pass(self, value):
        assert as_integer("seed", value) == value

    def test_numpys_become_pythons(self):
        assert type(as_integer("seed", np.int32(4))) is int

    @pytest.mark.parametrize("value", [True, 3.0, "3", None, np.float64(2), np.bool_(True)])
    def test_nothing_else_does(self, value):
        with pytest.raises(InputError, match="seed must be a whole number, got"):
            as_integer("seed", value)


def test_one_of_names_what_is_allowed():
    assert one_of("way", "up", ("up", "down")) == "up"
    with pytest.raises(
        UnknownNameError, match=r"unknown way 'upp' \(did you mean 'up'\?\); allowed: up, down"
    ):
        one_of("way", "upp", ("up", "down"))


class TestCodes:
    @given(st.lists(st.sampled_from(["ann", "bob", "", "Ann", "z"]), min_size=1, max_size=30))
    def test_names_and_codes_give_back_the_values(self, values):
        codes, names = as_codes("contributor", values, len(values))
        assert [names[code] for code in codes] == values
        assert names == sorted(set(values))

    @given(st.lists(st.sampled_from(["ann", "bob", "cat"]), min_size=1, max_size=20), st.randoms())
    def test_a_name_has_one_code_whatever_the_order(self, values, random):
        shuffled = random.sample(values, len(values))
        one, two = as_codes("c", values, len(values)), as_codes("c", shuffled, len(values))
        assert one[1] == two[1]
        assert sorted(one[0].tolist()) == sorted(two[0].tolist())

    def test_numbers_are_names_too(self):
        codes, names = as_codes("c", [10, 9, 10], 3)
        assert (codes.tolist(), names) == ([0, 1, 0], ["10", "9"])
        assert codes.dtype == np.int64

    @pytest.mark.parametrize(
        ("values", "says"),
        [
            (["a", "b"], r"one identifier per sample: 3 expected, got shape \(2,\)"),
            ([["a"], ["b"], ["c"]], r"got shape \(3, 1\)"),
            (np.array(["a", None, None], dtype=object), "missing in 2 rows, the first at position 1"),
            ([1.0, 2.0, np.nan], "missing in 1 rows, the first at position 2"),
        ],
    )
    def test_bad_identifiers_are_named(self, values, says):
        with pytest.raises(InputError, match=says):
            as_codes("contributor", values, 3)
