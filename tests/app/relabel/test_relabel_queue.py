"""Where to look first: gains worked out by hand, what is settled, the budget, and words."""

import polars as pl
import pytest

from anml.app.relabel.queue import Found, where_to_look
from anml.app.relabel.rounds import source_of
from anml.core.errors import AnmlError
from anml.core.queue import SPREAD

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
VERDICTS = {"ann": "reliable", "bob": "reliable", "eve": "contradicts the others"}


def found(samples=SAMPLES, items=None, **more):
    return Found(samples, items, VERDICTS, more.pop("doubtful", None), more)


def test_the_gain_is_the_probability_that_the_label_is_wrong_and_the_most_comes_first():
    looking = where_to_look(found())
    assert looking.rows["row"].to_list() == [1, 3, 2, 4]
    assert (looking.units, looking.gain) == (6, pytest.approx(2.15))
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


def test_what_is_known_to_be_right_is_settled_and_what_was_rejected_is_still_to_mend():
    known = pl.Series([None, False, None, True, None, None])
    samples = SAMPLES.with_columns(known_right=known, p_correct=pl.Series([0.99, 0.0, 0.6, 1.0, 0.85, 0.95]))
    looking = where_to_look(found(samples))
    assert looking.rows["row"].to_list() == [1, 2, 4]
    assert looking.rows["reason"][0].startswith("a reviewer rejected it")
    answered = samples.with_columns(answer=pl.Series([None, "a", None, None, None, None], dtype=pl.String))
    assert where_to_look(found(answered)).rows["row"].to_list() == [2, 4]


def test_a_right_label_settles_its_item_as_a_whole():
    items = pl.Series("item", ["x", "x", "y", "y", "z", "z"])
    known = pl.Series("known_right", [None, None, True, None, None, None])
    rows = where_to_look(found(SAMPLES.with_columns(items, known))).rows
    assert rows["item"].to_list() == ["x", "z"]


def test_labels_of_one_person_do_not_all_come_before_those_of_others():
    n = 60
    sure = pl.DataFrame(
        {
            "row": range(n),
            "contributor": ["eve"] * 40 + ["bob"] * 20,
            "label": ["b"] * n,
            "predicted": ["a"] * n,
            "p_correct": [0.10] * 40 + [0.30] * 20,
            "suggested": ["a"] * n,
            "p_suggested": [0.90] * n,
            "alone": [False] * n,
        }
    )
    order = where_to_look(found(sure)).rows["contributor"].to_list()
    # 0.9 discounted k times falls below 0.7 at the 13th of eve's.
    first = next(k for k in range(n) if 0.9 * SPREAD**k < 0.7)
    assert order[:first] == ["eve"] * first
    assert order[first] == "bob"
    assert "eve" in order[first:20]


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
    with pytest.raises(AnmlError, match="does not say where its data lie, as it was made of a frame"):
        source_of(found(), tmp_path, None)
    with pytest.raises(AnmlError, match=r"gone\.csv, are not there; name the file with --data"):
        source_of(found(path="gone.csv"), tmp_path, None)
    (tmp_path / "data.csv").write_text("a,label\n1,x\n")
    with pytest.raises(AnmlError, match="is not the file that the run was made of"):
        source_of(found(path="data.csv", sha256="0" * 64, format="table"), tmp_path, None)
