"""A column of retractions sets v to the level of the paper, and a licence is kept beside the samples."""

import numpy as np
import polars as pl
import pytest

import anml
from anml.signals.verification import VERIFICATION


def table(**columns: list) -> pl.DataFrame:
    rows = 60
    rng = np.random.default_rng(0)
    base = {"x": rng.normal(size=rows).tolist(), "label": ["a", "b"] * 30, "who": ["ann", "bob", "cat"] * 20}
    return pl.DataFrame({**base, **columns})


def test_a_retracted_row_has_the_level_flagged():
    frame = table(gone=["yes"] * 3 + ["no"] * 57, v=[0.9] * 60)
    result = anml.audit(
        frame, "label", "who", evaluate=False, schema={"retracted": "gone", "verification": "v"}
    )
    v = result.samples.sort("row")["v"]
    assert v[:3].to_list() == [VERIFICATION["flagged"].default] * 3
    assert v[3:].to_list() == [0.9] * 57
    assert any("3 rows are retracted" in note for note in result.to_dict()["notes"])


def test_retractions_alone_leave_the_rest_at_one():
    result = anml.audit(
        table(gone=[True] + [False] * 59), "label", "who", evaluate=False, schema={"retracted": "gone"}
    )
    assert result.samples.sort("row")["v"].to_list() == [VERIFICATION["flagged"].default] + [1.0] * 59


def test_a_retraction_is_true_or_false():
    frame = table(gone=["perhaps"] * 60)
    with pytest.raises(anml.AnmlError, match=r"column 'gone' \(retracted\) must be true or false"):
        anml.audit(frame, "label", "who", evaluate=False, schema={"retracted": "gone"})


def test_a_licence_is_kept_and_is_no_feature():
    frame = table(licence=["CC-BY", "MIT"] * 30)
    result = anml.audit(frame, "label", "who", evaluate=False, schema={"licence": "licence"})
    assert result.samples.sort("row")["licence"].to_list() == ["CC-BY", "MIT"] * 30
    assert result.to_dict()["schema"]["features"] == ["x"]
