"""Judgements of every shape by an engine and in memory: the same verdicts, rows and tables."""

import numpy as np
import polars as pl
import pytest

import anml
from anml.app.audit.runs import read_run
from anml.app.scale import shaped
from engine_tables import SHAPED, written


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    """As if these were tables of many slices."""
    monkeypatch.setattr(shaped, "MOST_ROWS", 150)


def both(tmp_path, task, **asked):
    frame = SHAPED[task]()
    place = written(frame, tmp_path / "data", frame.height // 3)
    sliced = anml.audit(place, task=task, engine="local", out=tmp_path / "run", **asked)
    return sliced, anml.audit(frame, task=task, **asked)


def alike(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    for name in wanted.columns:
        if wanted.schema[name] == pl.Float64:
            one, two = (each[name].fill_null(-1).to_numpy() for each in (found, wanted))
            np.testing.assert_allclose(one, two, atol=2e-4, err_msg=name)
        else:
            assert found[name].to_list() == wanted[name].to_list(), name


@pytest.mark.parametrize("task", SHAPED)
def test_an_engine_says_what_memory_says(tmp_path, task):
    sliced, memory = both(tmp_path, task)
    ours, theirs = (each.contributors.sort("contributor") for each in (sliced, memory))
    alike(ours, theirs)
    assert len(set(ours["verdict"])) > 1
    run = read_run(tmp_path / "run")
    assert run.info["slices"] > 1
    assert run.info["rows"] == memory.samples.height
    alike(run.samples, memory.samples)
    for name, table in memory.result.shape.tables.items():
        alike(sliced.result.shape.tables[name], table)
        assert (tmp_path / "run" / f"{name}.csv").is_file()
    assert sliced.result.shape.said == memory.result.shape.said
    assert run.info["shape"] == {"kind": task, "said": memory.result.shape.said}
    assert run.info["data"]["named"]["task"] == task
    assert not (tmp_path / "run" / ".work").exists()
