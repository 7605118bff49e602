"""What a contributor's data are worth: error without less error with, against a calculation by hand."""

import numpy as np
import polars as pl
import pytest

from anml.app.audit.audit import Request, audit_table
from anml.app.value import contributor_value
from anml.app.value.contributor_value import contributor_values
from anml.core.errors import AnmlError
from anml.intake.columns import choose_columns
from anml.intake.prepare import prepare
from anml.intake.tables import read_table
from anml.valuation.models import RIDGE
from made_up import consortium


def prepared_of(frame):
    table = read_table(frame)
    return prepare(table, choose_columns(table.frame)[0])


def three(n=180, seed=0, bad=("eve",), numbers=False):
    """Rows of a plane with a clear boundary (or a number), by three contributors."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    who = np.resize(["ann", "bob", "eve"], n)
    y = x @ [1.0, -2.0] + 0.1 * rng.normal(size=n)
    y = np.where(np.isin(who, bad), -y, y)
    label = y.tolist() if numbers else np.where(y > 0, "yes", "no").tolist()
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "label": label, "contributor": who.tolist()})


@pytest.fixture
def linear(monkeypatch):
    monkeypatch.setattr(contributor_value, "PASSES", 0)


def test_numbers_are_those_of_least_squares_by_hand(linear):
    frame, test = three(60, bad=(), numbers=True), three(30, seed=1, bad=(), numbers=True)
    prepared, other = prepared_of(frame), prepared_of(test)
    found = contributor_values(
        prepared, np.ones(60, bool), test=(other.x.astype(float), other.y)
    ).contributors
    mean, scale = prepared.x.mean(axis=0, dtype=float), prepared.x.std(axis=0, dtype=float)
    middle, unit = prepared.y.mean(), prepared.y.std()

    def errors(rows):
        design = np.column_stack([np.ones(rows.sum()), (prepared.x[rows] - mean) / scale])
        pull = RIDGE * np.diag([1e-3, 1.0, 1.0])
        solved = np.linalg.solve(design.T @ design + pull, design.T @ ((prepared.y[rows] - middle) / unit))
        held = np.column_stack([np.ones(30), (other.x - mean) / scale])
        return np.abs(held @ solved * unit + middle - other.y)

    whole = errors(np.ones(60, bool))
    for name, value, low, high in found.iter_rows():
        without = errors(prepared.contributor != name) - whole
        assert value == pytest.approx(without.mean(), abs=1e-6)
        half = 2.0452 * without.std(ddof=1) / np.sqrt(30)
        assert (low, high) == pytest.approx((without.mean() - half, without.mean() + half), abs=1e-5)


def test_a_liar_is_worth_less_than_nothing_and_the_others_more():
    frame = three()
    found = contributor_values(prepared_of(frame), (frame["contributor"] != "eve").to_numpy())
    worth = {name: (value, low, high) for name, value, low, high in found.contributors.iter_rows()}
    assert worth["eve"][2] < 0 < worth["ann"][0]
    assert "percentage points of error without a contributor less with, of a small network" in found.note
    assert "120 held-out rows that are kept" in found.note


def test_same_seed_gives_the_same(linear):
    prepared, trusted = prepared_of(three()), np.ones(180, bool)
    first = contributor_values(prepared, trusted, seed=3).contributors
    assert first.equals(contributor_values(prepared, trusted, seed=3).contributors)
    assert sorted(first["contributor"]) == ["ann", "bob", "eve"]


def test_labels_of_one_item_are_one_measurement(linear):
    frame = three().with_columns(item=pl.Series([f"i{at // 3}" for at in range(180)]))
    assert "60 held-out items that are kept" in contributor_values(
        prepared_of(frame), np.ones(180, bool)
    ).note  # fmt: skip


def test_only_those_with_most_rows_are_left_out_where_there_are_many(linear, monkeypatch):
    monkeypatch.setattr(contributor_value, "MOST_VALUED", 2)
    frame = pl.concat([three(), three(3).filter(pl.col("contributor") != "bob")])
    found = contributor_values(prepared_of(frame), np.ones(182, bool))
    assert found.contributors["contributor"].to_list() == ["ann", "eve"]
    assert found.note.endswith("1 contributors with fewer rows were not valued")


@pytest.mark.parametrize(
    ("frame", "trusted", "said"),
    [
        (three().with_columns(contributor=pl.lit("ann")), True, "at least two contributors"),
        (three().drop("contributor"), True, "at least two contributors"),
        (three(), False, "no row is kept"),
    ],
)
def test_what_cannot_be_valued_is_one_sentence(frame, trusted, said, linear):
    with pytest.raises(AnmlError, match=said):
        contributor_values(prepared_of(frame), np.full(180, trusted))


def test_an_audit_has_values_beside_quality_where_they_are_asked_for():
    frame = consortium(120)
    result, _, _ = audit_table(
        frame, Request(compare=False, value=True, recipe="uniform"), test=consortium(80)
    )
    assert {"value", "value_low", "value_high"} <= set(result.contributors.columns)
    assert result.contributors["contributor"].to_list() != []
    assert result.contributors.filter(pl.col("value_low") > pl.col("value")).is_empty()
    assert any(note.startswith("value is in percentage points") for note in result.notes)


def test_labels_alone_have_no_value():
    frame = pl.DataFrame(
        {"item": ["a", "a", "b", "b"] * 3, "worker": ["w", "x"] * 6, "label": ["u", "u", "v", "v"] * 3}
    )
    with pytest.raises(AnmlError, match="nothing can be valued"):
        audit_table(frame, Request(value=True))
