"""Inputs of `assess` from each entry point; its results are not tested here."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import anml
from anml.assessment.assess import SampleInfo, assess
from anml.core.errors import AnmlError, InputError, UnsupportedError
from anml.pipeline import audit as audit_module
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.result import run_metadata
from anml.pipeline.train import predict_table, train_table
from made_up import consortium, measurements

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

DATA = Path(__file__).parents[1] / "data"
CROWD = pl.DataFrame(
    {
        "task": [f"t{at // 3}" for at in range(60)],
        "worker": [f"w{at % 3}" for at in range(60)],
        "label": [("cat", "dog")[at // 3 % 2] for at in range(60)],
    }
)


class Seen(NamedTuple):
    x: Any
    y: Any
    known: SampleInfo


@pytest.fixture
def inputs(monkeypatch):
    """Record the inputs of `assess`, which then runs on constructed features only."""
    calls: list[Seen] = []

    def record(x, y, task, classes, known, policy, **more):
        calls.append(Seen(x, y, known))
        stand_in = x if x.shape[1] else np.random.default_rng(0).normal(size=(len(y), 2))
        plain = replace(known, predictions=None, truth=None, wrong=None)
        return assess(stand_in, y, task, classes, plain, policy, **more)

    monkeypatch.setattr(audit_module, "assess", record)
    return calls


def audited(frame, **request):
    return audit_table(frame, Request(**{"evaluate": False, "recipe": "uniform", **request}))[0]


def probabilities(rows):
    p = np.random.default_rng(0).uniform(size=rows)
    return pl.DataFrame({"yes": p, "no": 1 - p})


def test_predictions_beside_features(inputs):
    frame = consortium(60).with_columns(label=pl.when(pl.int_range(pl.len()) > 3).then("label"))
    given = probabilities(60)
    result = audited(frame, predictions=given)
    (call,) = inputs
    assert call.x.shape == (56, 3)
    np.testing.assert_allclose(call.known.predictions[:, 1], given["yes"].to_numpy()[4:])
    assert run_metadata(result, "audit")["data"]["predictions"]["name"] == "frame"
    assert "held-out predictions are given for 2 classes: no, yes" in result.notes


def test_predictions_without_features(inputs):
    audited(consortium(60).select("label", "contributor"), predictions=probabilities(60))
    assert inputs[0].x.shape == (60, 0)


def test_predicted_numbers(inputs):
    frame = measurements()
    near = frame["dose"].to_numpy() + np.random.default_rng(0).normal(size=120)
    audited(frame, label="dose", predictions=near)
    np.testing.assert_array_equal(inputs[0].known.predictions, near)


def test_embeddings_in_place_of_features(inputs):
    vectors = np.random.default_rng(0).normal(size=(60, 5))
    result = audited(consortium(60), embeddings=vectors, evaluate=True)
    assert inputs[0].x.tolist() == vectors.astype(np.float32).tolist()
    assert result.columns.features == ()
    assert result.columns.contributor == "contributor"
    assert result.evaluation is not None
    assert "embeddings with 5 dimensions replace the feature columns" in result.notes


def test_known_labels(inputs):
    answer = pl.when(pl.int_range(pl.len()) < 4).then(pl.lit("yes")).alias("answer")
    result = audited(consortium(60).with_columns(answer).drop("verification"), true_label="answer")
    known, y = inputs[0].known, inputs[0].y
    assert known.truth.tolist() == [1] * 4 + [-1] * 56
    assert known.wrong.tolist() == [*(y[:4] != 1).tolist(), *[False] * 56]
    assert set(known.verification[:4]) <= {0.92, 0.07}
    assert set(known.verification[4:]) == {0.25}
    assert result.samples["label_is_correct"].to_list()[:4] == (y[:4] == 1).tolist()
    assert result.samples["label_is_correct"].null_count() == 56
    assert result.columns.true_label == "answer"


def test_nothing_new_is_given_without_being_asked(inputs):
    audited(consortium(60))
    known = inputs[0].known
    assert (known.predictions, known.truth, known.wrong) == (None, None, None)


def test_labels_alone(inputs):
    result = audited(CROWD, evaluate=True)
    assert inputs[0].x.shape == (60, 0)
    assert (result.columns.item, result.columns.contributor) == ("task", "worker")
    assert result.evaluation is None
    assert (
        "there are no feature columns; the audit uses the labels, and no model was evaluated" in result.notes
    )


NEEDED = "needed are feature columns, predictions, embeddings, or an item and a contributor column"


@pytest.mark.parametrize("columns", [("label",), ("label", "worker"), ("label", "task")])
def test_labels_alone_without_items_and_contributors_are_not_enough(columns):
    with pytest.raises(InputError, match=NEEDED):
        audited(CROWD.select(columns))


def test_labels_alone_need_several_for_an_item():
    frame = CROWD.with_columns(item=pl.int_range(pl.len()))
    with pytest.raises(InputError, match="every item of column 'item' has one label; needed are"):
        audited(frame.drop("task"))


def test_a_test_table_needs_features(inputs):
    with pytest.raises(
        UnsupportedError, match="cannot be evaluated on a test table: the table has no features"
    ):
        audit_table(CROWD, Request(), test=CROWD)
    with pytest.raises(
        UnsupportedError, match="cannot be evaluated on a test table: the test table has no embeddings"
    ):
        audit_table(consortium(60), Request(embeddings=np.ones((60, 2))), test=consortium(60))


def test_training_needs_features(inputs):
    with pytest.raises(UnsupportedError, match="no feature columns to train a model on; audit the table"):
        train_table(CROWD, Request())
    assert not inputs


def test_a_model_of_embeddings_predicts_for_embeddings(tmp_path):
    frame = consortium(60)
    vectors = frame.select("width", "height", "depth").to_numpy()
    trained = train_table(frame, Request(embeddings=vectors, evaluate=False), model="logistic")
    trained.save(tmp_path)
    np.save(tmp_path / "new.npy", vectors)
    predicted = predict_table(tmp_path, tmp_path / "new.npy")
    assert (predicted["label"] == frame["label"]).mean() > 0.7
    with pytest.raises(InputError, match="trained on embeddings of 3 dimensions, got 2"):
        predict_table(tmp_path, vectors[:, :2])


@pytest.mark.parametrize(
    ("request_of", "message"),
    [
        ({"key": "id"}, "there is no column 'id'"),
        ({"embeddings": np.ones((60, 2)), "features": ["width"]}, "embeddings replace feature columns"),
        ({"true_label": "contributr"}, "there is no column 'contributr'"),
        ({"true_label": "label", "label": "label"}, "'label' is named as label and as true_label"),
    ],
)
def test_what_does_not_go_together(request_of, message):
    with pytest.raises(AnmlError, match=message):
        audited(consortium(60), **request_of)


class TestPython:
    def test_every_door_is_open(self, inputs):
        frame = consortium(60).with_columns(id=pl.int_range(60), sure=pl.lit(True))
        keyed = probabilities(60).with_columns(id=pl.int_range(60)).sample(fraction=1.0, shuffle=True, seed=1)
        anml.audit(frame, predictions=keyed, evaluate=False, schema={"key": "id", "true_label": "sure"})
        assert inputs[0].known.truth.tolist() == inputs[0].y.tolist()
        np.testing.assert_allclose(inputs[0].known.predictions[:, 1], probabilities(60)["yes"].to_numpy())

    def test_what_a_reviewer_said_in_an_export_is_known(self, inputs):
        export = DATA / "label_studio.json"
        anml.audit(export, evaluate=False)
        assert inputs[0].known.truth.tolist() == [1, 1, 1, 0, 0, -1]
        assert inputs[0].known.wrong.tolist() == [False, False, True, False, False, False]

    def test_gold_of_an_export_only_checks(self, inputs):
        export = DATA / "label_studio.json"
        audit = anml.audit(export, evaluate=False, schema={"test_label": "truth"})
        # Both labels with a gold answer were reviewed as well: what is known does not check.
        assert audit._result.gold is None
        assert inputs[0].known.truth.tolist() == [1, 1, 1, 0, 0, -1]
        assert audit._result.columns.true_label is None
        assert "true_label" not in audit._result.columns.features

    def test_a_column_named_by_the_user_goes_before_the_exports_own(self, inputs):
        export = DATA / "toloka.tsv"
        audit = anml.audit(export, evaluate=False, schema={"true_label": "truth"})
        assert (audit._result.columns.true_label, audit._result.columns.reviewed) == ("truth", None)
