"""Argilla's export, nested and flattened: who submitted what, and what is left out."""

import json
from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.io import argilla
from anml.io.argilla import NO_STATUS, responses_to
from anml.io.file import InputFile

DATA = Path(__file__).parents[1] / "data"


def read_argilla(path, question=None, time=None):
    return argilla.read_argilla(InputFile(path), {"label": question, "time": time})


def rows(result, *names):
    return result.rows.select(*names).rows()


def test_argilla_nested_loses_the_status_and_says_so():
    result = read_argilla(DATA / "argilla_nested.json", time="when")
    assert rows(result, "item", "contributor", "label", "text") == [
        ("r1", "5a1b", "pos", "a fine day"),
        ("r1", "77cc", "neg", "a fine day"),
        ("r2", "5a1b", "neg", "rain again"),
    ]
    assert result.rows["time"][0] == "2026-02-01T10:00:00.000000Z"
    assert NO_STATUS in result.warnings


def test_argilla_flattened_keeps_only_what_was_submitted():
    result = read_argilla(DATA / "argilla_flat.json")
    assert rows(result, "item", "contributor", "label") == [("r1", "5a1b", "pos"), ("r2", "77cc", "neg")]
    assert NO_STATUS not in result.warnings
    assert "2 responses that were not submitted were left out" in result.warnings
    with pytest.raises(InputError, match="no question 'topic'; this export has: tone"):
        read_argilla(DATA / "argilla_flat.json", "topic")


def export(tmp_path, *entries):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(list(entries)))
    return file


def flat(values, users=None, status=None, **more):
    entry = {"id": "r1", "q.responses": values, **more}
    return (
        entry
        | ({"q.responses.users": users} if users else {})
        | ({"q.responses.status": status} if status else {})
    )


def test_records_under_one_key_are_read_too(tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"records": [flat(["a"], ["u1"])]}))
    assert rows(read_argilla(file), "item", "contributor", "label") == [("r1", "u1", "a")]


@pytest.mark.parametrize("status", ["draft", "discarded", "pending"])
def test_only_submitted_responses_count(tmp_path, status):
    file = export(tmp_path, flat(["a", "b"], ["u1", "u2"], ["submitted", status]))
    result = read_argilla(file)
    assert result.rows["label"].to_list() == ["a"]
    assert "1 response that was not submitted was left out" in result.warnings


def test_a_nested_status_is_used_where_there_is_one(tmp_path):
    response = {"value": "a", "user_id": "u1", "status": "submitted"}
    file = export(tmp_path, {"id": 1, "responses": {"q": [response, response | {"status": "draft"}]}})
    result = read_argilla(file)
    assert result.rows.height == 1
    assert NO_STATUS not in result.warnings


def test_records_without_an_id_are_counted(tmp_path):
    file = export(tmp_path, {"q.responses": ["a"], "q.responses.users": ["u"]},
                  {"_server_id": "s7", "q.responses": ["b"], "q.responses.users": ["u"]})  # fmt: skip
    assert read_argilla(file).rows["item"].to_list() == ["0", "s7"]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"metadata": {"when": "2026-01-01"}}, "2026-01-01T00:00:00.000000Z"),
        ({"metadata.when": "2026-01-01"}, "2026-01-01T00:00:00.000000Z"),
        ({"when": "2026-01-01"}, "2026-01-01T00:00:00.000000Z"),
        ({}, None),
    ],
)
def test_times_are_looked_for_where_exports_keep_them(tmp_path, place, expected):
    result = read_argilla(export(tmp_path, flat(["a"], ["u"], **place)), time="when")
    assert result.rows["time"].to_list() == [expected]


@pytest.mark.parametrize(
    ("entries", "question", "says"),
    [
        ([flat(["a"], ["u", "v"])], None, "q.responses, users and status of a record differ in length"),
        ([flat("a", ["u"])], None, "q.responses must be a list, got 'a'"),
        ([{"id": 1, "text": "no question"}], None, "name one question of this export; it has: none"),
        (
            [{"a.responses": ["x"], "b.responses": ["y"]}],
            None,
            "name one question of this export; it has: a, b",
        ),
        ([{"id": 1, "responses": {"q": ["a"]}}], None, "responses to q must be a list of objects"),
        ([flat(["a"], ["u"], metadata="x")], "q", "metadata of record r1 in x.json must be an object"),
        (["text"], None, "is not a list of tasks or records"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, entries, question, says):
    with pytest.raises(InputError, match=says):
        read_argilla(export(tmp_path, *entries), question)


@pytest.mark.parametrize("key", ["responses", "responses.users", "responses.status"])
@pytest.mark.parametrize("odd", [7, True, "x", {"a": 1}])
def test_responses_that_are_no_list_are_said(key, odd):
    entry = {"q.responses": ["a"], "q.responses.users": ["u"], "q.responses.status": ["submitted"]}
    with pytest.raises(InputError, match=rf"q\.{key} must be a list"):
        list(responses_to({**entry, f"q.{key}": odd}, "q"))
