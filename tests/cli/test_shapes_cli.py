"""Judgements that are no classes, on the command line: what cannot be is one sentence, nothing is written."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from anml.cli.main import app
from anml.core.errors import AnmlError

PAIRS = {"first": ["a", "b"], "second": ["b", "a"], "judge": ["x", "y"], "choice": ["first", "second"]}
MARKS = {"document": ["d", "d"], "annotator": ["x", "y"], "start": [0, 0], "end": [3, 4], "type": ["P", "P"]}


def refused(tmp_path, table, *options):
    path = tmp_path / "data.csv"
    pl.DataFrame(table).write_csv(path)
    out = tmp_path / "run"
    done = CliRunner().invoke(app, ["audit", str(path), *options, "--out", str(out)])
    assert isinstance(done.exception, AnmlError)
    assert not out.exists()
    message = str(done.exception)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"choice": ["first", "third"]}, "row 1 chooses 'third', which is neither 'b' nor 'a'"),
        ({"second": ["b", "b"]}, "row 1 compares 'b' with itself"),
        ({"judge": ["x", "x"]}, "one contributor alone"),
    ],
)
def test_comparisons_that_cannot_be(tmp_path, changed, message):
    text = refused(tmp_path, PAIRS | changed, "--task", "preferences", "--contributor", "judge")
    assert message in text


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"start": [0, -1]}, "begins before the document does"),
        ({"end": [3, 0]}, "ends before it begins"),
        ({"annotator": ["x", "x"]}, "seen by one contributor only"),
        ({"text": ["ab", "ab"]}, "ends beyond the document, which has 2 letters"),
        ({"end": ["inf", "4"]}, "column 'end' has 'inf', which is no position"),
        ({"end": [3, 3]}, "all who saw a document marked the same there"),
    ],
)
def test_marks_that_cannot_be(tmp_path, changed, message):
    assert message in refused(tmp_path, MARKS | changed, "--task", "spans")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--task", "preferences", "--set", "task.nested=true", "--contributor", "judge"),
            "unknown key of Preferences 'nested'",
        ),
        (("--task", "opinions"), "opinions"),
    ],
)
def test_options_that_do_not_fit(tmp_path, options, message):
    assert message in refused(tmp_path, PAIRS, *options)


@pytest.mark.parametrize("kind", ["polygonlabels", "keypointlabels", "videorectangle", "relation"])
def test_shapes_that_are_not_read(tmp_path, kind):
    span = {"type": "labels", "from_name": "n", "value": {"start": 0, "end": 2, "labels": ["P"]}}
    other = {"type": kind, "from_name": "o", "value": {}}
    tasks = [
        {"id": 1, "data": {"text": "abc"}, "annotations": [{"completed_by": 1, "result": [span, other]}]}
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    done = CliRunner().invoke(app, ["audit", str(path)])
    assert f"a result of type '{kind}', which is not read" in str(done.exception)
    tasks[0]["annotations"][0]["result"] = [other]
    path.write_text(json.dumps(tasks))
    done = CliRunner().invoke(app, ["audit", str(path)])
    assert str(done.exception) == f"all results in this file are of type {kind}, which is not read"


def test_gaps_are_said_and_no_row_is_lost(tmp_path):
    grades = {"item": ["i", None, "j"], "rater": ["x", "y", "x"], "grade": [1, 2, 3]}
    assert refused(tmp_path, grades, "--task", "ordinal") == (
        "1 row has no 'item': which item a row is of is needed"
    )
    (tmp_path / "seen.csv").write_text("document,annotator\nd,x\nd,y\n,z\n")
    inputs = "--set", f"task.assignments={tmp_path / 'seen.csv'}"
    assert "lack a document or a contributor" in refused(tmp_path, MARKS, "--task", "spans", *inputs)


def test_places_that_everybody_marked_are_judged_by_their_types(tmp_path):
    types = ["P", "P", "L", "P", "P", "L", "L", "L"]
    marks = [
        (f"d{at}", contributor, 0, 4, kind if contributor != "z" else "P")
        for at, kind in enumerate(types)
        for contributor in "xyz"
    ]
    names = ["document", "annotator", "start", "end", "type"]
    pl.DataFrame(marks, schema=names, orient="row").write_csv(tmp_path / "data.csv")
    run = tmp_path / "run"
    done = CliRunner().invoke(
        app, ["audit", str(tmp_path / "data.csv"), "--task", "spans", "--out", str(run)]
    )
    assert done.exit_code == 0
    result = pl.read_csv(run / "spans.csv")
    assert result["type"].to_list() == types
    assert (result["p_present"] == 1).all()


def test_grades_and_nothing_else_go_into_a_table_and_come_back(tmp_path):
    # Two of three agree on most films, and all differ on every fifth.
    grades = {
        contributor: [(item + (item % 5 == 0) * contributor) % 3 for item in range(30)]
        for contributor in range(3)
    }
    rows = [
        (f"i{item}", f"p{contributor}", grade)
        for contributor, given in grades.items()
        for item, grade in enumerate(given)
    ]
    pl.DataFrame(rows, schema=["item", "rater", "stars"], orient="row").write_csv(tmp_path / "stars.csv")
    named = ("--task", "ordinal", "--label", "stars", "--contributor", "rater")
    run, look = str(tmp_path / "run"), tmp_path / "look.csv"
    for typed in (["audit", str(tmp_path / "stars.csv"), *named, "--out", run],
                  ["relabel", run, "--top", "3", "--out", str(look)]):  # fmt: skip
        assert CliRunner().invoke(app, typed).exit_code == 0
    filled = pl.read_csv(look).with_columns(new_label=pl.col("label"))
    assert filled.height > 0
    filled.write_csv(look)
    done = CliRunner().invoke(app, ["apply", run, str(look), "--out", str(tmp_path / "after")])
    assert done.exit_code == 0, done.output
