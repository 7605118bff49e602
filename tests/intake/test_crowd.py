"""Tables of crowd platforms: long, wide, Toloka, MTurk; what every preset promises."""

from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.intake.crowd import read_crowd

DATA = Path(__file__).parents[1] / "data"


def rows(found, *names):
    return found.rows.select(*names).rows()


def test_crowd_long_and_wide():
    long = read_crowd(DATA / "crowd_long.csv", "crowd-long")
    assert rows(long, "item", "contributor", "label")[:2] == [("t1", "w1", "cat"), ("t1", "w2", "cat")]
    wide = read_crowd(DATA / "crowd_wide.csv", "crowd-wide")
    assert rows(wide, "item", "contributor", "label") == [
        ("0", "ann", "1"),
        ("0", "ben", "0"),
        ("1", "ann", "0"),
        ("1", "007", "0"),
        ("2", "ann", "1"),
        ("2", "ben", "1"),
        ("2", "007", "1"),
    ]
    with pytest.raises(InputError, match="no column for the contributor"):
        read_crowd(DATA / "papers.csv", "crowd-long", item="sample")


def test_toloka_golden_and_status():
    found = read_crowd(DATA / "toloka.tsv", "toloka")
    assert rows(found, "item", "contributor", "label", "truth", "text") == [
        ("k1", "wA", "yes", "yes", "red fox"),
        ("k2", "wA", "no", "yes", "blue fox"),
        ("k3", "wB", "yes", None, "green fox"),
    ]
    assert found.evidence.select("item", "kind", "issuer").rows() == [
        ("k1", "review-accepted", "toloka requester"),
        ("k2", "review-rejected", "toloka requester"),
    ]


def test_mturk_approval_by_the_clock_proves_nothing():
    found = read_crowd(DATA / "mturk.csv", "mturk")
    assert found.rows.height == 4
    assert found.rows["time"][0] == "2026-03-10T05:16:08.000000Z"
    assert found.evidence.select("item", "contributor", "kind").rows() == [
        ("3AA", "A1X", "review-accepted"),
        ("3BB", "A2Y", "review-rejected"),
    ]
    assert "1 approvals were made by the clock and prove nothing" in found.warnings
