"""Predictions, embeddings, known labels and labels alone, as people type them."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anml as package
from made_up import consortium

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_training", "shared_results")]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    consortium().with_columns(id=pl.int_range(pl.len())).write_csv(path)
    p = 0.45 + 0.1 * np.random.default_rng(0).uniform(size=120)
    frame = pl.DataFrame({"yes": p, "no": 1 - p})
    frame.write_csv(tmp_path / "p.csv")
    frame.with_columns(id=pl.int_range(pl.len()))[::-1].write_parquet(tmp_path / "keyed.parquet")
    np.save(tmp_path / "e.npy", consortium().select("width", "height", "depth").to_numpy())
    return path


@pytest.fixture
def known(monkeypatch):
    """Record the inputs of `assess`, then run it without them."""
    from dataclasses import replace

    from anml.assessment.assess import assess
    from anml.pipeline import audit

    calls = []

    def record(x, y, task, classes, known, policy, **more):
        calls.append(known)
        plain = replace(known, predictions=None, truth=None, wrong=None)
        return assess(x, y, task, classes, plain, policy, **more)

    monkeypatch.setattr(audit, "assess", record)
    return calls


@pytest.mark.parametrize("command", ["audit", "train"])
def test_predictions_by_position_and_by_key(command, anml, data, tmp_path, known):
    rest = ["--set", "evaluate=false", "--recipe", "uniform", "--json", "--out", tmp_path / "out"]
    by_position = anml(command, data, "--predictions", tmp_path / "p.csv", *rest)
    by_key = anml(command, data, "--predictions", tmp_path / "keyed.parquet", "--column", "key=id", *rest)
    assert (by_position.code, by_key.code) == (0, 0)
    np.testing.assert_allclose(known[0].predictions, known[1].predictions)
    assert json.loads(by_key.out)["data"]["predictions"]["name"] == "keyed.parquet"


def test_embeddings_and_known(anml, data, tmp_path, known):
    frame = pl.read_csv(data).with_columns(right=pl.col("contributor") != "dan")
    frame.write_csv(data)
    options = [
        "--embeddings",
        tmp_path / "e.npy",
        "--column",
        "true_label=right",
        "--set",
        "evaluate=false",
        "--json",
    ]
    ran = anml("audit", data, *options)
    assert ran.code == 0
    result = json.loads(ran.out)
    assert result["schema"]["true_label"] == "right"
    assert result["schema"]["features"] == []
    assert known[0].wrong.sum() == 30


def test_a_model_of_embeddings_in_the_terminal(anml, data, tmp_path):
    given = ["--embeddings", tmp_path / "e.npy", "--set", "evaluate=false"]
    ran = anml("train", data, *given, "--model", "logistic", "--out", tmp_path / "run")
    assert ran.code == 0
    assert anml("predict", tmp_path / "run", tmp_path / "e.npy").out.startswith("row,label,probability\n")


REFUSED = {
    "--predictions none.csv": "predictions file 'none.csv' does not exist in folder",
    "--predictions {0}/keyed.parquet": "column 'id' is also in the table: name it as key to align by it",
    "--predictions {0}/p.csv --column key=id": "the predictions have no key column 'id'; columns: yes, no",
    "--predictions {0}/short.csv": "the predictions have 3 rows and the table has 120",
    "--embeddings {0}/data.csv": "of the embeddings is also in the table; name it as key",
    "--embeddings {0}/e.npy --set features=width": "embeddings replace feature columns; pass",
    "--embeddings {0}/e.npy --test {0}/data.csv": (
        "a model cannot be evaluated on a test table: the test table has no embeddings"
    ),
    "--column key=idd": "there is no column 'idd'",
    "--column true_label=nothing": "there is no column 'nothing'",
    "--column true_label=width": "column 'width' (true_label) must hold true, false, or labels of 'label'",
    "--column true_label=contributor --column test_label=contributor": (
        "is named as test_label and as true_label; it can be one of them"
    ),
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_is_refused_is_one_sentence_and_writes_nothing(options, anml, data, tmp_path):
    pl.DataFrame({"yes": [0.5] * 3}).write_csv(tmp_path / "short.csv")
    ran = anml("audit", data, "--out", tmp_path / "out", *options.format(tmp_path).split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert REFUSED[options] in ran.err
    assert not (tmp_path / "out").exists()


def test_labels_alone_that_are_not_enough(anml, tmp_path):
    (tmp_path / "x.csv").write_text("worker,label\nw1,a\nw2,b\nw1,b\nw2,a\n")
    ran = anml("audit", tmp_path / "x.csv")
    assert ran.code == 2
    assert ran.err.endswith(
        "needed are feature columns, predictions, embeddings, or an item and a contributor column with "
        "several labels for an item\n"
    )


def test_test_labels_of_an_export_are_not_refused_as_ignored(anml, tmp_path):
    from pathlib import Path

    export = Path(__file__).parents[1] / "data" / "toloka.tsv"
    ran = anml(
        "audit",
        export,
        "--column",
        "test_label=truth",
        "--set",
        "evaluate=false",
        "--recipe",
        "uniform",
        "--json",
    )
    assert ran.code == 0, ran.err
    result = json.loads(ran.out)
    assert (result["schema"]["test_label"], result["schema"]["true_label"]) == ("truth", None)
    assert result["test_label_check"]["n_correct"] == result["test_label_check"]["n_wrong"] == 1
    assert result["schema"]["features"] == ["text"]


def test_samples_of_a_pandas_frame_keep_its_index():
    frame = consortium(60).to_pandas()
    frame.index = [f"r{at}" for at in range(60)]
    frame.loc["r3", "label"] = None
    shuffled = frame.sample(frac=1.0, random_state=0)
    samples = package.audit(shuffled, evaluate=False, recipe="uniform").samples
    assert samples.index.tolist() == [name for name in shuffled.index if name != "r3"]
    assert (shuffled.loc[samples.index, "label"] == samples["label"]).all()
    assert (shuffled.loc[samples.index, "contributor"] == samples["contributor"]).all()
    pairs = frame.set_index(["contributor", "width"], drop=False)
    pairs.index.names = ["who", "how wide"]
    assert isinstance(package.audit(pairs, evaluate=False, recipe="uniform").samples.index, pd.MultiIndex)


def test_samples_keep_the_columns_that_name_rows_so_that_they_can_be_joined_again():
    frame = consortium(40).with_columns(
        patient_id=pl.int_range(40) * 7 + 3, ward=pl.Series([f"w{at % 9}" for at in range(40)])
    )
    frame = frame.sample(fraction=1.0, shuffle=True, seed=3).with_columns(
        label=pl.when(pl.col("patient_id") == 3).then(None).otherwise("label")
    )
    samples = package.audit(frame, schema={"key": "ward"}, evaluate=False, recipe="uniform").samples
    assert "patient_id" in samples.columns
    both = samples.join(frame, on=["patient_id", "ward"], suffix="_own", maintain_order="left")
    assert both.height == 39
    assert (both["label"] == both["label_own"]).all()
    assert (both["contributor"] == both["contributor_own"]).all()


def test_a_shuffled_pandas_frame_and_its_samples_align_by_index():
    frame = consortium(40).to_pandas().sample(frac=1.0, random_state=1)
    samples = package.audit(frame, evaluate=False, recipe="uniform").samples
    assert not samples.index.is_monotonic_increasing
    joined = frame.join(samples[["label", "p_correct"]].rename(columns={"label": "said"}))
    assert (joined["label"] == joined["said"]).all()


def test_a_key_whose_name_is_taken_gets_another():
    frame = consortium(40).with_columns(row=pl.Series([f"r{at}" for at in range(40)]))
    samples = package.audit(frame, schema={"key": "row"}, evaluate=False, recipe="uniform").samples
    assert samples["row"].to_list() == list(range(40))
    assert samples["key_row"].to_list() == frame["row"].to_list()
