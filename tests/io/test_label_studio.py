"""Label Studio's export: people, labels, ground truth, reviews, and what is refused."""

import json
from pathlib import Path

import pytest

from anml.core.errors import InputError, UnsupportedError
from anml.io import label_studio
from anml.io.columns import choose_columns
from anml.io.file import InputFile
from anml.io.label_studio import annotator_id
from anml.io.source import read_source

DATA = Path(__file__).parents[1] / "data"


def read_label_studio(path, question=None):
    return label_studio.read_label_studio(InputFile(path), {"label": question})


def rows(result, *names):
    return result.rows.select(*names).rows()


def test_label_studio_people_labels_and_truth():
    result = read_label_studio(DATA / "label_studio.json")
    assert rows(result, "item", "contributor", "label", "truth") == [
        ("1", "10", "good", None),
        ("1", "ann@lab.example", "good", "good"),
        ("1", "12", "bad", "good"),
        ("2", "ann@lab.example", "bad", None),
        ("2", "13", "bad", None),
        ("3", "ann@lab.example", "good", None),
    ]
    assert result.rows["time"][1] == "2026-01-09T10:00:00.000000Z"
    assert result.rows["length"].to_list() == [28, 28, 28, 24, 24, 11]
    assert result.rows["lead_time"].to_list() == [4.3, 6.0, 1.0, 5.0, 2.0, 5.0]
    assert result.warnings == [
        "1 cancelled annotation was left out",
        "1 empty annotation was left out",
    ]


def test_label_studio_reviews():
    result = read_label_studio(DATA / "label_studio.json")
    assert result.evidence.select("item", "contributor", "kind", "issuer").rows() == [
        ("1", "ann@lab.example", "review-accepted", "10"),
        ("1", "12", "review-rejected", "10"),
        ("2", "ann@lab.example", "review-accepted", "10"),
        ("2", "13", "review-accepted", "13"),
        ("3", "ann@lab.example", "fixed", "unknown reviewer"),
    ]


def test_label_studio_says_what_is_wrong(tmp_path):
    file = tmp_path / "x.json"
    for text, message in [
        ("[1]", "list of tasks"),
        ('[{"id": 1, "choice": "a"}]', "not JSON-MIN"),
        ('[{"id": 1, "annotations": []}]', "no finished label-studio label"),
        ("{", "neither JSON nor lines"),
    ]:
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            read_label_studio(file)
    two = [{"from_name": n, "type": "choices", "value": {"choices": [n]}} for n in ("tone", "topic")]
    file.write_text(json.dumps([{"id": 1, "annotations": [{"completed_by": 1, "result": two}]}]))
    with pytest.raises(InputError, match="several questions \\(tone, topic\\)"):
        read_label_studio(file)
    assert read_label_studio(file, "topic").rows["label"].to_list() == ["topic"]


def test_label_studio_warns_when_one_account_holds_most_rows(tmp_path):
    def annotation(contributor):
        result = [{"from_name": "t", "type": "rating", "value": {"rating": 4}}]
        return {"completed_by": contributor, "result": result}

    tasks = [{"id": i, "annotations": [annotation(1 if i < 6 else 2)]} for i in range(10)]
    file = tmp_path / "x.json"
    file.write_text("\n".join(json.dumps(task) for task in tasks))
    output = read_label_studio(file)
    assert output.rows["label"].to_list() == ["4"] * 10
    assert "'1', holds 60% of the rows" in output.warnings[0]


def export(tmp_path, *annotations, **task):
    file = tmp_path / "x.json"
    file.write_text(json.dumps([{"id": 1, "annotations": list(annotations), **task}]))
    return file


def annotated(contributor=1, value=None, kind="choices", **more):
    result = [{"from_name": "q", "type": kind, "value": {"choices": ["a"]} if value is None else value}]
    return {"completed_by": contributor, "result": result, **more}


@pytest.mark.parametrize(
    ("contributor", "expected"),
    [
        (3, "3"),
        ("ann", "ann"),
        ({"id": 3, "email": "ann@lab.example", "username": "ann"}, "ann@lab.example"),
        ({"id": 3, "username": "ann", "email": ""}, "ann"),
        ({"id": 3}, "3"),
        ({}, None),
        ("", None),
    ],
)
def test_accounts_in_every_form(contributor, expected):
    assert annotator_id(contributor) == expected


@pytest.mark.parametrize(
    ("kind", "value", "label"),
    [
        ("choices", {"choices": ["a"]}, "a"),
        ("choices", {"choices": ["b", "a"]}, '["a", "b"]'),
        ("rating", {"rating": 4}, "4"),
        ("number", {"number": 2.5}, "2.5"),
        ("textarea", {"text": ["free words"]}, "free words"),
        (None, {"taxonomy": ["t"]}, "t"),
        ({}, {"a": 1, "b": 2}, '{"a": 1, "b": 2}'),
    ],
)
def test_labels_of_every_control(tmp_path, kind, value, label):
    assert read_label_studio(export(tmp_path, annotated(1, value, kind))).rows["label"].to_list() == [label]


@pytest.mark.parametrize(
    ("annotation", "kind", "issuer"),
    [
        ({"reviews": [{"accepted": True, "created_by": 9}]}, "review-accepted", "9"),
        ({"reviews": [{"accepted": False, "created_by": {"email": "z@x"}}]}, "review-rejected", "z@x"),
        ({"reviews": [{"accepted": True, "fixed_annotation_history": 4}]}, "fixed", "unknown reviewer"),
        ({"reviews": [{"accepted": False, "fixed": True}]}, "review-rejected", "unknown reviewer"),
        ({"last_action": "accepted", "updated_by": 8}, "review-accepted", "8"),
        ({"last_action": "fixed_and_accepted"}, "fixed", "unknown reviewer"),
        ({"last_action": "rejected"}, "review-rejected", "unknown reviewer"),
    ],
)
def test_every_review_in_every_form(tmp_path, annotation, kind, issuer):
    result = read_label_studio(export(tmp_path, annotated(**annotation))).evidence
    assert result.select("item", "contributor", "kind", "issuer").rows() == [("1", "1", kind, issuer)]


def test_reviews_go_before_the_last_action(tmp_path):
    both = annotated(reviews=[{"accepted": False, "created_by": 9}], last_action="accepted")
    assert read_label_studio(export(tmp_path, both)).evidence["kind"].to_list() == ["review-rejected"]


def test_an_action_that_is_no_review_says_nothing(tmp_path):
    assert read_label_studio(export(tmp_path, annotated(last_action="updated"))).evidence.is_empty()


def test_a_cancelled_truth_is_no_truth(tmp_path):
    file = export(
        tmp_path, annotated(1), annotated(2, {"choices": ["b"]}, ground_truth=True, was_cancelled=True)
    )
    assert read_label_studio(file).rows["truth"].to_list() == [None]


def test_tasks_without_a_number_are_counted(tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps([{"annotations": [annotated()]}, {"completions": [annotated(2)]}]))
    assert read_label_studio(file).rows["item"].to_list() == ["0", "1"]


@pytest.mark.parametrize(
    ("task", "says"),
    [
        ({"annotations": "none"}, "annotations of task 1 in x.json must be a list of objects, got 'none'"),
        ({"annotations": [annotated() | {"result": 3}]}, "the result of an annotation must be a list"),
        ({"annotations": [annotated() | {"reviews": ["ok"]}]}, "the reviews of an annotation must be a list"),
        ({"annotations": [annotated()], "data": [1]}, "data of task 1 in x.json must be an object"),
    ],
)
def test_parts_of_another_shape_are_named(tmp_path, task, says):
    file = tmp_path / "x.json"
    file.write_text(json.dumps([{"id": 1, **task}]))
    with pytest.raises(InputError, match=says):
        read_label_studio(file)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("labels", {"start": 0, "end": 4, "labels": ["name"]}, "end, start"),
        ("rectanglelabels", {"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["cat"]}, "height"),
        ("polygonlabels", {"points": [[1, 2]], "polygonlabels": ["cat"]}, "points"),
        ("choices", {"start": 0.5, "end": 2.0, "choices": ["laughs"]}, "end, start"),
    ],
)
def test_answers_with_a_place_are_refused_and_not_cut_to_their_label(tmp_path, kind, value, message):
    with pytest.raises(UnsupportedError, match=f"answers to 'q' have positions or ranks \\({message}"):
        read_label_studio(export(tmp_path, annotated(1, value, kind)))


def test_time_spent_in_the_data_of_a_task_judges_nobody(tmp_path):
    tasks = json.loads((DATA / "label_studio.json").read_text())
    for place, task in enumerate(tasks):
        task["data"] |= {"lead_time": place / 2, "size": place % 2}
    (tmp_path / "x.json").write_text(json.dumps(tasks))
    result = read_source(tmp_path / "x.json", "auto", {})
    assert "data_lead_time" in result.table.frame.columns
    columns, _ = choose_columns(result.table.frame, **result.roles)
    assert not [name for name in columns.features if "lead_time" in name]
