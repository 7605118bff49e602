"""Calibration of p_correct: of labels with p_correct 0.8, eight in ten should be correct."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Floats, Ints, as_booleans, as_integer, as_unit_interval
from anml.core.errors import InputError
from anml.core.stats import wilson

BINS = 10


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Bins of p_correct of equal width: labels, mean p_correct and accuracy of each; NaN where empty."""

    count: Ints
    mean_p: Floats
    right: Floats

    def _mean(self, gaps: Floats) -> float:
        part = self.count > 0
        return float(np.average(gaps[part], weights=self.count[part])) if part.any() else float("nan")

    @property
    def error(self) -> float:
        """Expected calibration error: the gap between belief and truth, averaged over labels."""
        return self._mean(np.abs(self.mean_p - self.right))

    @property
    def gap(self) -> float:
        """Mean belief minus the share that is right: above zero is too trusting."""
        return self._mean(self.mean_p - self.right)

    def interval(self) -> tuple[Floats, Floats]:
        """95% interval of the share that is right, bin by bin."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return wilson(self.right, self.count)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: without empty bins."""
        low, high = self.interval()
        columns = {
            "p_correct": self.mean_p, "accuracy": self.right, "accuracy_low": low, "accuracy_high": high,
        }  # fmt: skip
        bins = [
            {"rows": int(self.count[at])}
            | {name: round(float(each[at]), 6) for name, each in columns.items()}
            for at in np.flatnonzero(self.count)
        ]
        return {
            "rows": int(self.count.sum()), "expected_calibration_error": self.error,
            "overconfidence": self.gap, "bins": bins,
        }  # fmt: skip


def calibration_curve(belief: Any, right: Any, bins: int = BINS) -> CalibrationCurve:
    """Compare probabilities in [0, 1] with test labels."""
    p, truth = as_unit_interval("belief", belief), as_booleans("right", right)
    if len(p) != len(truth):
        raise InputError(f"right must be one True or False per belief: {len(p)} expected, got {len(truth)}")
    as_integer("bins", bins, 1)
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean_p = np.bincount(place, p, bins) / count
        share = np.bincount(place, truth, bins) / count
    return CalibrationCurve(count, mean_p, share)


def auroc(belief: Any, right: Any) -> float:
    """Return the probability that a correct label has a higher p_correct than a wrong one (AUROC)."""
    p, truth = as_unit_interval("belief", belief), as_booleans("right", right)
    good, bad = int(truth.sum()), int((~truth).sum())
    if not good or not bad:
        return float("nan")
    from scipy import stats  # slow to load, and only needed here

    ranks = stats.rankdata(p)
    return float((ranks[truth].sum() - good * (good + 1) / 2) / (good * bad))
