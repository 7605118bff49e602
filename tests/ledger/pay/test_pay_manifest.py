"""Manifests of runs: integer lines by hand, the order of rows without a trace, and nobody paid on a guess."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.canonical import canonical
from anml.core.errors import InputError
from anml.ledger.pay.manifest import SIGNAL_BANDS, build_manifest, default_weight, rows_digest
from anml.pipeline.read import Run
from anml.settlement.allocate import ROW_WEIGHTS, UNIT, PayoutRules
from anml.settlement.manifest import contributor_amounts, parse_manifest
from ledger.ledger_world import judged_rows, simple_rows

PIDS = {"ann": "c1", "ben": "c2"}


def run(frame: pl.DataFrame, **info) -> Run:
    return Run(frame, {"recipe": {"combine": "guarded"}, **info}, "hash")


def made(frame: pl.DataFrame, rules: PayoutRules | None = None, **more) -> dict:
    given = {"pool": 100, "currency": "EUR", "pids": PIDS, "newcomers": set(), **more}
    return build_manifest(run(frame), rules or PayoutRules(), **given)


def test_a_line_by_hand():
    """Two kept rows of 1 * 0.5 * 0.5 * 1 are half a unit; v of 0.5 is an institution's, r of 0.5 is new."""
    found = made(simple_rows({"ann": 2, "ben": 1}))
    ann, ben = found["contributors"]
    assert (ann["pid"], ann["rows"], ann["kept"], ann["counted"]) == ("c1", 2, 2, 2)
    assert (ann["units"], ben["units"], ann["r"]) == (UNIT // 2, UNIT // 4, UNIT // 2)
    assert ann["bands"]["v"]["institution"] == 2
    assert ann["bands"]["r"]["new"] == 2
    assert {pid: amount for pid, (amount, _) in contributor_amounts(found).items()} == {"c1": 67, "c2": 33}


def test_a_manifest_is_canonical_and_reads_back():
    found = made(simple_rows({"ann": 2, "ben": 1}))
    assert parse_manifest(canonical(found)) == found


@settings(max_examples=25)
@given(st.permutations(range(6)))
def test_the_order_of_rows_leaves_no_trace(order):
    frame = simple_rows({"ann": 4, "ben": 2}).with_columns(q=pl.Series([0.1, 0.9, 0.3, 0.7, 0.5, 0.6]))
    assert made(frame[list(order)]) == made(frame)


@pytest.mark.parametrize("weight", ROW_WEIGHTS)
def test_every_weight_has_a_manifest_and_rows_not_kept_earn_nothing(weight):
    columns = {"p_correct": pl.lit(0.5), "weight": pl.lit(0.25)}
    frame = simple_rows({"ann": 2, "ben": 2}).with_columns(
        **columns, kept=pl.Series([True, True, False, False])
    )
    found = made(frame, PayoutRules(weight=weight))
    assert found["contributors"][0]["units"] > 0
    assert (found["contributors"][1]["units"], found["contributors"][1]["counted"]) == (0, 0)


@pytest.mark.parametrize("weight", ["p_correct", "blend"])
def test_a_weight_needs_its_column(weight):
    with pytest.raises(InputError, match=f"settling by {weight} needs the column"):
        made(simple_rows({"ann": 1}), PayoutRules(weight=weight))


@pytest.mark.parametrize("name", ["q", "v", "r", "t"])
def test_a_gap_in_a_kept_row_is_no_perfect_figure(name):
    frame = simple_rows({"ann": 2}).with_columns(pl.Series(name, [None, 0.5]))
    with pytest.raises(
        InputError, match=f"{name} is missing in 1 kept rows of the run; nobody is paid on a guess"
    ):
        made(frame)


def test_several_rows_of_one_item_count_once():
    frame = simple_rows({"ann": 3}).with_columns(
        item=pl.Series(["a", "a", None]), q=pl.Series([1.0, 0.5, 1.0])
    )
    (line,) = made(frame)["contributors"]
    # (0.25 + 0.125) / 2 and 0.25.
    assert (line["counted"], line["units"]) == (2, round(UNIT * (0.1875 + 0.25)))


def test_a_rate_pays_every_label_that_counts():
    found = made(
        simple_rows({"ann": 3, "ben": 1}), PayoutRules(weight="equal", newcomer_cap=UNIT), rate=70_000
    )
    assert found["pool"] == 4 * 70_000
    assert {pid: amount for pid, (amount, _) in contributor_amounts(found).items()} == {
        "c1": 210_000,
        "c2": 70_000,
    }


def test_newcomers_and_multipliers_are_in_the_lines():
    found = made(simple_rows({"ann": 1, "ben": 1}), newcomers={"c2"}, multipliers={"c1": UNIT // 2})
    assert [(line["newcomer"], line["multiplier"]) for line in found["contributors"]] == [
        (False, UNIT // 2), (True, 0),
    ]  # fmt: skip


def test_p_correct_is_taken_where_the_evidence_recipe_says_it():
    frame = judged_rows({"ann": [0.9]})
    assert default_weight(Run(frame, {"recipe": {"combine": "evidence"}}, "")) == "p_correct"
    assert default_weight(Run(frame, {"recipe": {"combine": "guarded"}}, "")) == "product"
    gap = frame.with_columns(p_correct=pl.lit(None, pl.Float64))
    assert default_weight(Run(gap, {"recipe": {"combine": "evidence"}}, "")) == "product"


def test_one_hash_for_the_same_rows_whatever_their_order_and_figures():
    frame = simple_rows({"ann": 2, "ben": 1})
    one = rows_digest(run(frame), PIDS)
    assert rows_digest(run(frame.reverse().with_columns(q=pl.lit(0.1))), PIDS) == one
    assert rows_digest(run(frame.with_columns(row=pl.col("row") + 1)), PIDS) != one
    assert rows_digest(run(frame), {"ann": "c1", "ben": "c3"}) != one


@pytest.mark.parametrize("name", SIGNAL_BANDS)
def test_bands_cover_everything_between_0_and_1_once(name):
    """An upper end is in its band, and what is just above it is in the next one."""
    ends = list(SIGNAL_BANDS[name].values())
    assert ends == sorted(ends)
    assert ends[-1] == 1.0
    values = [0.0, 0.001, *ends, *(end + 0.001 for end in ends[:-1])]
    frame = simple_rows({"ann": len(values)}).with_columns(pl.Series(name, values))
    wanted = [1] * len(ends)
    for value in values[:2] + values[2 + len(ends) :]:
        wanted[next(place for place, end in enumerate(ends) if value <= end)] += 1
    (line,) = made(frame)["contributors"]
    assert list(line["bands"][name].values()) == wanted
