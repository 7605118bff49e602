"""Judgements of every shape by an engine and in memory: the same verdicts, rows and tables."""

from functools import cache, partial
from types import SimpleNamespace

import polars as pl
import pytest

import anml
from anml.app.audit.runs import read_run
from anml.app.scale import shaped
from anml.core.errors import InputError, UnsupportedError
from engine_tables import SHAPED, check_alike, written


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    """As if these were tables of many slices."""
    monkeypatch.setattr(shaped, "MOST_ROWS", 150)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A table of each shape in parts, its run by an engine and its audit in memory; made when first asked."""

    @cache
    def of(task):
        folder, frame = tmp_path_factory.mktemp(task), SHAPED[task]()
        place = written(frame, folder / "data", frame.height // 3)
        sliced = anml.audit(place, task=task, engine="local", out=folder / "run")
        return SimpleNamespace(
            data=place, run=folder / "run", sliced=sliced, memory=anml.audit(frame, task=task)
        )

    return of


alike = partial(check_alike, atol=2e-4)


@pytest.mark.parametrize("task", SHAPED)
def test_an_engine_says_what_memory_says(both, task):
    folder, sliced, memory = both(task).run, both(task).sliced, both(task).memory
    ours, theirs = (each.contributors.sort("contributor") for each in (sliced, memory))
    alike(ours, theirs)
    assert len(set(ours["verdict"])) > 1
    run = read_run(folder)
    assert run.info["slices"] > 1
    assert run.info["rows"] == memory.samples.height
    alike(run.samples, memory.samples)
    for name, table in memory.result.shape.tables.items():
        alike(sliced.result.shape.tables[name], table)
        assert (folder / f"{name}.csv").is_file()
    assert sliced.result.shape.said == memory.result.shape.said
    assert run.info["shape"] == memory.result.shape.to_dict()
    assert run.info["data"]["named"]["task"] == task
    assert not (folder / ".work").exists()


def test_what_is_known_of_candidates_and_answers_counts_as_in_memory(tmp_path):
    frame = SHAPED["preference"]()
    names = pl.concat([frame["first"], frame["second"]]).unique().sort()
    frame = frame.with_columns(answer=pl.when(pl.int_range(pl.len()) % 7 == 0).then("choice"))
    pl.DataFrame({"candidate": names, "x": range(len(names))}).write_csv(tmp_path / "x.csv")
    place = written(frame, tmp_path / "data", frame.height // 3)
    asked = {"task": "preference", "embeddings": tmp_path / "x.csv", "gold": "answer"}
    sliced = anml.audit(place, engine="local", out=tmp_path / "run", **asked)
    memory = anml.audit(frame, **asked)
    assert "explains" in memory.result.shape.said[1]
    assert sliced.result.shape.said == memory.result.shape.said
    assert sliced.result.gold.sentence() == memory.result.gold.sentence()
    alike(read_run(tmp_path / "run").samples, memory.samples)


def test_words_are_counted_in_as_in_memory(tmp_path):
    frame = SHAPED["spans"]()
    words = ["red", "tall", "old", "wise", "house", "tree", "river", "stone"]
    texts = {f"d{k}": " ".join(words[(k * at + at // 3) % 8] for at in range(60)) for k in range(40)}
    frame = frame.with_columns(text=pl.col("document").replace_strict(texts))
    place = written(frame, tmp_path / "data", 200)
    sliced = anml.audit(place, task="spans", engine="local", out=tmp_path / "run")
    memory = anml.audit(frame, task="spans")
    assert any("a model of the words" in note for note in sliced.result.notes)
    alike(sliced.contributors.sort("contributor"), memory.contributors.sort("contributor"))
    alike(read_run(tmp_path / "run").samples, memory.samples)


@pytest.mark.parametrize("task", SHAPED)
def test_what_to_look_at_first_is_the_same(both, tmp_path, task):
    ours, theirs = anml.relabel(both(task).run, tmp_path / "look.csv"), both(task).memory.relabel()
    assert ours["row"].to_list() == theirs["row"].to_list()
    assert pl.read_csv(tmp_path / "look.csv").height == theirs.height > 0


class Interrupted(Exception):
    pass


def test_a_run_that_was_broken_off_goes_on(both, tmp_path, monkeypatch):
    place, whole, asked = both("ordinal").data, both("ordinal").run, {"task": "ordinal", "engine": "local"}

    def stop(part, how):
        raise Interrupted

    with monkeypatch.context() as broken:
        broken.setattr("anml.app.scale.write.total_slice", stop)
        with pytest.raises(Interrupted):
            anml.audit(place, out=tmp_path / "run", **asked)
    assert (tmp_path / "run" / ".work" / "table.arrow").is_file()
    with pytest.raises(InputError, match="unfinished run of other data or settings"):
        anml.audit(place, out=tmp_path / "run", task="ordinal", engine="local", seed=5)
    anml.audit(place, out=tmp_path / "run", **asked)
    for name in ("contributors.csv", "grades.csv", "samples/part-000000.parquet"):
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes()


def test_what_is_wrong_with_the_data_is_said_before_anything_is_written(tmp_path):
    place = written(SHAPED["spans"]().with_columns(end=pl.col("start")), tmp_path / "data", 200)
    with pytest.raises(InputError, match="ends before it begins"):
        anml.audit(place, task="spans", engine="local", out=tmp_path / "run")
    place = written(SHAPED["preference"](), tmp_path / "pairs", 200)
    for wrong in ({"predictions": [[0.5, 0.5]]}, {"nested": True}):
        with pytest.raises(UnsupportedError, match=f"{next(iter(wrong))} is "):
            anml.audit(place, task="preference", engine="local", out=tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("task", SHAPED)
def test_credentials_times_and_what_is_known_go_by_an_engine_as_in_memory(tmp_path, task):
    frame = SHAPED[task]().with_row_index("number")
    label = {"preference": "choice", "ordinal": "grade", "tags": "tags"}.get(task)
    known = pl.lit("true") if label is None else pl.col(label).cast(pl.String)
    frame = frame.with_columns(
        checked=(pl.col("number") % 4) / 4,
        at=pl.lit("2026-01-0") + (1 + pl.col("number") % 9).cast(pl.String),
        truth=pl.when(pl.col("number") % 11 == 0).then(known),
    ).drop("number")
    asked = {"verification": "checked", "time": "at", "known": "truth"}
    place = written(frame, tmp_path / "data", frame.height // 3)
    sliced = anml.audit(place, task=task, engine="local", out=tmp_path / "run", **asked)
    memory = anml.audit(frame, task=task, **asked)
    assert memory.samples["known_right"].drop_nulls().len()
    assert memory.samples["v"].n_unique() > 2
    alike(sliced.contributors.sort("contributor"), memory.contributors.sort("contributor"))
    alike(read_run(tmp_path / "run").samples, memory.samples)


def test_rays_workers_say_what_memory_says(both, tmp_path):
    pytest.importorskip("ray", reason="needs the extra ray")
    place, memory = both("spans").data, both("spans").memory
    sliced = anml.audit(place, task="spans", engine="ray", out=tmp_path / "run")
    assert read_run(tmp_path / "run").info["slices"] > 1
    alike(sliced.contributors.sort("contributor"), memory.contributors.sort("contributor"))
    alike(sliced.result.shape.tables["spans"], memory.result.shape.tables["spans"])
