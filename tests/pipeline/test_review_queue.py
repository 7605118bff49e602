"""Review queue: gains by hand, excluded items, the budget, and descriptions."""

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.pipeline.queue_order import REPEAT_DISCOUNT
from anml.pipeline.review_queue import QueueInput, build_queue
from anml.pipeline.rounds import source_of

SAMPLES = pl.DataFrame(
    {
        "row": [0, 1, 2, 3, 4, 5],
        "contributor": ["ann", "eve", "bob", "eve", "ann", "bob"],
        "label": ["a", "b", "a", "b", "a", "b"],
        "predicted_label": ["a", "a", "a", "a", "b", "b"],
        "p_correct": [0.99, 0.10, 0.60, 0.30, 0.85, 0.95],
        "suggested_label": ["a", "a", "a", "a", "a", "b"],
        "p_suggested_label": [0.99, 0.90, 0.60, 0.70, 0.85, 0.95],
        "uncorroborated": [False] * 6,
        "logodds_model": [2.0, -2.0, 1.0, -1.0, -1.0, 2.0],
        "logodds_credentials": [0.0, 0.0, -1.0, 0.0, 0.0, 0.0],
        "logodds_contributor": [1.0, -3.0, 0.5, -2.0, 1.0, 1.0],
    }
)
VERDICTS = {"ann": "reliable", "bob": "reliable", "eve": "contradicts the others"}


def found(samples=SAMPLES, items=None, **more):
    return QueueInput(samples, items, VERDICTS, more.pop("disputed", None), more)


def test_the_gain_is_the_probability_that_the_label_is_wrong_and_the_most_comes_first():
    looking = build_queue(found())
    assert looking.rows["row"].to_list() == [1, 3, 2, 4]
    assert (looking.units, looking.gain) == (6, pytest.approx(2.15))
    assert looking.rows["p_label_wrong"].to_list() == pytest.approx([0.9, 0.7, 0.4, 0.15])
    # Over all rows: 0.01 + 0.9 + 0.4 + 0.7 + 0.15 + 0.05.
    assert looking.expected == pytest.approx(2.21)
    assert looking.sentence() == (
        "4 items below 90% confidence; about 2 wrong labels are expected (97% of the estimated total)."
    )


def test_a_budget_takes_the_first_and_says_of_how_many():
    looking = build_queue(found(), top=2)
    assert looking.rows["row"].to_list() == [1, 3]
    assert looking.candidates == 4
    assert "2 of the 4 items below 90% confidence" in looking.sentence()


@pytest.mark.parametrize("top", [0, -3, 1.5, True, "many"])
def test_a_budget_is_a_whole_number_from_one(top):
    with pytest.raises(AnmlError, match="top must be"):
        build_queue(found(), top)


def test_what_is_known_to_be_right_is_settled_and_what_was_rejected_is_still_to_mend():
    gold = pl.Series([None, False, None, True, None, None])
    samples = SAMPLES.with_columns(
        label_is_correct=gold, p_correct=pl.Series([0.99, 0.0, 0.6, 1.0, 0.85, 0.95])
    )
    looking = build_queue(found(samples))
    assert looking.rows["row"].to_list() == [1, 2, 4]
    assert looking.rows["reason"][0].startswith("rejected by a reviewer")
    answered = samples.with_columns(
        true_label=pl.Series([None, "a", None, None, None, None], dtype=pl.String)
    )
    assert build_queue(found(answered)).rows["row"].to_list() == [2, 4]


def test_a_right_label_settles_its_item_as_a_whole():
    items = pl.Series("item", ["x", "x", "y", "y", "z", "z"])
    gold = pl.Series("label_is_correct", [None, None, True, None, None, None])
    rows = build_queue(found(SAMPLES.with_columns(items, gold))).rows
    assert rows["item"].to_list() == ["x", "z"]


def test_labels_of_one_person_do_not_all_come_before_those_of_others():
    n = 60
    sure = pl.DataFrame(
        {
            "row": range(n),
            "contributor": ["eve"] * 40 + ["bob"] * 20,
            "label": ["b"] * n,
            "predicted_label": ["a"] * n,
            "p_correct": [0.10] * 40 + [0.30] * 20,
            "suggested_label": ["a"] * n,
            "p_suggested_label": [0.90] * n,
            "uncorroborated": [False] * n,
        }
    )
    order = build_queue(found(sure)).rows["contributor"].to_list()
    # 0.9 discounted k times falls below 0.7 at the 13th of eve's.
    first = next(k for k in range(n) if 0.9 * REPEAT_DISCOUNT**k < 0.7)
    assert order[:first] == ["eve"] * first
    assert order[first] == "bob"
    assert "eve" in order[first:20]


def test_an_item_with_several_labels_counts_once_by_its_consensus():
    samples = SAMPLES.with_columns(item=pl.Series(["x", "x", "x", "y", "z", "z"]))
    items = pl.DataFrame(
        {"item": ["x", "y", "z"], "n_labels": [3, 1, 2], "consensus_label": ["a", "a", "b"],
         "p_consensus": [0.97, 0.7, 0.55], "annotator_agreement": [0.67, 0.0, 0.5]}
    )  # fmt: skip
    rows = build_queue(found(samples, items)).rows
    assert rows["item"].to_list() == ["y", "z"]
    assert rows["p_label_wrong"].to_list() == pytest.approx([0.7, 0.45])
    assert rows["consensus_label"].to_list() == [None, "b"]
    assert rows["suggested_label"].to_list() == ["a", "b"]
    assert rows["p_suggested_label"].to_list() == pytest.approx([0.7, 0.55])
    # The row that is least likely to be right stands for its item.
    assert rows["row"].to_list() == [3, 4]
    assert rows["reason"][1].startswith("labels of this item: 1 × a, 1 × b")


def test_reasons_are_sentences_of_what_speaks_against_a_row():
    reasons = dict(build_queue(found()).rows.select("row", "reason").iter_rows())
    assert reasons[1] == "eve: contradicts the others"
    assert reasons[2] == "low verification or reputation"
    assert reasons[4] == "held-out prediction: b"
    alone = SAMPLES.with_columns(uncorroborated=pl.lit(True))
    assert build_queue(found(alone)).rows["reason"][3].startswith("supported only by the same contributor")


def test_numbers_have_a_prediction_in_place_of_a_suggestion():
    numbers = SAMPLES.drop("suggested_label", "p_suggested_label").with_columns(
        label=pl.Series([1.0, 2, 3, 4, 5, 6]), predicted_label=pl.Series([1.0, 9, 3, 9, 5.1, 6])
    )
    rows = build_queue(found(numbers)).rows
    assert rows["suggested_label"].to_list()[:2] == [9.0, 9.0]
    assert rows["p_suggested_label"].null_count() == rows.height


def test_nothing_to_look_at_is_said():
    sure = SAMPLES.with_columns(p_correct=pl.lit(0.99))
    looking = build_queue(found(sure))
    assert looking.rows.is_empty()
    assert looking.sentence().startswith("The queue is empty: every label has p ≥ 0.90")


def test_data_that_are_gone_changed_or_never_were_a_file_are_one_sentence(tmp_path):
    with pytest.raises(
        AnmlError, match="the run was made from a data frame, so its data cannot be read again"
    ):
        source_of(found(), tmp_path, None)
    with pytest.raises(
        AnmlError, match=r"the data of this run are missing: .*gone\.csv; pass the file with --data"
    ):
        source_of(found(path="gone.csv"), tmp_path, None)
    (tmp_path / "data.csv").write_text("a,label\n1,x\n")
    with pytest.raises(AnmlError, match="is not the data of this run"):
        source_of(found(path="data.csv", sha256="0" * 64, format="table"), tmp_path, None)
