"""All rules together: one for each kind, from one file each."""

import pytest

from anml.ledger.kinds import ENTRY_KINDS
from anml.ledger.rules import AFTER_RULES, RULES
from anml.ledger.rules_money import MONEY_RULES
from anml.ledger.rules_people import PEOPLE_RULES
from anml.ledger.rules_staff import STAFF_RULES

FILES = (STAFF_RULES, PEOPLE_RULES, MONEY_RULES, AFTER_RULES)


def test_no_kind_has_two_rules():
    """A second rule for a kind would silently replace the first where the tables are joined."""
    assert sum(len(table) for table in FILES) == len(RULES) == len(ENTRY_KINDS)


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_the_rule_of_a_kind_is_the_one_of_its_file(kind):
    (own,) = [table[kind] for table in FILES if kind in table]
    assert RULES[kind] is own
