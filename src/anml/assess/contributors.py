"""What a run found out about its contributors, as frames."""

from typing import Any

import numpy as np
import polars as pl

from anml.assess.assess import Assessment
from anml.core.people.belief import Contributor

# What columns of a reputation learned from one run are called.
LEARNED = "r_learned"


def contributor_frame(found: Assessment) -> pl.DataFrame | None:
    """One row per contributor, with the reputation learned from this run; None where none are known."""
    if found.contributors is None or found.signals.contributor is None:
        return None
    assert found.belief.contributors is not None
    return pl.DataFrame(found.contributors).with_columns(**judged_columns(found.belief.contributors))


def judged_columns(people: Contributor) -> dict[str, pl.Series]:
    """What is believed of contributors beside their quality, with the reputation learned from this run."""
    learned = people.reputation()
    columns: dict[str, Any] = {
        "verdict": people.verdict,
        "reliability": people.reliability,
        "reliability_low": people.reliability_low,
        "reliability_high": people.reliability_high,
        "others": people.expected,
        "habits": people.habits or [""] * len(people.verdict),
        "settled_by": people.settled_by,
        **_changes(people),
        **{f"{LEARNED}{'' if name == 'r' else f'_{name}'}": values for name, values in learned.items()},
    }
    return {name: pl.Series(name, values) for name, values in columns.items()}


def _changes(people: Contributor) -> dict[str, Any]:
    """Since which age of labels somebody is another, and the share of right labels before and since."""
    if people.changed is None:
        return {}
    names = ("changed_age", "quality_before", "quality_since")
    values = (-people.changed.when, people.changed.before, people.changed.after)
    return {
        name: [None if np.isnan(v) else float(v) for v in part]
        for name, part in zip(names, values, strict=True)
    }


def learned_frame(contributors: pl.DataFrame) -> pl.DataFrame:
    """The learned reputation alone: contributor, r, low, high, good, bad."""
    columns = [name for name in contributors.columns if name.startswith(LEARNED)]
    short = {name: name.removeprefix(f"{LEARNED}_") if name != LEARNED else "r" for name in columns}
    return contributors.select("contributor", *columns).rename(short)
