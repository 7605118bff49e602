"""Contributors of a run in slices, as the frame of any audit."""

import numpy as np
import polars as pl
from scipy import special

from anml.core.checks import Floats
from anml.core.evidence.classes import RIGHT
from anml.core.evidence.side import BEFOREHAND
from anml.core.partition import Beliefs
from anml.core.stats import beta_interval, wilson
from anml.core.verdicts import ACCUSED, TRUSTED, Accusation


def contributors_of(
    names: list[str], beliefs: Beliefs, said: Accusation, right: Floats, kept: Floats, agreed: Floats,
    scores: Floats, bounds: tuple[float, float],
) -> pl.DataFrame:  # fmt: skip
    """One row per contributor: the accused first, then those who cannot be judged, then the trusted."""
    assert beliefs.odds is not None
    size = np.maximum(beliefs.size, 1)
    usual = special.expit(RIGHT[0])
    good, bad = right + BEFOREHAND * usual, size - right + BEFOREHAND * (1 - usual)
    low, high = beta_interval(good, bad)
    q = np.clip(1 - (scores / size - bounds[0]) / max(bounds[1] - bounds[0], 1e-300), 0, 1)
    q_low, q_high = wilson(q, size)
    frame = pl.DataFrame(
        {
            "contributor": names,
            "rows": size.astype(np.int64),
            "kept": kept.astype(np.int64),
            "quality": good / (good + bad),
            "quality_low": low,
            "quality_high": high,
            "q": q,
            "q_low": q_low,
            "q_high": q_high,
            "v": np.ones(len(size)),
            "r": np.ones(len(size)),
            "t": np.ones(len(size)),
            "row_share": size / size.sum(),
            "weight_share": right / right.sum(),
            "verdict": said.verdict,
            "p_honest": beliefs.types[:, 0],
            "log_bayes_factor": special.logsumexp(beliefs.odds[:, 1:], axis=1),
            "agreement": agreed / size,
        }
    )
    verdict = pl.col("verdict")
    rank = pl.when(verdict.is_in(ACCUSED)).then(0).when(verdict != TRUSTED).then(1).otherwise(2)
    return frame.sort(rank, "quality", "contributor")


def opposed(beliefs: Beliefs) -> float:
    """Share of rows by deviants of one mind whose labels are mostly wrong."""
    if beliefs.deviant is None:
        return 0.0
    size = np.maximum(beliefs.deviant.sum(axis=(1, 2)), 1e-9)
    right = np.einsum("kcc->k", beliefs.deviant) / size
    agreed = beliefs.deviant.max(axis=1).sum(axis=1) / size
    against = beliefs.types[:, 2] * ((right < 0.5) & (agreed > 0.5))
    return float((against * beliefs.size).sum() / beliefs.size.sum())
