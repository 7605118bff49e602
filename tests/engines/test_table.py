"""A table in slices and the same table in memory: the same verdicts, and p_correct to a millionth."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anml.annotators import fit, model
from anml.core.errors import InputError
from anml.engines.run import audit_slices
from anml.engines.slices import FileRange, Slice, local_engine
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from engine_tables import check_alike, crowd, written

pytestmark = pytest.mark.slow

CREDENTIALS = {"verification": "verification", "reputation": "reputation", "time": "when"}
BESIDE = ("task", *CREDENTIALS.values(), "truth")


def asked(with_predictions: bool, predictions, **roles) -> Request:
    ignore = [name for name in BESIDE if name not in roles.values()]
    given = predictions if with_predictions else None
    return Request(**roles, predictions=given, features=[], ignore=ignore, evaluate=False)


@pytest.mark.parametrize(
    ("with_predictions", "roles"),
    [
        (True, {}),
        (False, {"item": "task"}),
        (True, {"item": "task", "true_label": "truth", **CREDENTIALS}),
        (True, {"test_label": "truth", **CREDENTIALS}),
    ],
    ids=["predictions", "items", "all", "credentials"],
)
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
def test_slices_say_what_memory_says(tmp_path, monkeypatch, with_predictions, roles, many):
    if many:
        # As if these were more rows than a start is sought by.
        monkeypatch.setattr(fit, "SUBSAMPLE_SIZE", 200)
        monkeypatch.setattr(model, "TUNING_ROWS", 300)
    frame, predictions = crowd()
    request = asked(with_predictions, predictions, **roles)
    memory, _, _ = audit_table(frame, request)
    data = written(frame, tmp_path / "data", 450)
    sliced = audit_slices(data, request, tmp_path / "out", local_engine, rows=400)
    ours, theirs = (each.contributors.sort("contributor") for each in (sliced, memory))
    assert ours.columns == theirs.columns
    assert ours["verdict"].to_list() == theirs["verdict"].to_list()
    assert "reliable" in set(ours["verdict"])
    assert len(set(ours["verdict"])) > 1
    samples = pl.read_parquet(tmp_path / "out" / "samples" / "*.parquet").sort("row")
    assert samples.height == memory.samples.height < frame.height
    for found, wanted in ((ours, theirs), (samples, memory.samples)):
        check_alike(found, wanted, atol=1e-6)
    assert sliced.label_error_rate == pytest.approx(memory.label_error_rate)
    # Somebody guesses from the middle of the year on.
    assert "changed_years_ago" in theirs.columns or not {"item", "time"} <= roles.keys()
    if memory.consensus is not None:
        one, two = (each.consensus.sort("item") for each in (sliced, memory))
        assert one.drop("p_consensus", "annotator_agreement").equals(
            two.drop("p_consensus", "annotator_agreement")
        )
    if memory.gold is not None:
        figures = [(each.gold.right, each.gold.wrong, each.gold.ranking) for each in (sliced, memory)]
        assert figures[0] == pytest.approx(figures[1])


def test_parts_of_predictions_may_have_their_columns_in_another_order(tmp_path):
    frame, predictions = crowd()
    beside = pl.DataFrame(predictions, schema=["c0", "c1", "c2"])
    (tmp_path / "beside").mkdir()
    beside[:300].write_parquet(tmp_path / "beside" / "0.parquet")
    beside[300:].select("c2", "c0", "c1").write_parquet(tmp_path / "beside" / "1.parquet")
    data = written(frame, tmp_path / "data", 450)
    for name, given in (("array", predictions), ("parts", tmp_path / "beside")):
        audit_slices(data, asked(True, given), tmp_path / name, local_engine, rows=400)
    one, two = (
        pl.read_parquet(tmp_path / name / "samples" / "*.parquet").sort("row") for name in ("array", "parts")
    )
    assert one.equals(two)


def test_columns_of_the_user_are_never_taken_for_those_of_unfinished_work(tmp_path):
    """Two underlines before a name are the user's own, with items as without."""
    frame, _ = crowd()
    feature = pl.Series("__x", np.random.default_rng(0).normal(size=frame.height))
    data = written(frame.with_columns(feature, feature.alias("__row")), tmp_path / "data", 450)
    request = Request(item="task", ignore=list(BESIDE[1:]), evaluate=False)
    found = audit_slices(data, request, tmp_path / "out", local_engine, rows=400)
    assert set(found.columns.features) == {"__x", "__row"}
    assert not any("no feature columns" in note for note in found.notes)
    assert found.samples["predicted_label"].null_count() == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    frame, predictions = crowd()
    data = written(frame, tmp_path / "data", 450)
    with pytest.raises(InputError, match=r"/proc/none cannot be (written|made): "):
        audit_slices(data, asked(True, predictions), Path("/proc/none"), local_engine)


def test_this_process_gives_results_in_order_one_slice_at_a_time():
    """Memory is that of one slice: nothing is done ahead."""
    slices, begun = [Slice(number, (FileRange("x", 0, 1),)) for number in range(3)], []

    def work(part, shared):
        begun.append(part.number)
        return part.number, shared

    results = local_engine(work, slices, "s")
    assert begun == []
    assert next(results) == (0, "s")
    assert begun == [0]
    assert list(results) == [(1, "s"), (2, "s")]


@pytest.mark.parametrize("kind", ["array", "frame", "npy", "csv", "parquet", "folder"])
def test_an_unfinished_run_is_not_gone_on_with_by_other_predictions(tmp_path, kind):
    frame, predictions = crowd()
    other = predictions.copy()
    other[len(other) // 2] = other[len(other) // 2, ::-1]
    data = written(frame, tmp_path / "data", 450)

    def killed(_work, _slices, *_shared):
        raise RuntimeError("killed")

    def given(values):
        table, place = pl.DataFrame(values, schema=["c0", "c1", "c2"]), tmp_path / f"beside.{kind}"
        if kind in ("array", "frame"):
            return values if kind == "array" else table
        if kind == "npy":
            np.save(place, values)
        elif kind == "csv":
            table.write_csv(place)
        elif kind == "parquet":
            table.write_parquet(place)
        else:
            place.mkdir(exist_ok=True)
            table.write_parquet(place / "0.parquet")
        return place

    for values in (predictions, predictions):
        with pytest.raises(RuntimeError, match="killed"):
            audit_slices(data, asked(True, given(values)), tmp_path / "out", killed, rows=400)
    with pytest.raises(InputError, match=r"\.out-work holds an unfinished run of other data"):
        audit_slices(data, asked(True, given(other)), tmp_path / "out", killed, rows=400)


def test_predictions_that_are_not_there_are_named(tmp_path):
    data = written(crowd()[0], tmp_path / "data", 450)
    with pytest.raises(InputError, match=r"predictions file 'none\.csv' does not exist"):
        audit_slices(data, asked(True, tmp_path / "none.csv"), tmp_path / "out", local_engine, rows=400)
