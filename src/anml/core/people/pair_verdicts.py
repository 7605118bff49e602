"""Five words for people who compare: an accusation needs a false discovery rate, its own odds, and rows."""

import numpy as np

from anml.core.people.pair_people import Judges
from anml.core.people.verdicts import (
    CONTRADICTS,
    ENOUGH_ROWS,
    GUESSING,
    LESS,
    PROBABLY,
    RELIABLE,
    UNSURE,
    discovered,
)

# How common tastes of one's own may be before whoever chooses the worse has one of many.
MANY_TASTES = 0.1


def verdicts(people: Judges) -> tuple[list[str], float]:
    """A word for everybody, and how many of the accusations are expected to be false."""
    reversed_ = people.reversed * (people.taste.mean() <= MANY_TASTES)
    worst = (people.guess + reversed_) * (people.rows >= ENOUGH_ROWS)
    accused = discovered(worst)
    trusted = (people.sceptic >= PROBABLY) & (people.better >= PROBABLY)
    word = np.where(trusted, np.where(people.half >= PROBABLY, RELIABLE, LESS), UNSURE)
    word = np.where(accused, np.where(people.guess >= reversed_, GUESSING, CONTRADICTS), word)
    return word.tolist(), float((1 - worst)[accused].sum())
