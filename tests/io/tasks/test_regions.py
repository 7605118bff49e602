"""Marks of labelling tools, in files of their real shapes."""

import polars as pl
import pytest

from anml.core.errors import InputError, UnsupportedError
from anml.io.tasks.regions import conll_marks, jsonl_spans, label_studio_regions


def region(start, end, label, kind="labels", **more):
    value = {"start": start, "end": end, "text": "", kind: [label], **more}
    return {"type": kind, "from_name": "ner", "to_name": "text", "value": value}


def task(*annotations, text="Ann met Bob in Rome"):
    made = [{"id": 10 + k, "completed_by": k, "result": result} for k, result in enumerate(annotations)]
    return {"id": 5, "data": {"text": text}, "annotations": made}


def test_label_studios_spans_and_who_saw_what():
    made = label_studio_regions([task([region(0, 3, "PER")], [])], {}, "spans")
    assert made.marks.rows() == [("5", "0", "PER", 0.0, 3.0)]
    assert made.exposure.rows() == [("5", "0"), ("5", "1")]
    assert made.texts.rows() == [("5", "Ann met Bob in Rome")]


def test_hypertext_has_places_of_its_own():
    result = region("/div[1]/text()[1]", "/div[1]/text()[1]", "PER", "hypertextlabels",
                   globalOffsets={"start": 4, "end": 9})  # fmt: skip
    made = label_studio_regions([task([result])], {}, "spans")
    assert made.marks.select("start", "end").rows() == [(4.0, 9.0)]
    assert made.texts is None
    with pytest.raises(InputError, match="has no start and end as numbers"):
        label_studio_regions([task([region("/div", "/div", "PER", "hypertextlabels")])], {}, "spans")


def test_boxes_are_upright():
    box = {"type": "rectanglelabels", "from_name": "b", "value": {"x": 1, "y": 2, "width": 3, "height": 4,
           "rectanglelabels": ["car"]}}  # fmt: skip
    assert label_studio_regions([task([box])], {}, "boxes").marks.row(0)[2:] == ("car", 1.0, 2.0, 3.0, 4.0)
    box["value"]["rotation"] = 12
    with pytest.raises(UnsupportedError, match="a box of task 5 is rotated"):
        label_studio_regions([task([box])], {}, "boxes")


@pytest.mark.parametrize(
    "kind", ["polygonlabels", "keypointlabels", "relation", "videorectangle", "textarea"]
)
def test_other_results_are_refused_and_may_be_left_aside(kind):
    tasks = [task([region(0, 3, "PER"), {"type": kind, "from_name": "other", "value": {}}])]
    with pytest.raises(UnsupportedError, match=f"task 5 has a result of type '{kind}', which is not read"):
        label_studio_regions(tasks, {}, "spans")
    assert label_studio_regions(tasks, {"label": "ner"}, "spans").marks.height == 1


def test_a_region_has_one_type():
    two = region(0, 3, "PER")
    two["value"]["labels"] = ["PER", "LOC"]
    with pytest.raises(UnsupportedError, match="has 2 types, and one is needed"):
        label_studio_regions([task([two])], {}, "spans")


def test_prodigys_lines():
    lines = [
        {"text": "Ann", "_input_hash": 1, "_annotator_id": "a", "answer": "accept",
         "spans": [{"start": 0, "end": 3, "label": "PER"}]},
        {"text": "Ann", "_input_hash": 1, "_annotator_id": "b", "answer": "accept", "spans": []},
        {"text": "Ann", "_input_hash": 1, "_annotator_id": "c", "answer": "ignore"},
    ]  # fmt: skip
    made = jsonl_spans(lines, {}, "spans")
    assert made.marks.rows() == [("1", "a", "PER", 0.0, 3.0)]
    assert made.exposure.rows() == [("1", "a"), ("1", "b")]
    assert made.warnings == ("1 lines that were rejected or ignored were left out",)


@pytest.mark.parametrize(
    "spans",
    [{"label": [[0, 3, "PER"]]}, {"entities": [{"start_offset": 0, "end_offset": 3, "label": "PER"}]}],
)
def test_doccanos_lines(spans):
    made = jsonl_spans([{"text": "Ann", "annotator": "a", **spans}], {}, "spans")
    assert made.marks.rows() == [("Ann", "a", "PER", 0.0, 3.0)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"text": "x", "spans": []}, "line 1 does not say who annotated it"),
        ({"spans": [], "annotator": "a"}, "line 1 has no text"),
        ({"text": "x", "annotator": "a", "spans": [{"start": 0}]}, "start, end and label are needed"),
        ({"text": "x", "annotator": "a", "spans": ["PER"]}, "start, end and label are needed"),
        ({"text": "x", "annotator": "a", "spans": [], "relations": [1]}, "line 1 has relations"),
    ],
)
def test_lines_that_cannot_be_read_are_refused(line, message):
    with pytest.raises((InputError, UnsupportedError), match=message):
        jsonl_spans([line], {}, "spans")


CONLL = """token ann bob
Ann B-PER I-PER
Lee I-PER I-PER
left O O

Rome S-LOC ?
fell O ?
"""


def test_conll_columns():
    made = conll_marks(CONLL)
    assert made.marks.rows() == [
        ("s1", "ann", "PER", 0.0, 7.0), ("s1", "bob", "PER", 0.0, 7.0), ("s2", "ann", "LOC", 0.0, 4.0),
    ]  # fmt: skip
    assert made.texts.rows() == [("s1", "Ann Lee left"), ("s2", "Rome fell")]
    assert ("s2", "bob") not in made.exposure.rows()


def test_conll_parts_begin_anew():
    made = conll_marks("a B-X\nb B-X\nc I-Y\n")
    assert made.marks.select("start", "end", "type").rows() == [
        (0.0, 1.0, "X"),
        (2.0, 3.0, "X"),
        (4.0, 5.0, "Y"),
    ]
    assert made.marks["contributor"].unique().to_list() == ["annotator 1"]
    with pytest.raises(InputError, match="sentence 1 has lines other than"):
        conll_marks("a O\nb\n")
    assert isinstance(made.texts, pl.DataFrame)


def test_letters_that_a_browser_counts_twice():
    text = "Ann 😀 met Bob"
    for start, end in ((7, 10), (6, 9)):
        result = region(start, end, "V")
        result["value"]["text"] = "met"
        made = label_studio_regions([task([result], text=text)], {}, "spans")
        assert made.marks.select("start", "end").rows() == [(6.0, 9.0)]


def test_the_text_is_the_one_that_is_quoted():
    result = region(0, 3, "PER")
    result["value"]["text"] = "Ann"
    one = task([result], [])
    one["data"] = {"title": "News", "body": "Ann met Bob", "source": "a paper"}
    assert label_studio_regions([one], {}, "spans").texts.rows() == [("5", "Ann met Bob")]
    result["value"]["text"] = "Zoe"
    assert label_studio_regions([one], {}, "spans").texts.is_empty()


def test_what_stands_beside_annotations_is_kept():
    one = task([region(0, 3, "PER")], [])
    one["annotations"][1] |= {"ground_truth": True, "created_at": "2026-01-02T03:04:05Z", "lead_time": 7}
    inputs = label_studio_regions([one], {}, "spans").exposure
    assert inputs["is_ground_truth"].to_list() == [False, True]
    assert inputs["lead_time"].to_list() == [None, 7.0]
    assert inputs["time"][1].startswith("2026-01-02T03:04:05")


def test_two_tasks_of_one_name_are_refused():
    with pytest.raises(InputError, match="two tasks with other data are called 5"):
        label_studio_regions([task([]), task([], text="other")], {}, "spans")


def line(text, contributor, *spans, **more):
    return {"text": text, "username": contributor, "label": [list(span) for span in spans], **more}


def test_texts_that_begin_alike_are_two_documents():
    start = "x" * 70
    lines = [
        line(f"{start}{end}", contributor, (0, 3, "A")) for end in "ab" for contributor in ("ann", "bob")
    ]
    made = jsonl_spans(lines, {}, "spans")
    assert made.marks["document"].n_unique() == made.texts.height == 2
    with pytest.raises(InputError, match="line 2 has another text than an earlier one of document '7'"):
        jsonl_spans([line("a", "ann", _input_hash=7), line("b", "bob", _input_hash=7)], {}, "spans")


def test_a_line_of_one_class_is_no_line_of_spans():
    with pytest.raises(InputError, match="line 1 has the label 1, which is not a list of spans"):
        jsonl_spans([{"text": "a", "username": "ann", "label": 1}], {}, "spans")


def test_parts_of_speech_are_no_spans():
    with pytest.raises(InputError, match=r"column 2 \(annotator 1\) has 'NNP' and nowhere O"):
        conll_marks("EU NNP B-ORG\nrejects VBZ O\n")
    with pytest.raises(InputError, match="sentence 1 has tags of 'annotator 2' beside"):
        conll_marks("EU B-ORG ?\nrejects O O\n")


def test_the_last_line_of_somebody_on_a_text_counts():
    made = jsonl_spans(
        [line("Ann met", "ann", (0, 3, "A")), line("Ann met", "ann", (4, 7, "B"))], {}, "spans"
    )
    assert made.marks["type"].to_list() == ["B"]
    assert made.warnings == ("1 line left out: the same person annotated the text again later",)
