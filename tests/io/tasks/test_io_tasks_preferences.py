"""Comparisons from tables and exports; what cannot be read is refused in one sentence."""

import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io.tasks.preferences import argilla_pairs, label_studio_pairs, read_preferences


def table(**changed):
    rows = {"first": ["a", "b", "c"], "second": ["b", "c", "a"], "annotator": ["ann", "bob", "ann"],
            "choice": ["first", "tie", "right"]}  # fmt: skip
    return pl.DataFrame(rows | changed)


def labels(frame, **given):
    return read_preferences(frame, given).rows["label"].to_list()


def test_a_plain_table():
    made = read_preferences(table(), {})
    assert made.rows["label"].to_list() == ["first", "equal", "second"]
    assert made.rows["item"].to_list() == ["a · b", "b · c", "c · a"]
    assert made.rows["contributor"].to_list() == ["ann", "bob", "ann"]
    assert made.shape.kind == "preferences"


def test_a_choice_may_be_a_candidates_name():
    assert labels(table(choice=["b", "b", "c"])) == ["second", "first", "first"]


def test_named_columns_go_first():
    frame = table().rename({"first": "x", "second": "y", "choice": "z", "annotator": "w"})
    given = {"first": "x", "second": "y", "choice": "z", "contributor": "w"}
    assert labels(frame, **given) == ["first", "equal", "second"]


def test_groups_keep_candidates_apart_and_are_asked_for():
    frame = table(topic=["p", "q", "p"])
    made = read_preferences(frame, {})
    assert "name --column group=topic" in made.warnings[0]
    made = read_preferences(frame, {"group": ["topic"]})
    assert made.rows["group"].to_list() == ["p", "q", "p"]
    assert made.rows["item"][0] == "p · a · b"
    assert not made.warnings


def test_chosen_and_rejected_need_no_choice():
    frame = pl.DataFrame({"prompt": ["p", "p"], "chosen": ["yes", "aye"], "rejected": ["no", "yes"],
                          "annotator": ["ann", "bob"]})  # fmt: skip
    made = read_preferences(frame, {})
    # Nobody knows which was shown first.
    assert made.rows.select("first", "second", "label").rows() == [
        ("no", "yes", "second"),
        ("yes", "aye", "second"),
    ]
    assert made.rows["group"].to_list() == ["p", "p"]


def test_rows_without_a_choice_stay_in_their_place():
    made = read_preferences(table(choice=[None, "first", "second"]), {})
    assert made.rows["label"].to_list() == [None, "first", "second"]


@pytest.mark.parametrize(
    ("frame", "given", "message"),
    [
        (
            table(choice=["first", "maybe", "second"]),
            {},
            "row 1 chooses 'maybe', which is neither 'b' nor 'c'",
        ),
        (table(choice=[0, 1, 0]), {}, "row 0 chooses '0', which is neither"),
        (table(second=["b", "b", "a"]), {}, "row 1 compares 'b' with itself"),
        (table(second=["b", None, "a"]), {}, "row 1 has no second candidate"),
        (table(annotator=["ann", None, "ann"]), {}, "1 of 3 rows have no 'annotator'"),
        (table(annotator=["ann"] * 3), {}, "one contributor alone, 'ann'"),
        (table(choice=[None] * 3), {}, "no row of column 'choice' says what was chosen"),
        (table(), {"first": "nowhere"}, "there is no column 'nowhere' for first"),
        (table(), {"group": ["nowhere"]}, "there is no column 'nowhere' for group"),
        (table().drop("first"), {}, "no two columns are compared"),
        (table().drop("choice"), {}, "no column says choice"),
        (table().drop("annotator"), {}, "no column says contributor"),
    ],
)
def test_what_cannot_be_read_is_refused(frame, given, message):
    with pytest.raises(InputError, match=message):
        read_preferences(frame, given)


def pairwise(selected, contributor=1, **more):
    result = [{"type": "pairwise", "from_name": "pw", "to_name": "a,b", "value": {"selected": selected}}]
    return {"id": 7, "completed_by": contributor, "result": result, **more}


def test_label_studios_pairwise_tasks():
    task = {"id": 3, "data": {"text1": "x", "text2": "y"}, "annotations": [
        pairwise("left"), pairwise("right", 2), pairwise("left", 3, was_cancelled=True)]}  # fmt: skip
    frame, message = label_studio_pairs([task], {})
    assert message == ["1 annotation cancelled, or by nobody, left out"]
    made = read_preferences(frame, {"choice": "choice", "contributor": "contributor"})
    assert made.rows.select("first", "second", "contributor", "label").rows() == [
        ("x", "y", "1", "first"),
        ("x", "y", "2", "second"),
    ]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (
            {"completed_by": 1, "result": [{"type": "choices", "value": {"choices": ["a"]}}]},
            "is a pairwise comparison",
        ),
        (pairwise("left") | {"result": pairwise("left")["result"] * 2}, "several comparisons"),
    ],
)
def test_other_annotations_of_label_studio_are_refused(annotation, message):
    with pytest.raises(InputError, match=message):
        label_studio_pairs([{"id": 1, "data": {}, "annotations": [annotation]}], {})


def test_argillas_rankings_become_pairs():
    ranks = [{"value": "r2", "rank": 1}, {"value": "r1", "rank": 2}, {"value": "r3", "rank": 2}]
    messages = [
        {"value": ranks, "user_id": "ann", "status": "submitted"},
        {"value": ranks, "status": "draft"},
    ]
    frame, _ = argilla_pairs([{"id": "x", "responses": {"best": messages}}], {})
    assert frame.select("first", "second", "choice").rows() == [
        ("r1", "r2", "second"),
        ("r1", "r3", "equal"),
        ("r2", "r3", "first"),
    ]
    assert frame["record"].unique().to_list() == ["x"]


def test_an_answer_that_is_no_ranking_is_refused():
    entry = {"id": "x", "responses": {"best": [{"value": [{"value": "r1", "rank": 1}], "user_id": "ann"}]}}
    with pytest.raises(InputError, match="of record x is no ranking of two or more"):
        argilla_pairs([entry], {})


def compared(choices, first=("2", "3", "1"), second=("1", "2", "3")):
    return pl.DataFrame({"first": first, "second": second, "choice": choices, "judge": ["ann", "bob", "cat"]})


def test_a_number_is_a_side_or_a_candidate_by_the_whole_column():
    def labels(frame):
        return read_preferences(frame, {}).rows["label"].to_list()

    # 3 is no side, so these are candidates; the second frame has rows in which neither is one.
    assert labels(compared(["1", "3", "1"])) == ["second", "first", "first"]
    assert labels(compared(["1", "1", "2"], first=("2", "5", "1"))) == ["first", "first", "second"]
    with pytest.raises(InputError, match="row 0 chooses '1' of '2' and '1', which may be the candidate or"):
        labels(compared(["1", "2", "1"]))


def test_chosen_and_rejected_say_it_whatever_else_is_there():
    frame = pl.DataFrame({"prompt": [f"p{k}" for k in range(40)], "chosen": [f"a{k}" for k in range(40)],
                          "rejected": [f"b{k}" for k in range(40)], "label": [1] * 40,
                          "annotator": ["ann", "bob"] * 20})  # fmt: skip
    made = read_preferences(frame, {}).rows
    winner = pl.when(pl.col("label") == "first").then("first").otherwise("second")
    assert made.select(winner).to_series().to_list() == frame["chosen"].to_list()
    # The order of the two does not give the choice away.
    assert 8 < (made["label"] == "first").sum() < 32


def test_what_is_known_is_said_in_the_same_words():
    frame = compared(["left", "right", "tie"], first=("x", "y", "z"), second=("u", "v", "w"))
    made = read_preferences(frame.with_columns(truth=pl.Series(["u", None, "a"])), {"true_label": "truth"})
    assert made.rows["truth"].to_list() == ["second", None, "first"]
    with pytest.raises(InputError, match="row 1 chooses 'q', which is neither"):
        read_preferences(frame.with_columns(truth=pl.Series(["u", "q", "a"])), {"true_label": "truth"})
