"""Warnings about the data itself: counts by hand, what chance alone does not say, where they are shown."""

import numpy as np
import polars as pl
import pytest

import anml
from anml.core.errors import InputError
from anml.pipeline.audit import audit_table
from anml.pipeline.data_warnings import (
    add_copy_columns,
    add_median_seconds,
    classes_from_one_contributor,
    copied_rows,
    duplicate_accounts,
)
from anml.pipeline.request import Request

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

WHO = np.array(["ann"] * 200 + ["bob"] * 200 + ["eve"] * 200)


def features(seed=0, n=600):
    return np.random.default_rng(seed).normal(size=(n, 5))


class TestAClassThatOneSupplies:
    def test_is_named_with_its_contributor(self):
        y = np.where(WHO == "eve", np.arange(600) % 2, 0)
        assert classes_from_one_contributor(y, ["well", "ill"], WHO) == [
            "all 100 labels “ill” are given by eve; wrong ones cannot be detected"
        ]

    def test_a_few_labels_say_nothing(self):
        y = np.zeros(600, dtype=np.int64)
        y[:9] = 1
        assert classes_from_one_contributor(y, ["well", "ill"], WHO) == []

    def test_many_are_counted(self):
        contributor = np.array([f"rule {i}" for i in range(6)]).repeat(20)
        message = classes_from_one_contributor(np.arange(120) // 20, [str(i) for i in range(6)], contributor)
        assert len(message) == 4
        assert message[-1] == "3 more classes with labels from one contributor only"


class TestLabelsThatAreCopied:
    """Eve and mallory share their wrong answers; the others are right by themselves."""

    def crowd(self, copied):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 4, 150)
        names = np.array(["ann", "bob", "cyd", "eve", "mallory"])
        y = np.where(rng.uniform(size=(150, 5)) < 0.9, truth[:, None], rng.integers(0, 4, (150, 5)))
        y[:, 3] = np.where(rng.uniform(size=150) < 0.6, (truth + 1) % 4, truth)
        y[:, 4] = y[:, 3] if copied else np.where(rng.uniform(size=150) < 0.6, (truth + 2) % 4, truth)
        return y.ravel(), np.repeat(np.arange(150), 5), np.tile(names, 150)

    def test_are_named_with_what_follows(self):
        assert duplicate_accounts(*self.crowd(copied=True)) == [
            "eve and mallory give nearly identical labels and are treated as one copy group: "
            "labels that they share count as one vote"
        ]

    def test_wrong_each_in_a_way_of_his_own_is_no_copy(self):
        assert duplicate_accounts(*self.crowd(copied=False)) == []


class TestCopies:
    def test_a_pair_that_shares_most_rows_is_named_once(self):
        x = features()
        x[400:520] = x[:120] + 0.001
        result, message = copied_rows(x, WHO)
        assert result.rows() == [("ann", 120, "eve"), ("eve", 120, "ann")]
        assert message == []

    def test_a_few_are_counted_and_nobody_is_named(self):
        x = features()
        x[400:430] = x[:30]
        result, message = copied_rows(x, WHO)
        assert (result.rows(), message) == (
            [],
            ["60 rows are near-duplicates of rows of another contributor"],
        )

    def test_rows_of_ones_own_are_no_copies_of_others(self):
        x = features()
        x[:60] = x[60:120]
        result, message = copied_rows(x, WHO)
        assert (result.rows(), message) == ([], [])

    def test_labels_of_the_same_item_are_no_copies(self):
        x = np.repeat(features(n=100), 3, axis=0)
        contributor, item = np.tile(["ann", "bob", "eve"], 100), np.repeat(np.arange(100), 3).astype(str)
        result, message = copied_rows(x, contributor, item)
        assert (result.rows(), message) == ([], [])

    def test_a_table_of_few_kinds_of_rows_says_nothing(self):
        kinds = np.random.default_rng(0).integers(0, 2, (600, 3)).astype(float)
        result, message = copied_rows(kinds, WHO)
        assert (result.rows(), message) == ([], [])

    def test_columns_are_added_only_where_somebody_copies(self):
        people = pl.DataFrame({"contributor": ["eve", "ann"], "rows": [200, 200]})
        copies = pl.DataFrame({"contributor": ["ann"], "duplicate_rows": [120], "duplicates_of": ["eve"]})
        assert add_copy_columns(people, copies.clear()).columns == ["contributor", "rows"]
        added = add_copy_columns(people, copies)
        assert added.rows() == [("eve", 200, None, None), ("ann", 200, 120, "eve")]


def test_time_spent_is_the_median_of_each_and_nothing_without_a_column():
    people = pl.DataFrame({"contributor": ["eve", "ann"]})
    samples = pl.DataFrame({"row": [0, 2, 3], "contributor": ["ann", "ann", "eve"]})
    frame = pl.DataFrame({"Lead time": [4, 99, 8, None]})
    assert add_median_seconds(people, samples, frame)["median_seconds"].to_list() == [None, 6.0]
    assert add_median_seconds(people, samples, frame.rename({"Lead time": "n"})).columns == ["contributor"]


def test_they_are_in_the_record_the_report_and_the_card(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    x[80:] = x[:20]
    frame = pl.DataFrame(
        {
            **{f"x{i}": x[:, i] for i in range(3)},
            "site": np.array(["north", "south", "west", "lake", "east"]).repeat(20),
            "label": ["rare" if 20 <= i < 35 else "yes" if x[i, 0] > 0 else "no" for i in range(100)],
            "day": [None if 20 <= i < 40 else "2026-01-01" for i in range(100)],
        }
    )
    settings = {"schema": {"time": "day"}, "recipe": {"half_life": "7y", "profile": {"epochs": 3}}}
    audit = anml.audit(frame, "label", "site", evaluate=False, progress=False, **settings)
    message = "all 15 labels “rare” are given by south; wrong ones cannot be detected"
    report = audit.report(tmp_path / "report.html").read_text()
    assert message in audit._result.warnings
    assert f"warning: {message}" in repr(audit)
    assert message[1:] in report
    assert repr(audit).count("have near-duplicate rows: 20 of 20.") == 1
    assert "have near-duplicate rows: 20 of 20." in report
    assert dict(audit.contributors.select("contributor", "duplicates_of").rows())["south"] is None


class TestUnnamedItems:
    """Three people label the same 40 things, and no column says so."""

    def table(self):
        x = np.random.default_rng(0).normal(size=(40, 2)).repeat(3, axis=0)
        return pl.DataFrame(
            {"size": x[:, 0], "weight": x[:, 1], "who": ["ann", "bob", "eve"] * 40,
             "number": range(120), "label": np.where(x[:, 0] > 0, "yes", "no")}
        )  # fmt: skip

    def audited(self, frame, **more):
        return audit_table(frame, Request(label="label", contributor="who", evaluate=False, **more))[0]

    def test_are_refused_until_it_is_said_what_an_item_is(self):
        with pytest.raises(InputError, match="labels of the same items"):
            self.audited(self.table().drop("number"))

    def test_a_column_that_differs_in_every_row_says_that_they_are_different_things(self):
        assert self.audited(self.table(), item="number").consensus is None

    def test_few_kinds_of_rows_are_no_items(self):
        kinds = np.random.default_rng(0).integers(0, 2, (120, 2))
        frame = self.table().drop("number").with_columns(size=kinds[:, 0], weight=kinds[:, 1])
        assert self.audited(frame).samples.height == 120
