"""The table of v: the paper's rows, in order, apart, and known to everything that names a level."""

from itertools import pairwise

import pytest

from anml.signals.levels import level_name, level_values
from anml.signals.policy import DEFAULT_LEVELS, LEVELS, Policy
from anml.signals.reputation import REPUTATION
from anml.signals.verification import VERIFICATION

TABLES = {"verification": VERIFICATION, "reputation": REPUTATION, "policy": LEVELS}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
class TestEveryTable:
    def test_defaults_lie_in_their_ranges(self, table):
        for level in table.values():
            assert 0 < level.low <= level.default <= level.high < 1

    def test_every_level_reads_by_its_name_however_it_is_written(self, table):
        for name, level in table.items():
            for written in (name, name.upper(), f" {name.replace('-', ' ')} ", name.replace("-", "_")):
                assert level_name(written) == name
                assert level_values("x", [written], table).tolist() == [level.default]

    def test_every_level_says_what_it_means(self, table):
        assert all(level.meaning for level in table.values())
        assert len({level.meaning for level in table.values()}) == len(table)


@pytest.mark.parametrize("table", [VERIFICATION, REPUTATION], ids=["verification", "reputation"])
def test_levels_come_in_order_and_do_not_overlap(table):
    for lower, higher in pairwise(table.values()):
        assert lower.high <= higher.low
        assert lower.default < higher.default


def test_a_flag_is_worth_less_than_ones_own_word():
    assert VERIFICATION["flagged"].high < VERIFICATION["self-attested"].low


def test_the_policy_adds_review_between_institution_and_publication():
    assert set(LEVELS) - set(VERIFICATION) == {"reviewed"}
    assert LEVELS["institution"].high <= LEVELS["reviewed"].low
    assert LEVELS["reviewed"].high <= LEVELS["peer-reviewed"].low


def test_every_kind_of_evidence_shows_a_level_of_the_table():
    assert {level for level in DEFAULT_LEVELS.values() if level} <= set(LEVELS)
    assert set(Policy().levels) == set(LEVELS)
