"""True labels: labels, marks and export fields; rows with a true label are not evaluated."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io.source import read_source
from anml.signals.verification import VERIFICATION
from intake_tables import labelled, prepared

DATA = Path(__file__).parents[1] / "data"
V = {name: level.default for name, level in VERIFICATION.items()}


def known(column: dict[str, Any], **more: Any) -> Any:
    """Labels are b, a, b, a."""
    made = prepared(labelled(**column), true_label=next(iter(column)), **more)
    assert made.known is not None
    assert next(iter(column)) not in made.preparation.feature_names
    return made


def test_right_labels() -> None:
    made = known({"answer": ["b", "b", None, "c"]})
    assert made.known.truth.tolist() == [1, 1, -1, -1]
    assert made.known.truth.dtype == np.int64
    assert made.known.right.tolist() == [True, False, False, False]
    # Nobody gave c as a label: what the right one is stays open, but a is not it.
    assert made.known.wrong.tolist() == [False, True, False, True]
    assert "column 'answer' (true_label) holds the right label of 3 rows, which enter as known" in made.notes


@pytest.mark.parametrize("values", [[True, False, None, True], ["yes", "NO", None, "1"]])
def test_marks(values) -> None:
    made = known({"checked": values})
    assert made.known.truth.tolist() == [1, -1, -1, 0]
    assert made.known.right.tolist() == [True, False, False, True]
    assert made.known.wrong.tolist() == [False, True, False, False]
    assert "marks 2 labels as right and 1 as wrong, which enter as known" in made.notes[0]


def test_numbers() -> None:
    table = labelled(answer=[1.5, None, 9.0, None]).with_columns(label=pl.Series([1.5, 2.25, 3.5, 4.0]))
    made = prepared(table, true_label="answer")
    assert made.known is not None
    np.testing.assert_array_equal(made.known.truth, [1.5, np.nan, 9.0, np.nan])
    assert made.known.right.tolist() == [True, False, False, False]
    assert not made.known.wrong.any()
    table = table.with_columns(answer=pl.Series([True, False, None, None]))
    made = prepared(table, true_label="answer")
    assert made.known is not None
    np.testing.assert_array_equal(made.known.truth, [1.5, np.nan, np.nan, np.nan])
    assert made.known.wrong.tolist() == [False, True, False, False]


def test_all_labels_of_an_item_have_its_right_label() -> None:
    table = labelled(answer=["b", None, None, "a"], thing=["x", "x", "y", "y"])
    made = prepared(table, true_label="answer", item="thing")
    assert made.known is not None
    assert made.known.truth.tolist() == [1, 1, 0, 0]
    assert made.known.right.tolist() == [True, False, False, True]


def test_an_item_with_two_right_labels_is_said() -> None:
    table = labelled(answer=["b", "a", None, None], thing=["x", "x", "x", "y"])
    made = prepared(table, true_label="answer", item="thing")
    assert made.known is not None
    assert made.known.truth.tolist() == [1, 0, -1, -1]
    assert "1 items have more than one correct label in column 'answer', the first 'x'" in made.warnings


@pytest.mark.parametrize(
    ("values", "labels", "message"),
    [
        (
            ["perhaps", None, None],
            None,
            "must hold true, false, or labels of 'label'; got 'perh",
        ),
        (["x", None, None], [1.5, 2.5, 7.0], "must hold numbers, or true or false, .*; got 'x'"),
        ([float("inf"), None, None], [1.5, 2.5, 7.0], "must hold finite numbers"),
        ([[1], [2], [3]], None, "which cannot be a true_label"),
    ],
)
def test_bad_columns(values, labels, message) -> None:
    table = labelled(answer=values)
    if labels is not None:
        table = table.with_columns(label=pl.Series(labels))
    with pytest.raises(InputError, match=message):
        prepared(table, true_label="answer")


def test_a_column_that_says_nothing_is_a_warning() -> None:
    made = known({"answer": [None, None, "", None]})
    assert made.warnings == ["column 'answer' (true_label) says nothing of any label"]
    assert made.verification is None


def test_what_is_known_earns_v_where_none_was_given() -> None:
    made = known({"answer": ["b", "b", None, None]})
    assert made.verification.tolist() == [
        V["reproduced"], V["flagged"], V["self-attested"], V["self-attested"]
    ]  # fmt: skip
    levels = ["peer-reviewed", None, None, "institution"]
    made = known({"answer": ["b", "b", None, None], "verification": levels})
    assert made.verification.tolist() == [
        V["peer-reviewed"], V["flagged"], V["self-attested"], V["institution"]
    ]  # fmt: skip
    assert made.warnings == ["1 of 3 labels have no review"]


def test_what_is_known_and_what_checks_never_overlap() -> None:
    table = labelled(answer=["b", None, None, None], g=["b", "b", None, "a"])
    made = prepared(table, true_label="answer", test_label="g")
    assert made.gold is not None
    assert made.gold.known.tolist() == [False, True, False, True]
    assert any(
        "1 rows of column 'g' (test_label) are known already and check nothing" in n for n in made.notes
    )
    with pytest.raises(
        InputError, match="column 'g' is named as test_label and as true_label; it can be one of"
    ):
        prepared(labelled(g=["b", "b", None, "a"]), true_label="g", test_label="g")


def test_a_column_that_is_ignored_as_a_feature_may_check_or_be_known() -> None:
    table = labelled(truth=["b", "b", None, "a"])
    assert prepared(table, test_label="truth", ignore=["truth"]).gold is not None
    assert prepared(table, true_label="truth", ignore=["truth"]).known is not None


class TestExports:
    def read(self, name):
        return read_source(DATA / name, "auto", {})

    def test_label_studio_ground_truth_and_reviews(self):
        result = self.read("label_studio.json")
        assert (result.roles["true_label"], result.roles["reviewed"]) == ("true_label", "reviewed")
        # Task 1 has a ground truth, which holds for itself and for the others.
        assert result.table.frame["true_label"].to_list() == ["good", "good", "good", None, None, None]
        # Nobody reviews themselves, and what a reviewer fixed is not the contributor's.
        assert result.table.frame["reviewed"].to_list() == [None, True, False, True, None, None]
        assert result.table.frame["verification"].to_list() == [None, 0.7, 0.07, 0.7, 0.25, 0.7]

    def test_toloka_golden_answers_and_no_pay_for_a_truth(self):
        result = self.read("toloka.tsv")
        assert result.table.frame["true_label"].to_list() == ["yes", "yes", None]
        assert "reviewed" not in result.roles
        assert result.others == ("truth", "true_label")

    def test_nothing_is_known_where_nothing_was_said(self):
        for name in ("argilla_flat.json", "mturk.csv"):
            result = self.read(name)
            assert not {"true_label", "reviewed"} & {*result.roles, *result.table.frame.columns}

    def test_a_single_annotation_marked_as_ground_truth(self, tmp_path):
        tasks = json.loads((DATA / "label_studio.json").read_text())
        tasks[1]["annotations"] = tasks[1]["annotations"][:1]
        tasks[1]["annotations"][0]["ground_truth"] = True
        (tmp_path / "x.json").write_text(json.dumps(tasks))
        result = read_source(tmp_path / "x.json", "auto", {})
        assert result.table.frame.filter(item="2")["true_label"].to_list() == ["bad"]
        assert "is_ground_truth" not in result.table.frame.columns

    def test_columns_of_the_data_do_not_clash_with_ours(self, tmp_path):
        tasks = json.loads((DATA / "label_studio.json").read_text())
        for task in tasks:
            task["data"] |= {"true_label": "x", "reviewed": 3, "truth": "y", "is_ground_truth": "z"}
        (tmp_path / "x.json").write_text(json.dumps(tasks))
        frame = read_source(tmp_path / "x.json", "auto", {}).table.frame
        assert frame["true_label"].to_list()[:3] == ["good"] * 3
        assert {"data_true_label", "data_reviewed", "data_truth"} <= set(frame.columns)

    def test_the_right_label_in_a_crowd_table_is_known_and_no_feature(self, tmp_path):
        path = tmp_path / "long.csv"
        path.write_text("task,worker,label,gold\nt1,w1,cat,dog\nt1,w2,dog,dog\nt2,w1,cat,\nt2,w2,dog,\n")
        result = read_source(path, "crowd-long", {})
        assert result.roles["true_label"] == "true_label"
        assert result.table.frame["true_label"].to_list() == ["dog", "dog", None, None]
        assert "data_gold" not in result.table.frame.columns


def test_a_true_label_that_was_renamed_is_no_feature() -> None:
    made = prepared(labelled(data_truth=["b", "b", "a", "a"]))
    assert made.preparation.feature_names == ["size"]
