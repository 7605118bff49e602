"""The five words for what a contributor's labels are worth."""

RELIABLE, LESS = "reliable", "less reliable"
GUESSING, CONTRADICTS = "no better than guessing", "contradicts the others"
UNSURE = "cannot tell"
VERDICTS = (RELIABLE, LESS, GUESSING, CONTRADICTS, UNSURE)
ACCUSED = (GUESSING, CONTRADICTS)
# Whom to look at first.
CONCERN = {GUESSING: 0, CONTRADICTS: 0, LESS: 1, UNSURE: 2, RELIABLE: 3}
# What runs and ledgers said before there were five words.
FORMER = {"trusted": RELIABLE, "answers without looking": GUESSING}
