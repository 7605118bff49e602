"""Names of scenarios, ways to set T, and measures; loads nothing heavy."""

# Whose clock rules, and how many works have a record of reuse.
CLOCKS = ("source", "destination", "both", "same")
WORKS = {"many": 2_000, "some": 200, "few": 20}
SCENARIOS = tuple(f"{clock}-{works}" for clock in CLOCKS for works in WORKS)
WAYS = ("none", "of the source", "of the destination", "by type", "learned", "true")
MEASURES = ("error", "harm", "off")
