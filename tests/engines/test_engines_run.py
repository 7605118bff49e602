"""Audits in slices: any slicing and engine gives the same, and a run that was broken off goes on."""

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import anml
from anml.annotators.words import FLAGGED, RELIABLE
from anml.core.errors import InputError
from anml.engines import learn
from anml.engines import run as scale
from anml.engines.slices import local_engine, slices_of
from anml.io.tables import parquet_files
from anml.pipeline.request import Request

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_training")]

ROWS, PEOPLE = 2_400, 24


@pytest.fixture(autouse=True, scope="module")
def a_small_sample():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn, "SAMPLE", 400)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Three classes, contributors of whom three give wrong labels, as one file and as four."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    z, who = rng.integers(0, 3, ROWS), rng.integers(0, PEOPLE, ROWS)
    x = rng.normal(size=(ROWS, 4)) + 2 * np.eye(3, 4)[z]
    wrong = (who < 3) & (rng.uniform(size=ROWS) < 0.95)
    y = np.where(wrong, (z + 1) % 3, z)
    frame = pl.DataFrame(
        {
            **{f"x{at}": x[:, at] for at in range(4)},
            "label": [f"c{at}" for at in y],
            "contributor": [f"p{at:02d}" for at in who],
        }
    )
    (folder / "many").mkdir()
    (folder / "one").mkdir()
    frame.write_parquet(folder / "one" / "all.parquet")
    for at, start in enumerate(range(0, ROWS, 700)):
        frame.slice(start, 700).write_parquet(folder / "many" / f"{at}.parquet")
    return folder, wrong


class Counted:
    """Counts the slices that each pass looked at."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __call__(self, work, slices, *shared):
        for result in local_engine(work, slices, *shared):
            self.done.append(work.__name__)
            yield result


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    """The folder of a run that nothing disturbed, and the engine that counted."""
    out, engine = tmp_path_factory.mktemp("whole") / "out", Counted()
    audited(data[0] / "many", out, engine)
    return out, engine


@pytest.fixture(scope="module")
def whole(undisturbed):
    return undisturbed[0]


def audited(source: Path, out: Path, engine=local_engine, **how):
    return scale.audit_slices(source, Request(), out, engine, **how)


def samples(out: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted((out / "samples").glob("*.parquet"))])


def contents(out: Path) -> dict[str, bytes]:
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "run.json"
    }


def test_liars_are_found_and_any_slicing_is_the_same(data, whole, tmp_path):
    folder, wrong = data
    people = pl.read_csv(whole / "contributors.csv")
    accused = people.filter(pl.col("verdict") != "reliable")["contributor"].to_list()
    assert sorted(accused) == ["p00", "p01", "p02"]
    many = samples(whole)
    assert many.height == ROWS
    assert many["p_correct"].to_numpy()[wrong].mean() < 0.1
    assert many["weight"].sum() == pytest.approx(1)
    audited(folder / "one", tmp_path / "one", rows=333)
    one = samples(tmp_path / "one")
    for name in ("p_correct", "q", "self_confidence"):
        np.testing.assert_allclose(one[name].to_numpy(), many[name].to_numpy(), atol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_columns_in_another_order_and_a_file_without_rows_change_nothing(data, whole, tmp_path):
    (tmp_path / "data").mkdir()
    for path in (data[0] / "many").glob("*.parquet"):
        frame = pl.read_parquet(path)
        turned = frame.select(reversed(frame.columns)) if path.stem == "2" else frame
        turned.write_parquet(tmp_path / "data" / path.name)
    frame.clear().write_parquet(tmp_path / "data" / "2b.parquet")
    audited(tmp_path / "data", tmp_path / "out")
    assert samples(tmp_path / "out").drop("source_file").equals(samples(whole).drop("source_file"))


def test_a_part_without_a_single_label_is_left_out(data, tmp_path):
    shutil.copytree(data[0] / "many", tmp_path / "data")
    bare = pl.read_parquet(tmp_path / "data" / "0.parquet").with_columns(label=pl.lit(None, dtype=pl.String))
    bare.write_parquet(tmp_path / "data" / "0b.parquet")
    found = audited(tmp_path / "data", tmp_path / "out")
    assert samples(tmp_path / "out").height == found.data["rows"] == ROWS
    assert "dropped without a label: 700 rows" in found.notes
    accused = found.contributors.filter(pl.col("verdict").is_in(FLAGGED))["contributor"]
    assert sorted(accused) == ["p00", "p01", "p02"]


def test_predictors_of_its_own_lead_to_the_same_verdicts(data, whole):
    frame = pl.read_parquet(data[0] / "one" / "all.parquet")
    memory = anml.audit(frame, evaluate=False, progress=False).contributors
    both = pl.read_csv(whole / "contributors.csv").join(memory, on="contributor", suffix="_memory")
    pairs = both.select("verdict", "verdict_memory").rows()
    assert sum(one != other for one, other in pairs) <= 0.01 * len(pairs)
    assert not any(RELIABLE in pair and set(pair) & set(FLAGGED) for pair in pairs)


class Broken:
    """Stops in the middle of a pass, as a killed driver does."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, work, slices, *shared):
        for result in local_engine(work, slices, *shared):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            yield result


@pytest.mark.parametrize("after", [6, 75])
def test_a_run_that_was_broken_off_goes_on_to_the_same_bytes(data, undisturbed, tmp_path, after):
    (folder, _), (whole, all_of_it) = data, undisturbed
    out, rest = tmp_path / "broken", Counted()
    with pytest.raises(KeyboardInterrupt):
        audited(folder / "many", out, Broken(after))
    assert not out.exists()
    audited(folder / "many", out, rest)
    assert contents(out) == contents(whole)
    if after == 75:
        assert 0 < rest.done.count("e_step_slice") < all_of_it.done.count("e_step_slice") - 30


def test_an_unfinished_run_of_other_data_is_not_taken_for_this_one(data, tmp_path):
    folder, _ = data
    with pytest.raises(KeyboardInterrupt):
        audited(folder / "many", tmp_path / "out", Broken(8))
    with pytest.raises(InputError, match=r"\.out-work holds an unfinished run of other data"):
        audited(folder / "one", tmp_path / "out")


def test_an_unfinished_run_of_another_version_is_not_taken_for_this_one(data, tmp_path, monkeypatch):
    folder, _ = data
    with pytest.raises(KeyboardInterrupt):
        audited(folder / "many", tmp_path / "out", Broken(8))
    monkeypatch.setattr(scale, "versions", lambda: {"anml": "0.0.1"})
    with pytest.raises(InputError, match=r"\.out-work holds an unfinished run of other data"):
        audited(folder / "many", tmp_path / "out")


def test_an_earlier_run_stays_until_the_new_one_is_whole(data, whole, tmp_path):
    folder, _ = data
    shutil.copytree(whole, tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        audited(folder / "one", tmp_path / "out", Broken(8))
    assert contents(tmp_path / "out") == contents(whole)
    assert (tmp_path / "out" / "run.json").read_bytes() == (whole / "run.json").read_bytes()
    audited(folder / "one", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "samples").iterdir()] == ["part-000000.parquet"]


def test_ray_gives_the_same_bytes_with_a_worker_killed(data, whole, tmp_path):
    pytest.importorskip("ray", reason="needs the extra ray")
    from anml.engines.ray import on_ray

    folder, _ = data
    passes, killed = 0, [tmp_path / f"killed-{at}" for at in (4, 9)]

    def killing(work, slices, *shared):
        """Has a worker killed with -9 when it has done its slice, once in each of some passes."""
        nonlocal passes
        passes += 1
        mark = tmp_path / f"killed-{passes}"

        def done_and_killed(part, *shared):
            result = work(part, *shared)
            if part.number == 1 and mark in killed and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return engine(done_and_killed, slices, *shared)

    with on_ray() as engine:
        audited(folder / "many", tmp_path / "ray", killing)
    assert all(mark.exists() for mark in killed)
    assert contents(tmp_path / "ray") == contents(whole)


def test_from_python_samples_are_lazy(data, tmp_path):
    folder, _ = data
    found = anml.audit(folder / "many", progress=False, engine=anml.engines.Local(tmp_path / "out"))
    assert isinstance(found.samples, pl.LazyFrame)
    assert found.samples.select(pl.len()).collect().item() == ROWS
    assert found.contributors.height == PEOPLE
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"schema": {"derived_from": "x0"}}, "derived_from cannot be used with an engine"),
        ({"predictions": np.zeros((3, 3))}, "the predictions have 3 rows and the table has 2400"),
        ({"task": "regression"}, "labels must be classes with an engine"),
        ({"recipe": {"keep": 0.5}}, "an engine does not support recipe.keep, got 0.5"),
        ({"recipe": "krum"}, "an engine supports the recipe evidence alone, got 'krum'"),
        (
            {"recipe": {"profile": {"annotators": "population"}}},
            "an engine supports the annotator model types alone, got 'population'",
        ),
        ({"engine": "spark"}, "engine must be one of local, ray of anml.engines, got 'spark'"),
        ({"engine": None}, "a folder of Parquet files is audited by an engine"),
        ({"schema": {"ignore": ["contributor"]}}, "every row needs a contributor"),
    ],
    ids=str,
)
def test_what_an_engine_cannot_do_is_said(data, tmp_path, settings, said):
    folder, _ = data
    with pytest.raises(Exception, match=said):
        anml.audit(
            folder / "many", **{"engine": anml.engines.Local(tmp_path / "out"), "progress": False, **settings}
        )


def test_files_that_do_not_fit(tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.parquet").write_bytes(b"PAR1nothing")
    with pytest.raises(InputError, match=r"a\.parquet is no Parquet file"):
        slices_of(parquet_files(tmp_path / "bad"))
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "bad" / "a.parquet")
    pl.DataFrame({"z": [1]}).write_parquet(tmp_path / "bad" / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet has other columns than a\.parquet"):
        slices_of(parquet_files(tmp_path / "bad"))
    with pytest.raises(InputError, match="an engine reads a Parquet file"):
        anml.audit(tmp_path / "no.csv", engine=anml.engines.Local(tmp_path / "out"))


def test_an_engine_without_a_folder_is_refused():
    with pytest.raises(InputError, match="out must be the folder of the run, got None"):
        anml.engines.Local(None)
