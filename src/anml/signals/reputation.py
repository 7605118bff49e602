"""r: the contributor's track record. The paper's table as named levels, and its floor for newcomers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Bools, Floats, as_integer, as_unit_interval, as_vector, in_range
from anml.signals.levels import Level

REPUTATION: dict[str, Level] = {
    "poor": Level(0.10, 0.30, 0.20, "history of low-quality contributions"),
    "new": Level(0.30, 0.50, 0.40, "new contributor, cold start"),
    "established": Level(0.70, 0.90, 0.80, "established, good track record"),
    "top": Level(0.90, 0.95, 0.92, "top contributor in the domain"),
}


@dataclass(frozen=True)
class ColdStart:
    """Floor on r for a contributor's first `contributions`, 0 for none: the paper's exploration bonus."""

    r_min: float = 0.4
    contributions: int = 10

    def __post_init__(self) -> None:
        in_range("r_min", self.r_min, 0, 1)
        as_integer("contributions", self.contributions, 0)

    def apply(self, r: Any, prior: Any, flagged: Bools | None = None) -> Floats:
        """Raise r to the floor where fewer than `contributions` came before; never for who is flagged."""
        r = as_unit_interval("r", r)
        floored = as_vector("prior contributions", prior, len(r)) < self.contributions
        if flagged is not None:
            floored &= ~flagged
        return np.asarray(np.where(floored, np.maximum(r, self.r_min), r))


def prior_counts(
    contributor_codes: np.ndarray[Any, Any], order: np.ndarray[Any, Any] | None = None
) -> Floats:
    """Count, for each sample, the contributions its contributor made before it.

    `order` gives the times or positions that define "before"; rows come as they are without it.
    """
    n = len(contributor_codes)
    sequence = np.lexsort((np.arange(n) if order is None else order, contributor_codes))
    ordered = contributor_codes[sequence]
    prior = np.empty(n)
    prior[sequence] = np.arange(n) - np.searchsorted(ordered, ordered)
    return prior
