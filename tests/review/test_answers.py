"""Answers that came back: of Label Studio, of Argilla, and in a filled table."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.io.source import read_source
from anml.review.answers import read_answers

DATA = Path(__file__).parents[1] / "data"


class TestAnswers:
    SAMPLES = pl.DataFrame({"row": [0, 1, 2], "item": ["1", "1", "2"], "p_correct": [0.9, 0.1, 0.3]})

    def answers(self, file, name):
        path = DATA / name
        source = read_source(path, "auto", {"label": None, "time": None})
        return read_answers(file, source, self.SAMPLES)

    def test_label_studio_by_task_of_ours_and_by_new_annotations(self, tmp_path):
        def task(number, annotation, **data):
            result = [{"from_name": "tone", "to_name": "text", "type": "choices",
                       "value": {"choices": ["good"]}}]  # fmt: skip
            return {"id": number, "data": data, "annotations": [{"id": annotation, "completed_by": 9,
                                                                 "result": result}]}  # fmt: skip

        back = tmp_path / "back.json"
        back.write_text(json.dumps([task(900, 101, anml_task="1"), task(2, 555), task(3, 107)]))
        output = self.answers(back, "label_studio.json")
        # Of item 1 the row that is least likely to be right; annotation 107 was there before.
        assert output == {1: ("good", "9"), 2: ("good", "9")}

    def test_argilla_by_responses_that_were_not_there(self, tmp_path):
        samples = self.SAMPLES.with_columns(item=pl.Series(["r1", "r1", "r2"]))
        path = DATA / "argilla_nested.json"
        entries = json.loads(path.read_text())
        entries[1]["responses"]["tone"].append({"value": "pos", "user_id": "boss"})
        (tmp_path / "back.json").write_text(json.dumps(entries))
        source = read_source(path, "auto", {"label": None, "time": None})
        assert read_answers(tmp_path / "back.json", source, samples) == {2: ("pos", "boss")}

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("a.csv", "row,new_label\n0,\n", "has no answer to an item of this run"),
            ("a.csv", "row,new_label\n7,good\n", "answers row 7, which is not in this run"),
            ("a.csv", "row,new_label\n0,good\n1,bad\n0,bad\n", "has two answers to row 0, 'good' and 'bad'"),
            ("a.csv", "row,label\n0,good\n", "has no column 'new_label'"),
            ("a.json", "[3]", "is not a list of tasks or records"),
            ("a.json", "[]", "has no answer to an item"),
            ("a.json", "{", "neither JSON nor lines of JSON"),
        ],
    )
    def test_what_is_no_answer_is_one_sentence(self, name, text, message, tmp_path):
        (tmp_path / name).write_text(text)
        with pytest.raises(AnmlError, match=re.escape(message)) as refused:
            self.answers(tmp_path / name, "label_studio.json")
        assert "\n" not in str(refused.value)

    def test_the_same_answer_twice_is_one(self, tmp_path):
        (tmp_path / "a.csv").write_text("row,new_label\n1,good\n1, good\n1,\n")
        assert self.answers(tmp_path / "a.csv", "label_studio.json") == {1: ("good", "")}

    def test_a_filled_table(self, tmp_path):
        (tmp_path / "a.csv").write_text("row,new_label,text\n1,good,x\n2,,y\n")
        assert self.answers(tmp_path / "a.csv", "label_studio.json") == {1: ("good", "")}
