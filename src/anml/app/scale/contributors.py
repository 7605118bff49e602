"""Contributors of a run in slices, as the frame of any audit."""

import numpy as np
import polars as pl

from anml.app.scale.work import Summed
from anml.assess.contributors import judged_columns
from anml.core.people.belief import Contributor
from anml.core.people.verdicts import CONCERN
from anml.core.stats import wilson


def contributors_of(names: list[str], judged: Contributor, sums: Summed, kept: np.ndarray) -> pl.DataFrame:
    """One row per contributor: the accused first, then those who cannot be judged, then the reliable."""
    rows = np.maximum(sums.people.rows.sum(axis=1), 1)
    right = sums.people.right.sum(axis=1)
    q = np.clip(1 - (sums.scores / rows - sums.low) / max(sums.high - sums.low, 1e-300), 0, 1)
    q_low, q_high = wilson(q, rows)
    ones = np.ones(len(rows))
    frame = pl.DataFrame(
        {
            "contributor": names,
            "rows": rows.astype(np.int64),
            "kept": kept.astype(np.int64),
            "q": q,
            "q_low": q_low,
            "q_high": q_high,
            **dict.fromkeys(("v", "r", "t"), ones),
            "row_share": rows / rows.sum(),
            "weight_share": right / right.sum(),
            "quality": judged.quality,
            "quality_low": judged.low,
            "quality_high": judged.high,
            "agreement": sums.agreed / rows,
        }
    )
    frame = frame.with_columns(**judged_columns(judged))
    return frame.sort(pl.col("verdict").replace_strict(CONCERN), "quality", "contributor")
