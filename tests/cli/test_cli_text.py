"""Small pieces of text that many surfaces show."""

import polars as pl
import pytest

from anml.cli.fail_if import Check, parse_condition
from anml.cli.options import split_names
from anml.cli.text import columns
from anml.io.spreadsheets import safe_cell
from anml.report.method import describe_decay
from anml.report.printable import format_probability, truncate
from anml.report.tasks import split_text
from anml.signals.freshness import Decay


@pytest.mark.parametrize(("p", "message"), [(0.9999, ">99%"), (0.25, "25%"), (1e-9, "<1%")])
def test_a_chance_is_never_certain(p, message):
    assert format_probability(p) == message


def test_names_are_read_from_commas():
    assert split_names("age, weight ,") == ["age", "weight"]


def test_rows_are_aligned():
    assert columns(("who", "rows"), [("ann", 3)]) == ["who  rows", "ann  3"]


def test_decay_is_said_in_words():
    assert describe_decay(Decay.half_life("90d")) == "90 days"


def test_a_condition_has_comparisons():
    assert parse_condition("accuracy < 0.6 or disputed") == [
        Check("accuracy", "<", 0.6),
        Check("disputed", "", 0.0),
    ]


def test_names_are_cut_and_stay_in_one_line():
    assert truncate("a-very-long-name", 8) == "a-very-…"
    assert truncate("two\nlines", 20) == "two lines"


def test_a_text_is_shown_in_parts():
    spans = pl.DataFrame({"start": [4], "end": [7], "type": ["PER"]})
    assert split_text("the cat sat", spans, 0, 11) == [("the ", ""), ("cat", "PER"), (" sat", "")]


def test_cells_that_are_no_formula_stay():
    assert [safe_cell(cell) for cell in ("=1+1", "plain", 12)] == ["'=1+1", "plain", "12"]
