"""Audits of every structured task: in parts or in one table, with other roles, and what is refused."""

import polars as pl
import pytest

import anml
from anml.core.errors import InputError, UnknownNameError, UnsupportedError
from engine_tables import SHAPED, check_alike, written

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("task", SHAPED)
def test_parts_of_a_table_are_audited_as_one_with_credentials_times_and_true_labels(tmp_path, task):
    frame = SHAPED[task]().with_row_index("number")
    label = {"preferences": "choice", "ordinal": "grade", "tags": "tags"}.get(task)
    known = pl.lit("true") if label is None else pl.col(label).cast(pl.String)
    frame = frame.with_columns(
        checked=(pl.col("number") % 4) / 4,
        at=pl.lit("2026-01-0") + (1 + pl.col("number") % 9).cast(pl.String),
        truth=pl.when(pl.col("number") % 11 == 0).then(known),
    ).drop("number")
    roles = anml.Schema(verification="checked", time="at", true_label="truth")
    parts = anml.audit(written(frame, tmp_path / "data", frame.height // 3), schema=roles, task=task)
    one = anml.audit(frame, schema=roles, task=task)
    assert one.samples["label_is_correct"].drop_nulls().len()
    assert one.samples["v"].n_unique() > 2
    assert len(set(one.contributors["verdict"])) > 1
    check_alike(parts.contributors, one.contributors, atol=1e-9)
    check_alike(parts.samples, one.samples, atol=1e-9)
    assert parts._result.structured.sentences == one._result.structured.sentences


def test_errors_of_the_data_and_options_of_other_tasks_are_refused(tmp_path):
    place = written(SHAPED["spans"]().with_columns(end=pl.col("start")), tmp_path / "data", 200)
    with pytest.raises(InputError, match="ends before it begins"):
        anml.audit(place, task="spans")
    place = written(SHAPED["preferences"](), tmp_path / "pairs", 200)
    with pytest.raises(UnsupportedError, match="the task preferences does not use predictions"):
        anml.audit(place, predictions=[[0.5, 0.5]], task="preferences")
    with pytest.raises(UnknownNameError, match="unknown key of Preferences 'nested'"):
        anml.tasks.task_of("preferences", {"nested": True})


@pytest.mark.parametrize("task", SHAPED)
def test_an_engine_refuses_them_and_memory_reads_the_parts(tmp_path, task):
    frame, out = SHAPED[task](), tmp_path / "run"
    place = written(frame, tmp_path / "data", 200)
    with pytest.raises(UnsupportedError, match=f"{task} needs all rows in memory; leave out the engine"):
        anml.audit(place, engine=anml.engines.Local(out), task=task)
    assert not out.exists()
    result = anml.audit(place, task=task)
    check_alike(result.contributors, anml.audit(frame, task=task).contributors, atol=1e-9)
    result.save(out)
    assert (out / "contributors.csv").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"evaluate": pl.DataFrame({"x": [1]})}, "the task preferences does not use a test table"),
        ({"embeddings": "torchvision:resnet18"}, "the task preferences does not use an encoder"),
    ],
    ids=["test", "encoder"],
)
def test_inputs_that_a_structured_task_does_not_use_are_refused(given, message):
    frame = pl.DataFrame({"judge": ["a", "b"], "m1": ["x", "x"], "m2": ["y", "y"], "winner": ["x", "y"]})
    task = anml.tasks.Preferences(first="m1", second="m2", choice="winner")
    with pytest.raises(UnsupportedError, match=message):
        anml.audit(frame, contributor="judge", task=task, **given)
