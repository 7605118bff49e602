"""Small pieces of text that many surfaces show."""

import polars as pl
import pytest

from anml.app.spreadsheets import safe_cell
from anml.core.signals.temporal import Decay
from anml.surfaces.audit_options import listed
from anml.surfaces.fail_if import Check, condition_of
from anml.surfaces.ledger_common import columns
from anml.surfaces.method import decay_words
from anml.surfaces.names import chance, shortened
from anml.surfaces.shape_view import parts


@pytest.mark.parametrize(("p", "said"), [(0.9999, ">99%"), (0.25, "25%"), (1e-9, "<1%")])
def test_a_chance_is_never_certain(p, said):
    assert chance(p) == said


def test_names_are_read_from_commas():
    assert listed("age, weight ,") == ["age", "weight"]


def test_rows_are_aligned():
    assert columns(("who", "rows"), [("ann", 3)]) == ["who  rows", "ann  3"]


def test_decay_is_said_in_words():
    assert decay_words(Decay.half_life("90d")) == "T halves every 90 days"


def test_a_condition_has_comparisons():
    assert condition_of("quality < 0.6 or doubtful") == [
        Check("quality", "<", 0.6),
        Check("doubtful", "", 0.0),
    ]


def test_names_are_cut_and_stay_in_one_line():
    assert shortened("a-very-long-name", 8) == "a-very-…"
    assert shortened("two\nlines", 20) == "two lines"


def test_a_text_is_shown_in_parts():
    spans = pl.DataFrame({"start": [4], "end": [7], "type": ["PER"]})
    assert parts("the cat sat", spans, 0, 11) == [("the ", ""), ("cat", "PER"), (" sat", "")]


def test_cells_that_are_no_formula_stay():
    assert [safe_cell(cell) for cell in ("=1+1", "plain", 12)] == ["'=1+1", "plain", "12"]
