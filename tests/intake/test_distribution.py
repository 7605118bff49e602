"""Warnings about who contributed what: each odd thing made by hand, and nothing said where nothing is odd."""

import numpy as np
import polars as pl
import pytest

from anml.intake.columns import Columns
from anml.intake.distribution import about_distribution

COLUMNS = Columns("label", contributor="site", features=("age", "dose", "ward"))
N = 120


def table(**changed):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "age": rng.normal(60, 10, N),
            "dose": rng.normal(5, 1, N),
            "ward": rng.choice(["a", "b"], N).tolist(),
            "label": rng.choice(["yes", "no"], N).tolist(),
            "site": np.resize(["north", "south", "west"], N).tolist(),
        }
    )
    return frame.with_columns(**changed)


def said(frame, columns=COLUMNS, classes=("no", "yes")):
    return about_distribution(frame, columns, list(classes))


SOUTH = pl.col("site") == "south"


def test_nothing_odd_is_not_spoken_of():
    assert said(table()) == []


def test_one_contributor_supplies_a_whole_class():
    odd = table(label=pl.when(SOUTH).then(pl.lit("maybe")).otherwise("label"))
    assert said(odd, classes=("maybe", "no", "yes")) == [
        "all rows of a class come from one contributor, so nobody else speaks of it: 'maybe' from 'south'"
    ]
    # A few rows are chance.
    few = table(label=pl.when(SOUTH & (pl.int_range(N) < 20)).then(pl.lit("maybe")).otherwise("label"))
    assert said(few, classes=("maybe", "no", "yes")) == []


def test_a_column_is_constant_at_one_site():
    assert said(table(dose=pl.when(SOUTH).then(1.0).otherwise("dose"))) == [
        "column 'dose' has the value 1.0 in all 40 rows of 'south', and others vary"
    ]
    # Of a value that nearly everybody has, chance makes a constant.
    rare = table(ward=pl.when(pl.int_range(N) == 0).then(pl.lit("b")).otherwise(pl.lit("a")))
    assert said(rare) == []


def test_a_column_is_missing_at_one_site_in_all_rows_or_in_most():
    assert said(table(age=pl.when(SOUTH).then(None).otherwise("age"))) == [
        "column 'age' has no value in all 40 rows of 'south', and others vary"
    ]
    most = table(age=pl.when(SOUTH & (pl.int_range(N) < 90)).then(None).otherwise("age"))
    assert said(most) == ["column 'age' is missing in 75% of the rows of 'south', and in 0% of the others"]


def test_gaps_that_all_have_are_not_one_site_s():
    assert said(table(age=pl.when(pl.int_range(N) % 2 == 0).then(None).otherwise("age"))) == []


def test_copies_across_contributors_and_whether_their_labels_differ():
    frame = table()
    copied = frame.head(6).with_columns(site=pl.lit("west"), label=pl.lit("yes"))
    (sentence,) = said(pl.concat([frame, copied]))
    shared = [at for at in range(6) if frame["site"][at] != "west"]
    assert sentence.startswith(f"{2 * len(shared)} rows are copies across contributors")
    differ = 2 * sum(frame["label"][at] != "yes" for at in shared)
    assert f"{differ} of them have labels that differ" in sentence


def test_labels_of_one_item_by_several_are_no_copies():
    frame = table().with_columns(item=pl.Series([str(at) for at in range(N)]))
    again = frame.with_columns(site=pl.lit("east"))
    columns = Columns("label", contributor="site", item="item", features=("age", "dose", "ward"))
    assert said(pl.concat([frame, again]), columns) == []


def test_coarse_features_repeat_by_chance():
    columns = Columns("label", contributor="site", features=("ward",))
    assert said(table(), columns) == []


@pytest.mark.parametrize("columns", [Columns("label", features=("age",)), COLUMNS])
def test_without_two_contributors_nothing_is_compared(columns):
    assert said(table(site=pl.lit("south"), dose=pl.lit(1.0)), columns) == []


def test_many_alike_are_counted():
    names = tuple(f"f{at}" for at in range(9))
    rng = np.random.default_rng(1)
    frame = table(**{name: pl.Series(rng.normal(size=N)) for name in names})
    frame = frame.with_columns(pl.when(SOUTH).then(0.0).otherwise(pl.col(name)).alias(name) for name in names)
    found = said(frame, Columns("label", contributor="site", features=names))
    assert len(found) == 3
    assert found[-1].endswith("; 6 more columns are alike")
