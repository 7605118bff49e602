"""Rows of the table: every method on every crowd, scored with the true labels."""

import platform
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

from anml.core.calibration import calibration_curve
from anml.core.checks import Floats, Ints
from anml.core.errors import UnknownNameError
from experiments.crowds_table.audited import AuditEstimates, audit_crowd
from experiments.crowds_table.contributors import accuracy_measures, true_accuracy, verdict_counts
from experiments.crowds_table.peers import PEERS
from experiments.crowds_table.read import Crowd

OURS, OURS_ORDINAL = "anml", "anml, ordinal"
PACKAGES = {
    "anml": "attribution-native-ml",
    **{name: name for name in ("crowd-kit", "numpy", "scipy", "pandas")},
}
Z_95 = 1.96
T = TypeVar("T")


def measure_crowds(
    crowds: Sequence[Crowd], ordinal: Sequence[str], progress: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Return the rows of all crowds and the versions that made them; sets in `ordinal` have grades."""
    names = [crowd.name for crowd in crowds]
    for name in ordinal:
        if name not in names:
            raise UnknownNameError("set", name, names)
    _load_methods()
    sets = []
    for crowd in crowds:
        progress(f"{crowd.name}: {len(crowd.label):,} labels of {crowd.n_items:,} items")
        sets.append(measure_crowd(crowd, crowd.name in ordinal))
    return {"versions": _versions(), "sets": sets}


def measure_crowd(crowd: Crowd, ordinal: bool = False) -> dict[str, Any]:
    """Return the rows of one crowd: its size, its methods, comparisons and contributors."""
    scores, seconds = {}, {}
    for name, fit in PEERS.items():
        posterior, seconds[name] = _timed(partial(fit, crowd))
        scores[name] = item_scores(posterior, crowd.truth)
    people = {}
    truth = true_accuracy(crowd)
    for name in (OURS, OURS_ORDINAL) if ordinal else (OURS,):
        result, seconds[name] = _timed(partial(audit_crowd, crowd, ordinal=name == OURS_ORDINAL))
        scores[name] = item_scores(np.eye(len(crowd.classes))[result.consensus], crowd.truth)
        people[name] = {
            **verdict_counts(result, truth), **accuracy_measures(result, truth),
            "calibration": _calibration(result, crowd),
        }  # fmt: skip
    return {
        "name": crowd.name,
        "items": crowd.n_items,
        "known": int(crowd.known.sum()),
        "contributors": crowd.n_contributors,
        "labels": len(crowd.label),
        "classes": len(crowd.classes),
        "accuracy": {name: float(score.mean()) for name, score in scores.items()},
        "difference": {name: _differences(name, scores) for name in people},
        "contributor_rows": people,
        "seconds": {name: round(spent, 2) for name, spent in seconds.items()},
    }


def item_scores(posterior: Floats, truth: Ints) -> Floats:
    """Return the score of each item with a true label: 1 where it has the highest value, shared in a tie."""
    best = np.isclose(posterior, posterior.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    # A true label that no contributor gave cannot be found.
    share = np.column_stack([best / best.sum(axis=1, keepdims=True), np.zeros(len(best))])
    known = truth >= 0
    return np.asarray(share[known, np.minimum(truth, best.shape[1])[known]])


def _differences(name: str, scores: dict[str, Floats]) -> dict[str, list[float]]:
    """Return the difference from every peer with its 95% interval over the items."""
    result = {}
    for peer in PEERS:
        gaps = scores[name] - scores[peer]
        half = Z_95 * float(gaps.std()) / np.sqrt(len(gaps))
        result[peer] = [float(gaps.mean()), float(gaps.mean() - half), float(gaps.mean() + half)]
    return result


def _calibration(result: AuditEstimates, crowd: Crowd) -> float:
    right = (result.consensus == crowd.truth)[crowd.known]
    return float(calibration_curve(np.clip(result.p_consensus[crowd.known], 0, 1), right).error)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return a result and the processor time that it took."""
    start = time.process_time()
    return work(), time.process_time() - start


def _load_methods() -> None:
    """Run every method once on a few rows, so that loading its modules is not counted as its time."""
    item, contributor = np.divmod(np.arange(60), 3)
    tiny = Crowd("tiny", item, contributor, item % 2, item[::3] % 2, ("0", "1"))
    fits: Iterable[Callable[[Crowd], Any]] = (
        *PEERS.values(),
        audit_crowd,
        partial(audit_crowd, ordinal=True),
    )
    for fit in fits:
        fit(tiny)


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        **{name: version(package) for name, package in PACKAGES.items()},
    }
