"""Files to relabel from: what Label Studio, Argilla and a spreadsheet take, checked key by key."""

import csv
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.io.source import read_source, table_source
from anml.io.tables import read_table
from anml.pipeline.review_queue import ReviewQueue
from anml.review.files import FORMATS, format_queue

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

DATA = Path(__file__).parents[1] / "data"


def listing(rows, items, given, suggested, probability=0.8):
    n = len(rows)
    frame = pl.DataFrame(
        {
            "row": rows, "item": items, "annotation_id": pl.Series([None] * n, dtype=pl.String),
            "contributor": ["eve"] * n, "label": given, "suggested_label": suggested,
            "p_suggested_label": pl.Series([probability] * n, dtype=pl.Float64),
            "consensus": pl.Series([None] * n, dtype=pl.String),
            "p_correct": [0.2] * n, "p_label_wrong": [0.8] * n, "reason": ["eve contradicts the others"] * n,
        }
    )  # fmt: skip
    return ReviewQueue(frame, n, 0.8 * n, 0.8 * n, n, None)


def check_label_studio(tasks, controls, values):
    """Check the requirements of Label Studio's import and of its predictions."""
    assert isinstance(tasks, list)
    assert tasks
    for task in tasks:
        assert set(task) <= {"id", "data", "predictions", "annotations", "meta"}
        assert isinstance(task["data"], dict)
        assert task["data"]
        assert all(re.fullmatch(r"[A-Za-z_]\w*", key) for key in task["data"])
        for prediction in task["predictions"]:
            assert isinstance(prediction["model_version"], str)
            assert prediction.get("score") is None or 0 <= prediction["score"] <= 1
            ids = [result["id"] for result in prediction["result"]]
            assert len(ids) == len(set(ids)) > 0
            for result in prediction["result"]:
                to_name, kind = controls[result["from_name"]]
                assert (result["to_name"], result["type"]) == (to_name, kind)
                assert set(result["value"][kind]) <= set(values)


def test_label_studio_gets_its_tasks_back_with_the_suggestion_as_a_prediction():
    path = DATA / "label_studio.json"
    source = read_source(path, "auto", {"label": None})
    text = format_queue(listing([0, 2], ["1", "1"], ["good", "bad"], ["bad", "good"]), source)
    tasks = json.loads(text)
    check_label_studio(tasks, {"tone": ("text", "choices")}, {"good", "bad"})
    assert tasks[1]["id"] == 1
    assert tasks[1]["data"]["text"] == "The nurse was kind and quick"
    assert tasks[1]["data"]["length"] == 28
    assert tasks[1]["data"]["anml_annotation"] == "103"
    assert tasks[1]["data"]["anml_label"] == "bad"
    assert tasks[1]["data"]["anml_reason"] == "eve contradicts the others"
    (prediction,) = tasks[1]["predictions"]
    assert (prediction["model_version"], prediction["score"]) == ("anml", 0.8)
    assert prediction["result"][0]["value"] == {"choices": ["good"]}


def label_studio(tmp_path, results, question=None):
    tasks = [
        {"id": at, "data": {"image": "a.png", "anml_old": "no feature"},
         "annotations": [{"id": 7 + at, "completed_by": 1, "result": result}]}
        for at, result in enumerate(results)
    ]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    return read_source(path, "label-studio", {"label": question})


@pytest.mark.parametrize(
    ("result", "suggested", "value"),
    [
        ({"type": "rating", "value": {"rating": 4}}, "2", {"rating": 2}),
        ({"type": "number", "value": {"number": 1.5}}, "3.25", {"number": 3.25}),
        ({"type": "choices", "value": {"choices": ["a", "b"]}}, '["a", "c"]', {"choices": ["a", "c"]}),
        ({"type": "textarea", "value": {"text": ["helo"]}}, "hello", {"text": ["hello"]}),
    ],
    ids=["rating", "number", "choices", "textarea"],
)  # fmt: skip
def test_a_suggestion_has_the_shape_of_the_answer_that_it_replaces(result, suggested, value, tmp_path):
    source = label_studio(tmp_path, [[{"id": "x", "from_name": "q", "to_name": "image", **result}]])
    (task,) = json.loads(format_queue(listing([0], ["0"], ["old"], [suggested]), source))
    (made,) = task["predictions"][0]["result"]
    assert made["value"] == value
    assert (made["from_name"], made["to_name"], made["type"]) == ("q", "image", result["type"])
    assert made["id"] != "x"


def test_several_regions_have_no_suggestion_and_several_questions_the_one_that_was_named(tmp_path):
    tone = {"from_name": "tone", "to_name": "t", "type": "choices", "value": {"choices": ["a"]}}
    topic = {"from_name": "topic", "to_name": "t", "type": "choices", "value": {"choices": ["u"]}}
    source = label_studio(tmp_path, [[tone, topic]], "topic")
    (task,) = json.loads(format_queue(listing([0], ["0"], ["u"], ["v"]), source))
    assert task["predictions"][0]["result"][0]["from_name"] == "topic"
    source = label_studio(tmp_path, [[tone, {**tone, "value": {"choices": ["b"]}}]])
    (task,) = json.loads(format_queue(listing([0], ["0"], ["a"], ["b"]), source))
    assert task["predictions"] == []


def test_no_suggestion_is_no_prediction():
    path = DATA / "label_studio.json"
    source = read_source(path, "auto", {"label": None})
    none = pl.Series([None], dtype=pl.String)
    (task,) = json.loads(format_queue(listing([0], ["1"], ["good"], none, None), source))
    assert task["predictions"] == []
    assert "anml_suggested" not in task["data"]


def test_what_we_wrote_beside_the_data_is_no_feature_when_it_comes_back(tmp_path):
    tone = {"from_name": "tone", "to_name": "t", "type": "choices", "value": {"choices": ["a"]}}
    source = label_studio(tmp_path, [[tone]])
    assert "anml_old" not in source.table.frame.columns


@pytest.mark.parametrize("name", ["argilla_nested.json", "argilla_flat.json"])
def test_argilla_gets_records_under_their_ids_with_a_suggestion(name):
    path = DATA / name
    source = read_source(path, "auto", {"label": None, "time": None})
    (record,) = json.loads(format_queue(listing([0], ["r1"], ["neg"], ["pos"]), source))
    assert record["id"] == "r1"
    assert record["fields"] == {"text": "a fine day"}
    assert record["suggestions"] == {"tone": {"value": "pos", "agent": "anml", "score": 0.8}}
    assert record["responses"] == {}
    # What Argilla reads of a record; the rest it passes over.
    assert set(record) - {"id", "_server_id", "fields", "metadata", "suggestions", "responses"} == {"anml"}
    assert record["anml"]["reason"] == "eve contradicts the others"


def test_a_table_has_its_own_columns_and_one_to_fill_in():
    frame = pl.DataFrame(
        {"text": ["=cmd()", "fine"], "reason": ["r", "s"], "label": ["a", "b"], "parts": [[1], [2]]}
    )
    source = table_source(read_table(frame))
    text = format_queue(listing([1, 0], ["1", "0"], ["b", "a"], ["a", "b"]), source)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["text"] for row in rows] == ["fine", "'=cmd()"]
    assert [row["data_reason"] for row in rows] == ["s", "r"]
    assert [row["new_label"] for row in rows] == ["", ""]
    assert rows[0]["label"] == "b"
    assert rows[0]["p_label_wrong"] == "0.8"
    assert "annotation_id" not in rows[0]


def test_a_format_that_the_data_did_not_come_in_is_one_sentence():
    source = table_source(read_table(pl.DataFrame({"x": [1.0, 2], "label": ["a", "b"]})))
    looking = listing([0], ["0"], ["a"], ["b"])
    with pytest.raises(
        AnmlError, match=r"format label-studio needs data that came from it.*use --format csv"
    ):
        format_queue(looking, source, "label-studio")
    with pytest.raises(AnmlError, match="unknown format 'xml'"):
        format_queue(looking, source, "xml")
    assert set(FORMATS) == {"label-studio", "argilla", "csv"}
