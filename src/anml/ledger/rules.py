"""All rules by kind of entry: each says whether an entry may come next, and what money it moves."""

from anml.ledger.rules_disputes import DISPUTE_RULES
from anml.ledger.rules_money import MONEY_RULES
from anml.ledger.rules_payouts import PAYOUT_RULES
from anml.ledger.rules_people import PEOPLE_RULES
from anml.ledger.rules_staff import STAFF_RULES
from anml.ledger.state import Rule

RULES: dict[str, Rule] = {**STAFF_RULES, **PEOPLE_RULES, **MONEY_RULES, **DISPUTE_RULES, **PAYOUT_RULES}
