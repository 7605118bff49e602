"""From what careful people of a crowd would say to the truth: errors that a crowd makes together.

No agreement among people, and no model of them, can tell an error that all of them make. Known labels can:
the rate is learned from items whose truth is known, where what the crowd would say is clear. With nothing
known it is a share of what single people get wrong on items with several labels, and wide: where everything
has one label nothing tells single errors from those of all, and single ones are the usual.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Floats

# Of what single people get wrong, a crowd gets this share wrong together; known as if so many items had told.
TOGETHER, ITEMS = 1 / 3, 10.0
# What the crowd would say is clear above this probability.
CLEAR = 0.9


class Collective(NamedTuple):
    """Beta distribution of the rate at which a crowd errs together."""

    wrong: float
    right: float

    @property
    def mean(self) -> float:
        """Expected rate."""
        return self.wrong / (self.wrong + self.right)

    def quadrature(self, points: int = 9) -> tuple[Floats, Floats]:
        """Rates in the middle of parts of equal probability, and their weights."""
        levels = (np.arange(points) + 0.5) / points
        return np.asarray(special.betaincinv(self.wrong, self.right, levels)), np.full(points, 1 / points)

    def truth(self, said: Floats) -> Floats:
        """Probability of every class, from that of what careful people would say (n, C)."""
        classes = said.shape[1]
        g = self.mean if classes > 1 else 0.0
        return np.asarray(said * (1 - g) + (1 - said) * g / max(classes - 1, 1))


def known_errors(said: Floats, truth: np.ndarray) -> Floats:
    """Known items of which the crowd is clear: how many more than it expects it gets wrong, of how many.

    `said` is the probability of what careful people would say, the `truth` left aside (items, C).
    """
    most = said.max(axis=1, initial=0.0)
    clear = most > CLEAR
    # Doubt that is there already is no error of all: who asks about doubtful items first finds more of it.
    wrong = (said[clear].argmax(axis=1) != truth[clear]).sum() - (1 - most[clear]).sum()
    return np.array([wrong, clear.sum()], dtype=np.float64)


def collective_error(single: float, known: Floats) -> Collective:
    """The rate, from the share of labels that are not what careful people would say, and `known_errors`."""
    mean = float(np.clip(TOGETHER * single, 1e-3, 0.5))
    wrong, clear = max(float(known[0]), 0.0), float(known[1])
    return Collective(ITEMS * mean + wrong, ITEMS * (1 - mean) + clear - wrong)
