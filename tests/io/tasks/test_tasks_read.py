"""Choice of the reader by input; unsupported inputs are rejected."""

import json

import polars as pl
import pytest

from anml.core.errors import InputError, UnsupportedError
from anml.io.file import InputFile
from anml.io.source import read_source
from anml.io.tasks.read import export_task_type, infer_task_type, read_structured


def test_a_format_without_that_shape_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([]))
    with pytest.raises(UnsupportedError, match="preferences cannot be read from a file of toloka"):
        read_structured(InputFile(path), "preferences", "toloka", {})


def test_an_export_is_a_list(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("[1, 2]")
    with pytest.raises(InputError, match=r"x\.json is not a list of tasks"):
        read_structured(InputFile(path), "preferences", "label-studio", {})


def marked(**places):
    return pl.DataFrame({"document": ["a", "a", "b", "b"], "annotator": ["ann", "bob"] * 2,
                         "label": ["x", "y", "x", "x"], **places})  # fmt: skip


def test_tables_of_places_and_of_pairs_are_told_by_their_columns():
    spans = marked(start=[0, 5, 1, 1], end=[3, 7, 4, 4])
    assert infer_task_type(spans, {}) == "spans"
    assert infer_task_type(marked(x=[0, 5, 1, 1], y=[0] * 4, width=[3] * 4, height=[3] * 4), {}) == "boxes"
    corners = marked(x1=[0, 5, 1, 1], y1=[0] * 4, x2=[30, 35, 31, 31], y2=[9] * 4)
    assert infer_task_type(corners, {}) == "boxes"
    # A place that belongs to its item, such as a piece of sound, is a feature.
    assert infer_task_type(marked(start=[0, 0, 1, 1], end=[3, 3, 4, 4]), {}) is None
    assert infer_task_type(spans.drop("annotator"), {}) is None
    pairs = pl.DataFrame({"chosen": ["a"], "rejected": ["b"], "annotator": ["ann"]})
    assert infer_task_type(pairs, {}) == "preferences"


def test_a_set_far_into_a_file_makes_it_one_of_sets(tmp_path):
    def task(number, *choices):
        value = [{"type": "choices", "from_name": "t", "value": {"choices": list(choices)}}]
        return {"id": number, "data": {"text": "x"}, "annotations": [{"completed_by": 1, "result": value}]}

    path = tmp_path / "export.json"
    path.write_text(json.dumps([*(task(k, "a") for k in range(150)), task(150, "a", "b")]))
    assert export_task_type(InputFile(path), "label-studio") == "tags"


def test_lines_of_pairs_are_a_table(tmp_path):
    path = tmp_path / "pairs.jsonl"
    names = ["ann", "ann\u2028eve"]
    rows = [{"chosen": f"a{k}", "rejected": f"b{k}", "annotator": names[k % 2]} for k in range(8)]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    source = read_source(path, "auto", {"task": "auto"})
    assert source.shape.kind == "preferences"
    assert source.table.frame.height == 8
    assert source.table.frame["contributor"].n_unique() == 2


@pytest.mark.parametrize("tool", ["label-studio", "argilla"])
def test_grades_are_read_from_exports(tmp_path, tool):
    grades = [
        (f"{item}", f"u{contributor}", 1 + (item + contributor) % 3)
        for item in range(6)
        for contributor in range(3)
    ]

    def rated(item, contributor, grade):
        if tool == "argilla":
            return {"value": grade, "user_id": contributor}
        value = [{"type": "rating", "from_name": "stars", "value": {"rating": grade}}]
        return {
            "completed_by": contributor,
            "result": value,
            "ground_truth": item == "0" and contributor == "u1",
        }

    made = []
    for item in sorted({item for item, _, _ in grades}):
        answers = [rated(*each) for each in grades if each[0] == item]
        made.append({"id": item, "annotations": answers} if tool == "label-studio" else
                    {"id": item, "responses": {"stars": answers}})  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(made))
    source = read_source(path, "auto", {"task": "ordinal", "label": None, "time": None})
    assert sorted(source.table.frame.select("item", "contributor", "label").rows()) == [
        (item, contributor, str(grade)) for item, contributor, grade in grades
    ]
    assert ("true_label" in source.roles) == (tool == "label-studio")
