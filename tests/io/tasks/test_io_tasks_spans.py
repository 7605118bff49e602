"""Spans as labels of candidates; what cannot be is refused in one sentence."""

import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io.tasks.spans import read_spans

SEEN = [("d1", "ann"), ("d1", "bob"), ("d1", "eve"), ("d2", "ann"), ("d2", "bob")]


def table(rows):
    names = ["doc", "annotator", "start", "end", "type"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


MARKS = table([("d1", "ann", 0, 4, "PER"), ("d1", "bob", 0, 6, "PER"), ("d2", "ann", 3, 5, "LOC"),
               ("d1", "eve", None, None, None), ("d2", "bob", 3, 5, "PER")])  # fmt: skip


def test_everybody_who_saw_a_document_judges_each_candidate():
    made = read_spans(MARKS, {})
    message = {(row["item"], row["contributor"]): row["label"] for row in made.rows.to_dicts()}
    assert message == {
        ("d1:0-4", "ann"): "PER", ("d1:0-4", "bob"): "(nothing)", ("d1:0-4", "eve"): "(nothing)",
        ("d1:0-6", "ann"): "(nothing)", ("d1:0-6", "bob"): "PER", ("d1:0-6", "eve"): "(nothing)",
        ("d2:3-5", "ann"): "LOC", ("d2:3-5", "bob"): "PER",
    }  # fmt: skip
    near = {(row["item"], row["contributor"]) for row in made.rows.filter(pl.col("near")).to_dicts()}
    assert near == {("d1:0-4", "bob"), ("d1:0-6", "ann")}


def test_who_saw_what_comes_from_a_table_beside(tmp_path):
    path = tmp_path / "assignments.csv"
    pl.DataFrame(
        [*SEEN, ("d2", "eve"), ("d3", "ann")], schema=["document", "contributor"], orient="row"
    ).write_csv(path)
    made = read_spans(MARKS.filter(pl.col("start").is_not_null()), {"assignments": path})
    assert made.rows.filter(pl.col("contributor") == "eve").height == 3
    assert any("1 contributor marked nothing anywhere: 'eve'" in warning for warning in made.warnings)
    assert made.shape.frames["seen"]["document"].n_unique() == 3


def test_without_it_that_is_said():
    made = read_spans(MARKS.filter(pl.col("start").is_not_null()), {})
    assert any(
        "name a table of documents and contributors as task.assignments" in warning
        for warning in made.warnings
    )


def test_twice_the_same_mark_counts_once():
    made = read_spans(pl.concat([MARKS, MARKS.head(1)]), {})
    assert made.rows.height == 8
    assert any("1 mark of a place" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("d1", "ann", -2, 4, "PER"), "begins before the document does"),
        (("d1", "ann", 4, 4, "PER"), "ends before it begins"),
        (("d1", "ann", 0.5, 4, "PER"), "is no whole number of letters"),
        (("d1", "ann", 0, None, "PER"), "has no complete place, or no type"),
        (("d1", "ann", 0, 3, None), "has no complete place, or no type"),
        (("d1", "ann", 0, 3, "(nothing)"), "stands for none here"),
        (("d1", None, 0, 3, "PER"), "have no 'annotator'"),
    ],
)
def test_marks_that_cannot_be_are_refused(row, message):
    frame = pl.concat([MARKS, table([row])], how="vertical_relaxed")
    with pytest.raises(InputError, match=message) as result:
        read_spans(frame, {})
    assert "\n" not in str(result.value)


def test_a_mark_beyond_the_document_is_refused(tmp_path):
    texts = MARKS.with_columns(text=pl.lit("abcdef"))
    read_spans(texts, {})
    with pytest.raises(InputError, match="ends beyond the document, which has 5 letters"):
        read_spans(texts.with_columns(text=pl.lit("abcde")), {})
    path = tmp_path / "assignments.csv"
    inputs = pl.DataFrame(
        [(*each, 5) for each in SEEN], schema=["document", "contributor", "length"], orient="row"
    )
    inputs.write_csv(path)
    with pytest.raises(
        InputError, match=r"the mark 'PER' \(start 0, end 6\) by 'bob' in document 'd1' ends beyond"
    ):
        read_spans(MARKS, {"assignments": path})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (MARKS.filter(pl.col("start").is_null()), "nobody marked anything"),
        (MARKS.filter(pl.col("annotator") == "ann"), "seen by one contributor only"),
        (MARKS.drop("end"), "no column says end"),
        (MARKS.with_columns(start=pl.lit("here")), "column 'start' has 'here', which is no position"),
    ],
)
def test_tables_that_say_nothing_are_refused(frame, message):
    with pytest.raises(InputError, match=message):
        read_spans(frame, {})


def test_who_marks_what_they_did_not_see_is_refused(tmp_path):
    path = tmp_path / "assignments.csv"
    pl.DataFrame(SEEN[:2], schema=["document", "contributor"], orient="row").write_csv(path)
    with pytest.raises(InputError, match="which by the table of who saw what they did not see"):
        read_spans(MARKS, {"assignments": path})


def test_what_stands_beside_a_mark():
    frame = pl.DataFrame({"document": ["d", "d", "d"], "annotator": ["ann", "ann", "bob"], "start": [0, 4, 0],
                          "end": [3, 7, 2], "type": ["A", "B", "A"], "truth": ["true", None, "false"],
                          "verified": [0.9, 0.8, 0.1], "text": ["Ann", "Bob", "An"]})  # fmt: skip
    made = read_spans(frame, {"true_label": "truth"})
    rows = {(r["contributor"], r["start"], r["end"]): r for r in made.rows.to_dicts()}
    # What is known of a mark is not known of the other places of its document; credentials are.
    assert rows["ann", 0, 3]["truth"] == "true"
    assert rows["ann", 0, 2]["truth"] is None
    assert rows["ann", 0, 2]["verified"] == 0.9
    assert rows["ann", 4, 7]["verified"] == 0.8
    assert rows["bob", 4, 7]["verified"] == 0.1
    assert any("is not taken for the document's text" in message for message in made.warnings)
