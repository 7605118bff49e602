"""Tables of contributors: one row per contributor, with the columns of contributors.csv."""

from typing import Any

import numpy as np
import polars as pl

from anml.annotators.result import ContributorEstimates
from anml.assessment.assess import Assessment

# Columns that every table of contributors begins with; those of learned reputation; those of change points.
FIRST_COLUMNS = (
    "contributor", "rows", "kept", "verdict", "accuracy", "accuracy_low", "accuracy_high",
    "kappa", "kappa_low", "kappa_high", "peer_accuracy",
)  # fmt: skip
REPUTATION_COLUMNS = {
    "r": "learned_reputation", "low": "learned_reputation_low", "high": "learned_reputation_high",
    "good": "learned_reputation_n_correct", "bad": "learned_reputation_n_wrong",
}  # fmt: skip
CHANGE_COLUMNS = ("changed_years_ago", "accuracy_before", "accuracy_after")


def contributor_frame(found: Assessment) -> pl.DataFrame | None:
    """One row per contributor, with the reputation learned from this run; None where none are known."""
    if found.contributors is None or found.signals.contributor is None:
        return None
    assert found.belief.contributors is not None
    frame = pl.DataFrame(found.contributors).with_columns(**estimate_columns(found.belief.contributors))
    return order_columns(frame)


def order_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """The same table, with the columns that every table of contributors has in front."""
    return frame.select(*FIRST_COLUMNS, pl.exclude(FIRST_COLUMNS))


def estimate_columns(people: ContributorEstimates) -> dict[str, pl.Series]:
    """Estimates of contributors beside their accuracy, with the reputation learned from this run."""
    learned = people.reputation()
    columns: dict[str, Any] = {
        "verdict": people.verdict,
        "kappa": people.reliability,
        "kappa_low": people.reliability_low,
        "kappa_high": people.reliability_high,
        "peer_accuracy": people.expected,
        "notes": people.habits or [""] * len(people.verdict),
        "true_labels_needed": people.settled_by,
        **_change_point_columns(people),
        **{name: learned[key] for key, name in REPUTATION_COLUMNS.items()},
    }
    return {name: pl.Series(name, values) for name, values in columns.items()}


def _change_point_columns(people: ContributorEstimates) -> dict[str, Any]:
    """Age of the labels at the change point, and accuracy before and after; null without a change."""
    if people.changed is None:
        return {}
    values = (-people.changed.when, people.changed.before, people.changed.after)
    return {
        name: [None if np.isnan(v) else float(v) for v in part]
        for name, part in zip(CHANGE_COLUMNS, values, strict=True)
    }


def reputation_frame(contributors: pl.DataFrame) -> pl.DataFrame:
    """The learned reputation alone, one row per contributor."""
    return contributors.select("contributor", *REPUTATION_COLUMNS.values())
