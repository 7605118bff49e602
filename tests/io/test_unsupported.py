"""Spans, boxes, pairs and rankings are refused: nothing of them is dropped on the way to a label."""

import polars as pl
import pytest

from anml.core.errors import UnsupportedError
from anml.io.columns import choose_columns
from anml.io.unsupported import reject_span_answers, reject_structured_table

SPANS = pl.DataFrame(
    {
        "document": ["d1", "d1", "d1", "d2", "d2", "d2"],
        "worker": ["ann", "ann", "bob", "ann", "bob", "bob"],
        "start": [0, 12, 0, 3, 3, 20],
        "end": [4, 15, 4, 9, 9, 25],
        "label": ["PER", "LOC", "PER", "ORG", "ORG", "PER"],
    }
)
PAIRS = pl.DataFrame(
    {
        "first": ["p", "p", "q", "q"],
        "second": ["q", "q", "r", "r"],
        "worker": ["ann", "bob", "ann", "bob"],
        "choice": ["first", "second", "equal", "first"],
        "topic": [1, 1, 2, 2],
    }
)


def check(frame, **named):
    columns, _ = choose_columns(frame, **named)
    reject_structured_table(frame, columns, named.get("ignore", ()))


@pytest.mark.parametrize(
    "value",
    [
        {"start": 0, "end": 4, "labels": ["x"]},
        [{"start": 0, "end": 4, "label": "x"}],
        [{"value": "a", "rank": 1}, {"value": "b", "rank": 2}],
    ],
)
def test_answers_with_places_or_ranks(value):
    with pytest.raises(UnsupportedError, match="name a question without them"):
        reject_span_answers(value, " to 'q'")


@pytest.mark.parametrize("value", ["a", ["a", "b"], 4, None, {"choices": ["a"]}, [["a", "b"]]])
def test_other_answers_pass(value):
    assert reject_span_answers(value) is None  # nothing is refused


def test_a_table_of_spans_is_refused_and_without_their_places_it_is_labels():
    with pytest.raises(UnsupportedError, match="'start' and 'end' look like places"):
        check(SPANS)
    check(SPANS, ignore=("start", "end"))


def test_start_and_end_of_whole_items_are_features():
    check(SPANS.unique(["document", "worker"]))


def test_a_choice_between_two_columns_is_a_pair():
    with pytest.raises(UnsupportedError, match="'choice' says which of 'first' and 'second' was chosen"):
        check(PAIRS, item="topic")
    check(PAIRS, item="topic", ignore=("first", "second"))


def test_a_label_that_is_always_the_value_of_one_of_two_columns_is_a_pair():
    frame = pl.DataFrame(
        {
            "left": ["p", "q", "r"],
            "right": ["q", "r", "p"],
            "worker": ["a", "b", "a"],
            "winner": ["p", "r", "p"],
        }
    )
    with pytest.raises(UnsupportedError, match="'winner' says which of 'left' and 'right'"):
        check(frame, label="winner")
    check(frame.with_columns(winner=pl.Series(["p", "r", "q"])), label="winner")


def test_a_feature_that_repeats_the_label_is_no_pair():
    frame = pl.DataFrame({"old": ["a", "b"] * 3, "plan": ["x", "y", "z"] * 2, "label": ["a", "b"] * 3})
    check(frame)
