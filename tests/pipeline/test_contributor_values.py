"""`anml value` and `anml.contributor_values`: end to end, resumed, in settlement, and bad input."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import anml
from anml.cli.value import _source
from anml.core.errors import InputError, UnsupportedError
from anml.ledger.pay.multipliers import read_multipliers
from anml.pipeline.contributor_values import ValueRequest, compute_values
from anml.settlement.allocate import UNIT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_training", "shared_results")]


def table(rows=300, seed=0, liars=("eve",)):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    x = rng.normal(size=(rows, 4)) + 1.5 * y[:, None]
    contributor = rng.choice(["ann", "bob", "cid", "dee", "eve"], rows)
    label = np.where(np.isin(contributor, liars), 1 - y, y)
    frame = pl.DataFrame({f"x{i}": x[:, i] for i in range(4)})
    return frame.with_columns(label=pl.Series(label).cast(pl.String), worker=pl.Series(contributor))


def run(*words, **how):
    return subprocess.run(
        [sys.executable, "-m", "anml.cli.main", *map(str, words)], capture_output=True, text=True, **how
    )


@pytest.fixture
def files(tmp_path):
    table().write_csv(tmp_path / "labels.csv")
    table(200, 1, liars=()).drop("worker").write_csv(tmp_path / "test.csv")
    return tmp_path


def test_the_command_values_resumes_and_feeds_settlement(files, run_anml):
    words = ["value", files / "labels.csv", "--label", "label", "--contributor", "worker"]
    words += ["--test", files / "test.csv", "--out", files / "value"]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert "banzhaf values, exact, from 32 coalitions" in done.stdout
    result = pl.read_csv(files / "value" / "values.csv")
    assert result["contributor"][-1] == "eve"
    assert result.filter(pl.col("contributor") == "eve")["value"][0] < 0
    assert result["share"].sum() == pytest.approx(1)
    multipliers = read_multipliers(files / "value" / "multipliers.csv")
    assert multipliers["eve"] == 0
    assert max(multipliers.values()) == UNIT
    again = run_anml(*words, "--json")
    assert again.code == 0, again.err
    message = json.loads(again.out)
    assert [row["value"] for row in message["contributors"]] == result["value"].to_list()


def test_a_coalition_is_asked_once(files):
    asked = []

    class Counting(LogisticRegression):
        def fit(self, x, y):
            asked.append(len(y))
            return super().fit(x, y)

    request = ValueRequest(label="label", contributor="worker", model=Counting(), budget=1000)
    result = compute_values(files / "labels.csv", request)
    assert len(asked) <= result.record["n_evaluations"]


def test_a_run_is_valued_by_the_rows_it_keeps(files):
    anml.audit(files / "labels.csv", "label", "worker", evaluate=False, progress=False).save(files / "run")
    result = anml.contributor_values(files / "labels.csv", run=files / "run", method="shapley")
    assert any("rows are valued: the rows kept by the run in run" in note for note in result.notes)
    with pytest.raises(InputError, match="is not the data of the run in"):
        anml.contributor_values(files / "test.csv", run=files / "run")
    assert _source(files / "run", None)[0].resolve() == (files / "labels.csv").resolve()
    with pytest.raises(InputError, match="has no data path"):
        _source(files, None)
    with pytest.raises(InputError, match="needs a run folder, got a table"):
        _source(files / "labels.csv", files / "labels.csv")
    assert _source(files / "run", files / "labels.csv") == (files / "labels.csv", files / "run")


@pytest.mark.parametrize("method", ["banzhaf", "shapley", "beta-shapley"])
@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_python_ranks_a_liar_last(method, model):
    result = anml.contributor_values(
        table(), "label", "worker", test=table(200, 1, ()).drop("worker"), method=method, estimator=model
    )
    assert result.contributors["contributor"][-1] == "eve"
    assert result.exact
    assert "ann" in repr(result) or "values of 5 contributors" in repr(result)


def test_a_metric_and_a_model_of_ones_own():
    def minus_errors(truth, message):
        return -float((truth != message).sum())

    output = anml.contributor_values(
        table(), "label", "worker", estimator=LogisticRegression(), scoring=minus_errors
    )
    assert output.result.record["utility_of_all"] < 0
    assert output.contributors["value"].to_numpy().shape == (5,)


def test_many_contributors_are_sampled_with_intervals():
    frame = table(400).with_columns(worker=pl.Series([f"w{i % 20:02d}" for i in range(400)]))
    result = anml.contributor_values(frame, "label", "worker", n_evaluations=200)
    assert not result.exact
    rows = result.contributors
    assert (rows["low"] <= rows["value"]).all()
    assert (rows["high"] >= rows["value"]).all()


def test_copies_are_said_and_belong_to_who_was_first():
    frame = table(200).with_columns(at=pl.lit("2024-01-01"))
    stolen = frame.filter(pl.col("worker") == "ann").with_columns(
        worker=pl.lit("zed"), at=pl.lit("2025-01-01")
    )
    both = pl.concat([frame, stolen])
    result = anml.contributor_values(
        both, "label", "worker", test=table(200, 1, ()).drop("worker"), schema={"time": "at"}
    )
    assert any("near-duplicates of other rows and count once" in note for note in result.notes)
    zed = result.contributors.filter(pl.col("contributor") == "zed").row(0, named=True)
    assert zed["value"] == pytest.approx(0, abs=1e-9)
    assert zed["counted"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "shapely"}, "unknown method 'shapely'"),
        ({"estimator": "forest"}, "unknown estimator 'forest'"),
        ({"estimator": 3}, "or have fit and predict, got 3"),
        (
            {"estimator": LinearRegression()},
            "a classifier for labels that are classes, got Linear",
        ),
        ({"scoring": "r2"}, "unknown metric of classification 'r2'"),
        ({"scoring": max}, "needs a custom estimator"),
        ({"n_evaluations": 3}, "must be at least 16, got 3"),
        ({"contributor": "nobody"}, "nobody"),
        ({"run": "nowhere"}, "is not a run folder"),
    ],
)
def test_bad_requests_are_one_sentence(change, message):
    with pytest.raises(ValueError, match=message):
        anml.contributor_values(table(), **{"label": "label", "contributor": "worker", **change})


def test_one_contributor_is_refused_and_a_failing_model_is_said():
    with pytest.raises(InputError, match="at least two contributors, got only 'ann'"):
        anml.contributor_values(table().with_columns(worker=pl.lit("ann")), "label", "worker")

    class Broken(LogisticRegression):
        def fit(self, x, y):
            raise RuntimeError("no licence")

    with pytest.raises(InputError, match="the utility failed: RuntimeError: no licence"):
        anml.contributor_values(table(), "label", "worker", estimator=Broken())


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="has files and no earlier run"):
        anml.contributor_values(table(), "label", "worker").save(tmp_path)


def test_other_shapes_are_refused_by_name(tmp_path):
    pairs = pl.DataFrame({
        "first": ["a", "b", "c"] * 20, "second": ["b", "c", "a"] * 20,
        "choice": ["first", "first", "second"] * 20, "judge": [f"j{i % 4}" for i in range(60)],
    })  # fmt: skip
    path = tmp_path / "pairs.csv"
    pairs.write_csv(path)
    with pytest.raises(UnsupportedError, match="task 'preferences'"):
        compute_values(path, ValueRequest(task="preferences"))
    anml.audit(path, contributor="judge", task="preferences", recipe={"profile": "quick"}).save(
        tmp_path / "audit"
    )
    with pytest.raises(UnsupportedError, match="task 'preferences'"):
        compute_values(path, ValueRequest(), run=tmp_path / "audit")
