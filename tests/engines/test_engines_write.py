"""Contributor table from samples in many files."""

import numpy as np
import polars as pl
import pytest

from anml.annotators.result import ContributorEstimates
from anml.annotators.words import RELIABLE
from anml.engines.write import contributors_of


def test_sums_over_files_are_the_same_to_the_last_digit(tmp_path):
    """One file is added after the other, whoever is quicker."""
    rng, n, expected = np.random.default_rng(0), 3_000, np.zeros(3)
    for at in range(9):
        who, signals = rng.integers(0, 3, n), {name: rng.uniform(size=n) for name in (*"qvrt", "weight")}
        expected += np.bincount(who, signals["q"], 3)
        names = {"contributor": who, "label": ["a"] * n, "predicted_label": ["a"] * n}
        frame = pl.DataFrame({**signals, **names, "kept": rng.uniform(size=n) < 0.5})
        frame.write_parquet(tmp_path / f"part-{at:06d}.parquet")
    judged = ContributorEstimates([RELIABLE] * 3, *[np.full(3, 0.5)] * 9, np.zeros(3, dtype=np.int64), 0.0)
    found = contributors_of(tmp_path, ["0", "1", "2"], judged)
    assert found["contributor"].to_list() == ["0", "1", "2"]
    assert found["mean_q"].to_list() == (expected / found["rows"].to_numpy()).tolist()
    assert found["rows"].sum() == 9 * n
    assert found["model_agreement"].to_list() == [1.0] * 3
    assert found["weight_share"].sum() == pytest.approx(1)
