"""Rows whose label is known: how far p_correct can be taken at its word, and what was kept of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.calibration import Reliability, ranking, reliability
from anml.core.checks import Bools, Floats
from anml.core.words import counted
from anml.intake.known import Gold


@dataclass(frozen=True, eq=False)
class GoldCheck:
    """What rows with a known label ("marks" of right ones, or "labels") say about p_correct of a run.

    `of` is what a row is called, and `p` what is held against it.
    """

    kind: str
    right: int
    wrong: int
    kept_right: float | None
    kept_wrong: float | None
    reliability: Reliability
    ranking: float | None
    of: str = "label"
    p: str = "p_correct"

    @property
    def rows(self) -> int:
        """How many labels are known."""
        return self.right + self.wrong

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        words = ("reliability", "of", "p")
        plain = {name: value for name, value in vars(self).items() if name not in words}
        return {**plain, "calibration": self.reliability.to_dict()}

    def sentence(self) -> str:
        """One sentence for the terminal and the report."""
        if not self.wrong:
            believed = float(np.nansum(self.reliability.believed * self.reliability.count) / self.rows)
            labels = counted(self.right, f"{self.of} is", f"{self.of}s are")
            return (
                f"{labels} known to be right: {self.p} is {believed:.0%} on average, "
                f"and {self.kept_right:.0%} kept."
            )
        gap = self.reliability.gap
        lean = f"{'too high' if gap > 0 else 'too low'} by {abs(gap):.0%} on average"
        kept = "" if self.kept_right is None else f"{self.kept_right:.0%} of the right ones and "
        return (
            f"Of {self.rows:,} {self.of}s that are known, {self.right:,} are right: {self.p} is off by "
            f"{self.reliability.error:.0%}, {lean}; {kept}{self.kept_wrong:.0%} of the wrong ones were kept."
        )


def check_gold(gold: Gold | None, p_correct: Floats, kept: Bools) -> GoldCheck | None:
    """Compare p_correct with what is known; None where nothing is."""
    if gold is None or not gold.known.any():
        return None
    right, p, was_kept = gold.right[gold.known], p_correct[gold.known], kept[gold.known]
    order = ranking(p, right)
    return GoldCheck(
        kind=gold.kind,
        right=int(right.sum()),
        wrong=int((~right).sum()),
        kept_right=_share(was_kept[right]),
        kept_wrong=_share(was_kept[~right]),
        reliability=reliability(p, right),
        ranking=None if np.isnan(order) else order,
    )


def _share(kept: Bools) -> float | None:
    return float(kept.mean()) if len(kept) else None
