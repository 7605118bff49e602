"""Names of scenarios, rules and measures; loads nothing heavy."""

SCENARIOS = ("honest", "newcomers", "turncoats", "whitewashers", "sybils", "drift")
RULES = ("uniform", "as given", "internal", "external", "ledger", "ledger, no floor", "Kang")
ROUNDS = 40
# Rounds whose mean r is kept in the rows, for figures.
SHOWN = tuple(range(0, ROUNDS, 2))
GROUPS = ("good", "changed")
SERIES = tuple(f"r_{group}_{at}" for group in GROUPS for at in SHOWN)
MEASURES = (
    "error", "harm", "off", "found", "honest_low", "start", "paid_bad", *SERIES,
)  # fmt: skip
