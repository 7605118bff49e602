"""Label Studio's export: people, labels, ground truth, reviews, and what is refused."""

import json
from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.intake.label_studio import read_label_studio

DATA = Path(__file__).parents[1] / "data"


def rows(found, *names):
    return found.rows.select(*names).rows()


def test_label_studio_people_labels_and_truth():
    found = read_label_studio(DATA / "label_studio.json")
    assert rows(found, "item", "contributor", "label", "truth") == [
        ("1", "10", "good", None),
        ("1", "ann@lab.example", "good", "good"),
        ("1", "12", "bad", "good"),
        ("2", "ann@lab.example", "bad", None),
        ("2", "13", "bad", None),
        ("3", "ann@lab.example", "good", None),
    ]
    assert found.rows["time"][1] == "2026-01-09T10:00:00.000000Z"
    assert found.rows["length"].to_list() == [28, 28, 28, 24, 24, 11]
    assert "lead_time" not in found.rows.columns
    assert found.warnings == [
        "1 cancelled annotations were left out",
        "1 empty annotations were left out",
    ]


def test_label_studio_reviews():
    found = read_label_studio(DATA / "label_studio.json")
    assert found.evidence.select("item", "contributor", "kind", "issuer").rows() == [
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
    def annotation(who):
        result = [{"from_name": "t", "type": "rating", "value": {"rating": 4}}]
        return {"completed_by": who, "result": result}

    tasks = [{"id": i, "annotations": [annotation(1 if i < 6 else 2)]} for i in range(10)]
    file = tmp_path / "x.json"
    file.write_text("\n".join(json.dumps(task) for task in tasks))
    found = read_label_studio(file)
    assert found.rows["label"].to_list() == ["4"] * 10
    assert "'1', holds 60% of the rows" in found.warnings[0]
