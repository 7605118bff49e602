"""In which order to ask for answers: most to gain first, and not one person's labels in a row."""

import numpy as np

from anml.core.checks import Floats, Ints
from anml.signals.reputation import prior_counts

# Each further label of one person counts so much less in the order: the first answers tell of the rest too.
REPEAT_DISCOUNT = 0.98


def order_by_gain(gain: Floats, person: Ints) -> Ints:
    """Positions by what an answer is expected to gain, the most first; ties stay as they came.

    The gain is the probability that the label which an item has now is wrong; `person` is whose that is.
    """
    return np.argsort(-gain * REPEAT_DISCOUNT ** prior_counts(person, -gain), kind="stable")
