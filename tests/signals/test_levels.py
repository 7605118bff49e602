"""Named levels of a signal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError, UnknownNameError
from anml.signals.levels import Level, level_values
from anml.signals.reputation import REPUTATION
from anml.signals.verification import VERIFICATION


class TestLevels:
    def test_defaults_lie_in_the_papers_ranges(self):
        for table in (VERIFICATION, REPUTATION):
            for level in table.values():
                assert level.low <= level.default <= level.high

    def test_the_papers_tables(self):
        assert VERIFICATION["peer-reviewed"][:2] == (0.80, 0.90)
        assert VERIFICATION["institution"][:2] == (0.60, 0.70)
        assert VERIFICATION["self-attested"][:2] == (0.20, 0.30)
        assert VERIFICATION["reproduced"][:2] == (0.90, 0.95)
        assert VERIFICATION["flagged"][:2] == (0.05, 0.10)
        assert REPUTATION["new"][:2] == (0.30, 0.50)
        assert REPUTATION["established"][:2] == (0.70, 0.90)
        assert REPUTATION["top"][:2] == (0.90, 0.95)
        assert REPUTATION["poor"][:2] == (0.10, 0.30)

    def test_names_and_numbers_mix(self):
        result = level_values("verification", ["Peer Reviewed", 0.5, "0.1", "FLAGGED", 1], VERIFICATION)
        np.testing.assert_allclose(result, [0.85, 0.5, 0.1, 0.07, 1.0])

    def test_unknown_name_lists_the_allowed_ones(self):
        with pytest.raises(
            UnknownNameError, match=r"peer-reviewd.*did you mean 'peer-reviewed'.*allowed: flagged"
        ):
            level_values("verification", ["peer-reviewd"], VERIFICATION)

    @pytest.mark.parametrize("value", [1.5, -0.1, "2"])
    def test_numbers_outside_are_refused(self, value):
        with pytest.raises(InputError, match=r"lie in \[0, 1\]"):
            level_values("verification", [value], VERIFICATION)

    def test_missing_needs_a_stand_in(self):
        with pytest.raises(InputError, match="missing at position 1"):
            level_values("verification", [0.5, None], VERIFICATION)
        np.testing.assert_allclose(level_values("verification", [0.5, None], VERIFICATION, 0.25), [0.5, 0.25])


table_ = {"low": Level(0.1, 0.3, 0.2, "a little"), "very-high": Level(0.8, 1.0, 0.9, "much")}


@given(st.lists(st.floats(0, 1), max_size=20))
def test_numbers_pass_as_they_are_and_as_text(values):
    np.testing.assert_array_equal(level_values("v", values, table_), values)
    np.testing.assert_array_equal(level_values("v", [repr(x) for x in values], table_), values)


@given(st.lists(st.sampled_from(["low", "very-high", 0.5, None, "", float("nan")]), max_size=20))
def test_each_value_is_read_by_itself(values):
    """A table of many rows gives what its rows give one by one."""
    alone = [level_values("v", [value], table_, 0.4)[0] for value in values]
    np.testing.assert_array_equal(level_values("v", values, table_, 0.4), alone)


@pytest.mark.parametrize("missing", [None, "", float("nan")])
def test_everything_that_is_missing_gets_the_stand_in(missing):
    assert level_values("v", [missing], table_, 0.25).tolist() == [0.25]
    with pytest.raises(InputError, match="v is missing at position 0"):
        level_values("v", [missing], table_)


def test_the_position_of_the_first_bad_value_is_named():
    with pytest.raises(InputError, match="got 3 at position 2"):
        level_values("v", ["low", 0.5, 3], table_)
