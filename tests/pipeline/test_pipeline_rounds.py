"""Answers in the table of a run: as right labels, as second labels, and in a file of their own."""

import polars as pl
import pytest

from anml.core.canonical import sha256
from anml.core.errors import AnmlError
from anml.io.tables import Table
from anml.pipeline.rounds import (
    ANSWERED,
    AS_GOLD,
    AS_LABEL,
    FILE,
    ITEM,
    ROLES,
    NewLabel,
    apply_answers_to_table,
    read_rounds,
    rounds_file,
)

FRAME = pl.DataFrame(
    {"task": [1, 1, 2], "who": ["ann", "bob", "ann"], "label": ["a", "b", "a"], "size": [1.0, 1.0, 2.0]}
)


def named(**roles):
    return dict.fromkeys(ROLES) | {"numbers": False, "label": "label", "contributor": "who"} | roles


NAMED = named(item="task")


def answered(frame, roles, answers, kind=AS_GOLD):
    return apply_answers_to_table(Table(frame, "t", "0" * 64), roles, answers, kind)


def test_a_right_label_settles_all_rows_of_its_item_and_changes_no_label():
    table, roles = answered(FRAME, NAMED, {1: NewLabel("a", "")})
    assert roles["true_label"] == "true_label"
    assert table.frame["true_label"].to_list() == ["a", "a", None]
    assert table.frame[ANSWERED].to_list() == ["a", "a", None]
    assert table.frame["label"].to_list() == ["a", "b", "a"]
    assert roles["reviewed"] is None


def test_without_items_every_row_is_one():
    table, roles = answered(FRAME, named(), {2: NewLabel("b", "")})
    assert roles["item"] == ITEM
    assert table.frame["true_label"].to_list() == [None, None, "b"]


def test_a_label_that_nobody_gave_makes_those_that_were_given_wrong():
    table, roles = answered(FRAME, NAMED, {0: NewLabel("c", "")})
    assert table.frame["true_label"].to_list() == [None] * 3
    assert table.frame[roles["reviewed"]].to_list() == ["false", "false", None]
    assert table.frame[ANSWERED].to_list() == ["c", "c", None]


def test_marks_that_were_there_stay_beside_right_labels():
    frame = FRAME.with_columns(checked=pl.Series(["true", None, "false"]))
    table, roles = answered(frame, named(item="task", true_label="checked"), {1: NewLabel("a", "")})
    assert (roles["true_label"], roles["reviewed"]) == ("true_label", "checked")
    assert table.frame["checked"].to_list() == ["true", None, "false"]


def test_second_labels_are_rows_of_their_own_that_nobody_has_reviewed():
    frame = FRAME.with_columns(v=pl.Series([0.9, 0.9, 0.9]))
    roles = named(item="task", verification="v")
    table, roles = answered(frame, roles, {2: NewLabel("b", "eve")}, AS_LABEL)
    assert table.frame.height == 4
    assert table.frame.row(3, named=True) == {"task": "2", "who": "eve", "label": "b", "size": 2.0, "v": None}
    assert roles["true_label"] is None


def test_a_second_label_of_numbers_is_a_number():
    frame = FRAME.with_columns(label=pl.Series([1, 2, 3]))
    assert answered(frame, NAMED, {0: NewLabel("4", "eve")}, AS_LABEL)[0].frame["label"].to_list() == [
        1,
        2,
        3,
        4,
    ]
    with pytest.raises(AnmlError, match="'four' is not a label of this table"):
        answered(frame, NAMED, {0: NewLabel("four", "eve")}, AS_LABEL)


def test_rounds_are_read_as_they_were_written_and_not_otherwise(tmp_path):
    rounds = [
        (AS_GOLD, {3: NewLabel("=1+1", ""), 5: NewLabel("b", "ida")}),
        (AS_LABEL, {0: NewLabel("a", "eve")}),
    ]
    text = rounds_file(rounds)
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    assert read_rounds(tmp_path, sha256(text.encode())) == rounds
    with pytest.raises(AnmlError, match="was changed after the run was written"):
        read_rounds(tmp_path, "0" * 64)


def test_the_hash_of_a_table_follows_its_answers():
    one, _ = answered(FRAME, NAMED, {1: NewLabel("a", "")})
    two, _ = answered(FRAME, NAMED, {1: NewLabel("b", "")})
    assert len({one.sha256, two.sha256, "0" * 64}) == 3
