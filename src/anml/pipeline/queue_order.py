"""Order of the review queue: by expected gain, alternating between contributors."""

import numpy as np

from anml.core.checks import Floats, Ints
from anml.signals.reputation import prior_counts

# Each further item of a contributor has its gain reduced by 2%.
REPEAT_DISCOUNT = 0.98


def order_by_gain(gain: Floats, person: Ints) -> Ints:
    """Order positions by expected gain, discounted for each further item of a contributor; ties are stable.

    The gain is the probability that the present label of the item is wrong.
    """
    return np.argsort(-gain * REPEAT_DISCOUNT ** prior_counts(person, -gain), kind="stable")
