"""Contributors by their true accuracy, and the verdicts on those who are fine and those who are bad."""

from typing import NamedTuple

import numpy as np

from anml.annotators.words import FLAGGED, LESS_RELIABLE, RELIABLE
from anml.core.checks import Bools, Floats
from anml.core.stats import beta_interval
from experiments.crowds_table.audited import AuditEstimates
from experiments.crowds_table.read import Crowd

# Contributors with fewer labels on items with a true label are not judged.
MIN_LABELS = 20
BAD_KAPPA = 0.15


class TrueAccuracy(NamedTuple):
    """The judged contributors (of all), and for each of these accuracy, kappa and group.

    `fine`: the 95% interval of kappa lies above half of the median kappa of the crowd. `bad`: kappa is below
    BAD_KAPPA and the contributor is not fine. `surely_bad`: the interval lies below BAD_KAPPA as well.
    """

    judged: Bools
    accuracy: Floats
    kappa: Floats
    fine: Bools
    bad: Bools
    surely_bad: Bools


def true_accuracy(crowd: Crowd) -> TrueAccuracy:
    """Compare labels with true labels; kappa is 0 for labels that are independent of the item."""
    n, classes = crowd.n_contributors, len(crowd.classes)
    rows = crowd.known[crowd.item]
    contributors, label, truth = crowd.contributor[rows], crowd.label[rows], crowd.truth[crowd.item[rows]]
    count = np.bincount(contributors, minlength=n).astype(np.float64)
    right = np.bincount(contributors[label == truth], minlength=n).astype(np.float64)
    given = np.zeros((n, classes))
    np.add.at(given, (contributors, label), 1.0)
    share = np.bincount(crowd.truth[crowd.known], minlength=classes)[:classes] / crowd.known.sum()
    judged = count >= MIN_LABELS
    count, right, chance = count[judged], right[judged], (given @ share)[judged] / count[judged]
    kappa = _kappa(right / count, chance)
    low, high = (_kappa(end, chance) for end in beta_interval(right + 1, count - right + 1))
    fine = low > np.median(kappa) / 2 if len(kappa) else np.zeros(0, dtype=bool)
    bad = (kappa < BAD_KAPPA) & ~fine
    return TrueAccuracy(judged, right / count, kappa, fine, bad, bad & (high < BAD_KAPPA))


def _kappa(accuracy: Floats, chance: Floats) -> Floats:
    return np.asarray((accuracy - chance) / np.maximum(1 - chance, 1e-12))


def verdict_counts(result: AuditEstimates, truth: TrueAccuracy) -> dict[str, int]:
    """Count the verdicts on fine and on bad contributors."""
    verdict = result.verdict[truth.judged]
    flagged, reliable = np.isin(verdict, FLAGGED), verdict == RELIABLE
    counts = {"judged": len(verdict), "fine": truth.fine.sum(), "fine_flagged": (truth.fine & flagged).sum()}
    counts["fine_reliable"] = (truth.fine & reliable).sum()
    for name, group in (("bad", truth.bad), ("surely_bad", truth.surely_bad)):
        counts[name] = group.sum()
        counts[f"{name}_found"] = (group & (flagged | (verdict == LESS_RELIABLE))).sum()
        counts[f"{name}_reliable"] = (group & reliable).sum()
    return {name: int(count) for name, count in counts.items()}


def accuracy_measures(result: AuditEstimates, truth: TrueAccuracy) -> dict[str, float | None]:
    """Correlation of estimated and true accuracy, and the share of 95% intervals with the true accuracy."""
    estimated, low, high = (part[truth.judged] for part in (result.accuracy, result.low, result.high))
    varies = len(estimated) > 2 and np.ptp(estimated) > 0 and np.ptp(truth.accuracy) > 0
    within = (truth.accuracy >= low) & (truth.accuracy <= high)
    return {
        "correlation": float(np.corrcoef(estimated, truth.accuracy)[0, 1]) if varies else None,
        "coverage": float(within.mean()) if len(within) else None,
    }
