"""Scores of Langfuse and Phoenix in the shapes of their exports."""

import json

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.io.file import InputFile
from anml.io.formats import detect_format, read_export


def score(item, source, value, **more):
    return {"id": "x", "traceId": item, "name": "helpful", "source": source, "dataType": "CATEGORICAL",
            "stringValue": value, "value": 1, "timestamp": "2026-05-01T10:00:00Z", **more}  # fmt: skip


SCORES = [
    score("t1", "EVAL", "yes", metadata={"model": "judge-1"}),
    score("t1", "ANNOTATION", "no", authorUserId="ana"),
    score("t2", "EVAL", "no", evaluatorId="e-7", observationId="o2"),
    score("t2", "ANNOTATION", "no"),
    score("t3", "API", None) | {"value": 0.5},
]


@pytest.mark.parametrize("form", ["list", "api", "lines", "csv"])
def test_langfuse_scores_by_people_and_by_evaluators(tmp_path, form):
    file = tmp_path / {"list": "a.json", "api": "a.json", "lines": "a.jsonl", "csv": "a.csv"}[form]
    if form == "csv":
        cells = [{k: json.dumps(v) if isinstance(v, dict) else v for k, v in each.items()} for each in SCORES]
        pl.from_dicts(cells, infer_schema_length=None).write_csv(file)
    else:
        whole = {"data": SCORES, "meta": {"page": 1}} if form == "api" else SCORES
        file.write_text("\n".join(map(json.dumps, SCORES)) if form == "lines" else json.dumps(whole))
    tool, made = read_export(InputFile(file), "auto", {"label": None})
    assert tool == "langfuse"
    rows = made.rows.select("item", "contributor", "label").rows()
    assert rows[:4] == [
        ("t1", "judge-1", "yes"),
        ("t1", "ana", "no"),
        ("o2", "e-7", "no"),
        ("t2", "people", "no"),
    ]
    assert rows[4][:2] == ("t3", "api")
    assert float(rows[4][2]) == 0.5
    assert made.rows["time"][0].startswith("2026-05-01T10:00:00")
    assert "1 score by people without a user" in made.warnings[0]


def test_scores_of_one_question_are_named(tmp_path):
    both = [*SCORES, {**SCORES[0], "name": "helpful-gpt", "metadata": None}]
    (tmp_path / "a.json").write_text(json.dumps(both))
    with pytest.raises(AnmlError, match="with --label; this file has 'helpful' and 'helpful-gpt'"):
        read_export(InputFile(tmp_path / "a.json"), "auto", {"label": None})
    with pytest.raises(AnmlError, match="no score is called 'tone'"):
        read_export(InputFile(tmp_path / "a.json"), "auto", {"label": "tone"})
    rows = read_export(InputFile(tmp_path / "a.json"), "auto", {"label": "helpful, helpful-gpt"})[1].rows
    assert rows["contributor"].to_list()[-1] == "helpful-gpt"
    only = read_export(InputFile(tmp_path / "a.json"), "auto", {"label": "helpful"})[1].rows
    assert only.height == 5


def test_phoenix_annotations_nested_and_flat(tmp_path):
    def annotation(span, kind, **result):
        return {"span_id": span, "name": "correct", "annotator_kind": kind, "result": result}

    nested = [
        annotation("s1", "LLM", label="right", score=1) | {"metadata": {"model": "judge-1"}},
        annotation("s1", "HUMAN", label="wrong") | {"identifier": "ana"},
        annotation("s2", "CODE", label=None, score=0),
        annotation("s2", "LLM", explanation="no label"),
    ]
    (tmp_path / "a.json").write_text(json.dumps(nested))
    columns = {
        "span_id": ["s1", "s1", "s2"],
        "annotation_name": ["correct"] * 3,
        "annotator_kind": ["LLM", "HUMAN", "CODE"],
        "result.label": ["right", "wrong", None],
        "result.score": [1, None, 0],
        "identifier": ["judge-1", "ana", None],
    }
    flat = pl.DataFrame(columns)
    flat.write_csv(tmp_path / "a.csv")
    for name in ("a.json", "a.csv"):
        file = InputFile(tmp_path / name)
        assert detect_format(file) == "phoenix"
        rows = (
            read_export(file, "auto", {"label": None})[1].rows.select("item", "contributor", "label").rows()
        )
        assert rows == [("s1", "judge-1", "right"), ("s1", "ana", "wrong"), ("s2", "code", "0")]
