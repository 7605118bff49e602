"""Whose data help and whose cost, in sentences worked out by hand."""

from types import SimpleNamespace

import polars as pl

from anml.surfaces.worth import worth


def said(rows, task="classification"):
    people = pl.DataFrame(rows, schema=["contributor", "value", "value_low", "value_high"], orient="row")
    return worth(SimpleNamespace(contributors=people, task=task))


def test_costs_help_and_cannot_tell_are_told_apart():
    assert said([("ann", 4.0, 1.0, 7.0), ("eve", -3.0, -5.5, -0.5), ("bob", 0.2, -1.0, 1.4)]) == [
        "The error would be lower without the data of eve (by 3, 0.5 to 5.5), in percentage points.",
        "The error would be higher without the data of ann (by 4, 1 to 7), in percentage points.",
        "Whether the data of the others help cannot be told from so few rows.",
    ]


def test_nobody_can_be_told():
    assert said([("ann", 0.0, -1.0, 1.0)]) == [
        "Whether the data of anybody help cannot be told from so few rows."
    ]


def test_the_most_costly_first_and_many_are_counted():
    (sentence,) = said([(f"c{at}", -1.0 - at, -2.0 - at, -0.5) for at in range(6)])
    assert "of c5 (by 6, 0.5 to 7), c4" in sentence
    assert "and 2 more" in sentence


def test_numbers_are_in_their_own_unit_and_what_was_not_valued_is_not_said():
    (sentence,) = said([("ann", 0.25, 0.1, 0.4), ("bob", None, None, None)], "regression")
    assert sentence.endswith("in the labels' own unit.")
    assert worth(SimpleNamespace(contributors=pl.DataFrame({"contributor": ["ann"]}))) == []
