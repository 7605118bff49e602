"""Names of replays, orders, and measures; loads nothing heavy."""

SETS = ("music", "dogs")
# What an answer is: the right label, or one more label of the crowd.
SCENARIOS = tuple(f"{name}-{answer}" for name in SETS for answer in ("truth", "crowd"))
ORDERS = ("anml", "random", "activelab")
MEASURES = ("answers", "half", "area", "end")
