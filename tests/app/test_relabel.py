"""Where to look first: gains worked out by hand, what is settled, the budget, and words."""

import polars as pl
import pytest

from anml.app.relabel import Found, source_of, where_to_look
from anml.core.errors import AnmlError

SAMPLES = pl.DataFrame(
    {
        "row": [0, 1, 2, 3, 4, 5],
        "contributor": ["ann", "eve", "bob", "eve", "ann", "bob"],
        "label": ["a", "b", "a", "b", "a", "b"],
        "predicted": ["a", "a", "a", "a", "b", "b"],
        "p_correct": [0.99, 0.10, 0.60, 0.30, 0.85, 0.95],
        "suggested": ["a", "a", "a", "a", "a", "b"],
        "p_suggested": [0.99, 0.90, 0.60, 0.70, 0.85, 0.95],
        "alone": [False] * 6,
        "from_model": [2.0, -2.0, 1.0, -1.0, -1.0, 2.0],
        "from_credentials": [0.0, 0.0, -1.0, 0.0, 0.0, 0.0],
        "from_contributor": [1.0, -3.0, 0.5, -2.0, 1.0, 1.0],
    }
)
VERDICTS = {"ann": "trusted", "bob": "trusted", "eve": "contradicts the others"}


def found(samples=SAMPLES, items=None, **more):
    return Found(samples, items, VERDICTS, more.pop("doubtful", None), more)


def test_the_gain_is_the_probability_that_the_label_is_wrong_and_the_most_comes_first():
    looking = where_to_look(found())
    assert looking.rows["row"].to_list() == [1, 3, 2, 4]
    assert looking.rows["gain"].to_list() == pytest.approx([0.9, 0.7, 0.4, 0.15])
    # Over all rows: 0.01 + 0.9 + 0.4 + 0.7 + 0.15 + 0.05.
    assert looking.expected == pytest.approx(2.21)
    assert looking.sentence() == (
        "4 items to look at: about 2 wrong labels to mend, 97% of all that are expected."
    )


def test_a_budget_takes_the_first_and_says_of_how_many():
    looking = where_to_look(found(), top=2)
    assert looking.rows["row"].to_list() == [1, 3]
    assert looking.candidates == 4
    assert "2 items to look at of 4 less than 90% sure" in looking.sentence()


@pytest.mark.parametrize("top", [0, -3, 1.5, True, "many"])
def test_a_budget_is_a_whole_number_from_one(top):
    with pytest.raises(AnmlError, match="top must be"):
        where_to_look(found(), top)


def test_what_a_review_or_truth_has_settled_is_left_out():
    settled = SAMPLES.with_columns(known_right=pl.Series([None, False, None, True, None, None]))
    assert where_to_look(found(settled)).rows["row"].to_list() == [2, 4]


def test_a_right_label_settles_its_item_and_a_rejected_one_only_itself():
    items = pl.Series("item", ["x", "x", "y", "y", "z", "z"])
    known = pl.Series("known_right", [None, False, True, None, None, None])
    frame = SAMPLES.with_columns(items, known)
    rows = where_to_look(found(frame)).rows
    # Of x the row that is left is sure, y is settled as a whole, z is looked at for its first row.
    assert rows["item"].to_list() == ["z"]


def test_an_item_with_several_labels_counts_once_by_its_consensus():
    samples = SAMPLES.with_columns(item=pl.Series(["x", "x", "x", "y", "z", "z"]))
    items = pl.DataFrame(
        {"item": ["x", "y", "z"], "labels": [3, 1, 2], "consensus": ["a", "a", "b"], "p": [0.97, 0.7, 0.55],
         "agree": [0.67, 0.0, 0.5]}
    )  # fmt: skip
    rows = where_to_look(found(samples, items)).rows
    assert rows["item"].to_list() == ["y", "z"]
    assert rows["gain"].to_list() == pytest.approx([0.7, 0.45])
    assert rows["consensus"].to_list() == [None, "b"]
    assert rows["suggested"].to_list() == ["a", "b"]
    assert rows["probability"].to_list() == pytest.approx([0.7, 0.55])
    # The row that is least likely to be right stands for its item.
    assert rows["row"].to_list() == [3, 4]
    assert rows["reason"][1].startswith("its labels differ: 1 × a, 1 × b")


def test_reasons_are_sentences_of_what_speaks_against_a_row():
    reasons = dict(where_to_look(found()).rows.select("row", "reason").iter_rows())
    assert reasons[1] == "eve contradicts the others"
    assert reasons[2] == "its credentials speak against it"
    assert reasons[4] == "a model that did not see it says b"
    alone = SAMPLES.with_columns(alone=pl.lit(True))
    assert where_to_look(found(alone)).rows["reason"][3].startswith("nothing but its contributor speaks")


def test_numbers_have_a_prediction_in_place_of_a_suggestion():
    numbers = SAMPLES.drop("suggested", "p_suggested").with_columns(
        label=pl.Series([1.0, 2, 3, 4, 5, 6]), predicted=pl.Series([1.0, 9, 3, 9, 5.1, 6])
    )
    rows = where_to_look(found(numbers)).rows
    assert rows["suggested"].to_list()[:2] == [9.0, 9.0]
    assert rows["probability"].null_count() == rows.height


def test_nothing_to_look_at_is_said():
    sure = SAMPLES.with_columns(p_correct=pl.lit(0.99))
    looking = where_to_look(found(sure))
    assert looking.rows.is_empty()
    assert looking.sentence().startswith("No item has a label less than 90% sure")


def test_data_that_are_gone_changed_or_never_were_a_file_are_one_sentence(tmp_path):
    with pytest.raises(AnmlError, match="does not say where its data lie"):
        source_of(found(), tmp_path, None)
    with pytest.raises(AnmlError, match=r"gone\.csv, are not there; name the file with --data"):
        source_of(found(path="gone.csv"), tmp_path, None)
    (tmp_path / "data.csv").write_text("a,label\n1,x\n")
    with pytest.raises(AnmlError, match="is not the file that the run was made of"):
        source_of(found(path="data.csv", sha256="0" * 64, format="table"), tmp_path, None)
