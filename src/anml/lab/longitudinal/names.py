"""Names of scenarios, rules and measures; loads nothing heavy."""

SCENARIOS = ("honest", "newcomers", "turncoats", "whitewashers", "sybils", "drift")
RULES = (
    "uniform", "as given", "internal", "external", "ledger", "ledger, no floor", "ledger, faster", "Kang",
)  # fmt: skip
ROUNDS = 40
MEASURES = ("error", "harm", "off", "found", "honest_low", "start", "paid_bad")
