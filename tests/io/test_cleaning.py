"""Cleaning of a frame by hand: what is joined, what stays apart, and which rows are excluded."""

import numpy as np
import polars as pl
import pytest

from anml.io.cleaning import CleaningOptions, clean_table
from anml.io.columns import Columns


def clean(labels, people=None, **options):
    """The cleaned labels, the kept rows and the messages of a table with two contributors."""
    people = people or ["ann", "bob"] * (len(labels) // 2)
    frame = pl.DataFrame({"label": labels, "who": people})
    return clean_table(frame, Columns(label="label", contributor="who"), CleaningOptions(**options), {})


def test_a_label_in_other_case_is_joined_where_no_contributor_uses_both():
    done = clean(["Cat", "cat", "Dog", "dog"] * 10)
    assert done.frame["label"].n_unique() == 2
    assert done.joined["label"]
    assert any("label" in note for note in done.notes)


def test_labels_stay_apart_without_cleaning():
    done = clean(["Cat", "cat", "Dog", "dog"] * 10, clean=False)
    assert done.frame["label"].to_list() == ["Cat", "cat", "Dog", "dog"] * 10
    assert not done.joined
    assert not done.excluded.any()


def test_a_near_spelling_stays_apart_and_is_listed_with_the_option_that_joins_it():
    labels = ["positive", "negative"] * 40 + ["postive", "negative"]
    apart = clean(labels)
    assert "postive" in apart.frame["label"].to_list()
    assert any("postive" in line and "schema.clean=all" in line for line in apart.warnings)
    assert "postive" not in clean(labels, clean="all").frame["label"].to_list()


def test_answers_that_are_no_labels_are_excluded_and_counted():
    done = clean(["cat", "dog"] * 10 + ["skip", "dog"])
    assert done.excluded.tolist() == [False] * 20 + [True, False]
    assert any(line.startswith("1 row excluded") for line in done.warnings)


@pytest.mark.parametrize("role", ["true_label", "test_label"])
def test_an_answer_word_that_a_known_label_holds_is_a_class(role):
    labels = ["cat", "dog", "cant_tell", "skip"] * 5
    frame = pl.DataFrame({"label": labels, "who": ["ann", "bob"] * 10, "known": ["Cant tell", "cat"] * 10})
    columns = Columns(label="label", contributor="who", **{role: "known"})
    done = clean_table(frame, columns, CleaningOptions(), {})
    assert done.excluded.tolist() == [label == "skip" for label in labels]
    assert any("the label 'skip' is not an answer" in line for line in done.warnings)


@pytest.mark.parametrize("form", ["frame", "file"])
def test_an_answer_word_with_a_column_of_predictions_is_a_class(form, tmp_path):
    labels = ["cat", "dog", "cant_tell", "skip"] * 5
    predictions = pl.DataFrame({name: [0.25] * 20 for name in ("cat", "dog", "cant_tell")})
    if form == "file":
        predictions.write_csv(tmp_path / "p.csv")
    done = clean(labels, predictions=predictions if form == "frame" else tmp_path / "p.csv")
    assert done.excluded.tolist() == [label == "skip" for label in labels]
    # An array names no class, and the setting counts before the predictions.
    excluded = [label in ("skip", "cant_tell") for label in labels]
    assert clean(labels, predictions=np.full((20, 3), 1 / 3)).excluded.tolist() == excluded
    named = clean(labels, predictions=predictions, missing=["skip", "cant_tell"])
    assert named.excluded.tolist() == excluded
    assert not clean(labels, missing=[]).excluded.any()


def test_contributors_in_other_case_are_one():
    done = clean(["cat", "dog"] * 20, people=["Ann@x.org", "bob"] * 10 + ["ann@x.org", "bob"] * 10)
    assert done.frame["who"].n_unique() == 2
