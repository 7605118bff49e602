"""The columns beside features and label: identifiers, signals, parents."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.prepare import SIGNALS, read_ages, read_identifiers, read_parents, read_signal
from anml.signals.reputation import REPUTATION
from anml.signals.verification import VERIFICATION
from intake_tables import labelled, prepared


def test_signals_by_hand() -> None:
    made = prepared(
        labelled(verification=["Peer reviewed", "flagged", None, "0.5"], reputation=[0.0, 1.0, 0.25, None])
    )
    assert made.verification is not None
    assert made.reputation is not None
    default = VERIFICATION["self-attested"].default
    assert made.verification.tolist() == [0.85, 0.07, default, 0.5]
    assert made.reputation.tolist() == [0.0, 1.0, 0.25, REPUTATION["new"].default]
    assert made.warnings == [
        "1 of 4 labels have no review",
        "1 of 4 labels have no reputation",
    ]


def test_truth_values_as_verification() -> None:
    made = prepared(labelled(verified=[True, False, True, None]))
    assert made.verification is not None
    assert made.verification.tolist() == [0.65, 0.25, 0.65, 0.25]
    assert "true is read as 'institution', false as 'self-attested'" in made.warnings[0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 1.5, 0.1, 0.2], "column 'trust': verification must be a level or lie in .*, got 1.5"),
        ([0.5, -0.1, 0.1, 0.2], "got -0.1"),
        (
            ["flagged", "flaged", None, None],
            "column 'trust': unknown verification level 'flaged'.*allowed: flagged,",
        ),
        ([float("inf"), 0.1, 0.1, 0.1], "got inf"),
    ],
)
def test_bad_signals(values: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepared(labelled(trust=values), verification="trust")


def test_parents_by_hand() -> None:
    table = labelled(item=["a", "b", "c", "b"], derived_from=[None, "a", "a; b", ""])
    assert prepared(table).parents == [[], [0], [0, 1, 3], []]
    # Positions are among the rows used.
    without = table.with_columns(label=pl.Series(["x", "y", None, "x"])).reverse()
    assert prepared(without).parents == [[], [2], []]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"item": ["a", "b", "c"], "derived_from": [None, "z", "y"]},
            "2 items that are not in column 'item'.*'z'",
        ),
        ({"item": ["a", "b", "c"], "derived_from": [None, "b", None]}, "derives 'b' from itself"),
        ({"derived_from": [None, "b", None]}, "there is no item column"),
    ],
)
def test_bad_parents(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepared(labelled(**columns), derived_from="derived_from")


class TestIdentifiers:
    @given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=15))
    @settings(max_examples=20)
    def test_are_the_columns_text(self, names):
        assert read_identifiers(pl.Series("who", names), "contributor").tolist() == names

    def test_gaps_are_counted(self):
        with pytest.raises(
            InputError, match=r"column 'who' \(item\) is empty in 2 of 3 rows; every row needs one"
        ):
            read_identifiers(pl.Series("who", ["a", None, None]), "item")


@pytest.mark.parametrize("role", SIGNALS)
class TestEverySignal:
    def test_every_level_by_its_name(self, role):
        levels, _, _ = SIGNALS[role]
        messages: list[str] = []
        result = read_signal(pl.Series("c", list(levels)), role, messages)
        assert result.tolist() == [level.default for level in levels.values()]
        assert messages == []

    def test_truth_values_and_gaps_are_read_as_said(self, role):
        levels, cautious, true = SIGNALS[role]
        messages: list[str] = []
        result = read_signal(pl.Series("c", [True, False, None]), role, messages)
        assert result.tolist() == [levels[name].default for name in (true, cautious, cautious)]
        assert len(messages) == 2
        assert repr(true) in messages[0]
        assert messages[1].startswith("1 of 3 labels have no ")

    def test_no_evidence_neither_accuses_nor_vouches(self, role):
        levels, cautious, _ = SIGNALS[role]
        values = [level.default for level in levels.values()]
        assert min(values) < levels[cautious].default < max(values)

    def test_numbers_outside_are_named_with_the_column(self, role):
        with pytest.raises(InputError, match=f"column 'c': {role} must be a level or lie in"):
            read_signal(pl.Series("c", [0.5, 1.5]), role, [])


def slow_parents(derived, items):
    results = []
    for row, text in enumerate(derived):
        parts = [part.strip() for part in (text or "").split(";") if part.strip()]
        above = []
        for part in parts:
            above += [at for at, item in enumerate(items) if item == part and at not in above]
        assert row not in above
        results.append(above)
    return results


class TestParents:
    @given(st.integers(0, 999))
    @settings(max_examples=30)
    def test_are_all_rows_of_the_items_named(self, seed):
        rng = np.random.default_rng(seed)
        items = [f"i{at // 2}" for at in range(10)]
        derived = [
            ";".join(rng.choice([f"i{total}" for total in range(at // 2)], rng.integers(0, 4)))
            if at > 1
            else None
            for at in range(10)
        ]
        assert read_parents(pl.Series("d", derived), pl.Series("item", items)) == slow_parents(derived, items)

    def test_nothing_derived_is_no_parents(self):
        nothing = pl.Series("d", [None, ""], dtype=pl.String)
        assert read_parents(nothing, pl.Series("item", ["a", "b"])) == [[], []]

    def test_numbered_items_are_named_by_their_numbers(self):
        assert read_parents(pl.Series("d", [None, "1"]), pl.Series("item", [1, 2])) == [[], [0]]
        assert read_parents(pl.Series("d", [None, 1.0]), pl.Series("item", [1.0, 2.0])) == [[], [0]]


class TestAges:
    def test_what_was_done_is_said(self):
        notes: list[str] = []
        warnings: list[str] = []
        times = pl.Series("when", ["2024-01-01", None, "2023-01-01"])
        years = read_ages(times, None, notes, warnings)
        np.testing.assert_allclose(years, [0, 0, 365 / 365.25])
        assert notes == ["ages are counted from the newest time in 'when', 2024-01-01 00:00:00"]
        assert warnings == ["column 'when' (time) is missing in 1 row, which counts as new"]
