"""Judgements of every shape: in parts or in one, with what is known beside them, and what is refused."""

import polars as pl
import pytest

import anml
from anml.core.errors import InputError, UnsupportedError
from engine_tables import SHAPED, check_alike, written


@pytest.mark.parametrize("task", SHAPED)
def test_parts_of_a_table_are_judged_as_one_with_credentials_times_and_what_is_known(tmp_path, task):
    frame = SHAPED[task]().with_row_index("number")
    label = {"preference": "choice", "ordinal": "grade", "tags": "tags"}.get(task)
    known = pl.lit("true") if label is None else pl.col(label).cast(pl.String)
    frame = frame.with_columns(
        checked=(pl.col("number") % 4) / 4,
        at=pl.lit("2026-01-0") + (1 + pl.col("number") % 9).cast(pl.String),
        truth=pl.when(pl.col("number") % 11 == 0).then(known),
    ).drop("number")
    asked = {"verification": "checked", "time": "at", "known": "truth"}
    parts = anml.audit(written(frame, tmp_path / "data", frame.height // 3), task=task, **asked)
    one = anml.audit(frame, task=task, **asked)
    assert one.samples["known_right"].drop_nulls().len()
    assert one.samples["v"].n_unique() > 2
    assert len(set(one.contributors["verdict"])) > 1
    check_alike(parts.contributors, one.contributors, atol=1e-9)
    check_alike(parts.samples, one.samples, atol=1e-9)
    assert parts.result.shape.said == one.result.shape.said


def test_what_is_wrong_with_the_data_is_said_before_anything_is_written(tmp_path):
    place = written(SHAPED["spans"]().with_columns(end=pl.col("start")), tmp_path / "data", 200)
    with pytest.raises(InputError, match="ends before it begins"):
        anml.audit(place, task="spans")
    place = written(SHAPED["preference"](), tmp_path / "pairs", 200)
    for wrong in ({"predictions": [[0.5, 0.5]]}, {"nested": True}):
        with pytest.raises(UnsupportedError, match=f"{next(iter(wrong))} is "):
            anml.audit(place, task="preference", **wrong)


@pytest.mark.parametrize("task", SHAPED)
def test_an_engine_leaves_them_to_memory(tmp_path, task):
    place = written(SHAPED[task](), tmp_path / "data", 200)
    found = anml.audit(place, task=task, engine="local", out=tmp_path / "run")
    check_alike(found.contributors, anml.audit(place, task=task).contributors, atol=1e-9)
    assert (tmp_path / "run" / "contributors.csv").exists()
