"""The five verdicts on contributors."""

RELIABLE, LESS_RELIABLE = "reliable", "less reliable"
GUESSING, CONTRADICTS = "no better than guessing", "contradicts the others"
INCONCLUSIVE = "inconclusive"
VERDICTS = (RELIABLE, LESS_RELIABLE, GUESSING, CONTRADICTS, INCONCLUSIVE)
FLAGGED = (GUESSING, CONTRADICTS)
# Contributors to review first.
SEVERITY_ORDER = {GUESSING: 0, CONTRADICTS: 0, LESS_RELIABLE: 1, INCONCLUSIVE: 2, RELIABLE: 3}
