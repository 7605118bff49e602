"""The columns beside features and label: identifiers, signals, parents."""

from typing import Any

import polars as pl
import pytest
from intake_tables import labelled, prepared

from anml.core.errors import InputError
from anml.core.signals.reputation import REPUTATION
from anml.core.signals.verification import VERIFICATION


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
        "column 'verification' (verification) is missing in 1 rows, which count as 'self-attested'",
        "column 'reputation' (reputation) is missing in 1 rows, which count as 'new'",
    ]


def test_truth_values_as_verification() -> None:
    made = prepared(labelled(verified=[True, False, True, None]))
    assert made.verification is not None
    assert made.verification.tolist() == [0.65, 0.25, 0.65, 0.25]
    assert "true is read as 'institution', false as 'self-attested'" in made.warnings[0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5, 1.5, 0.1, 0.2], "column 'trust': verification must be a level name or lie in .*, got 1.5"),
        ([0.5, -0.1, 0.1, 0.2], "got -0.1"),
        (
            ["flagged", "flaged", None, None],
            "column 'trust': unknown verification level 'flaged'.*allowed: flagged,",
        ),
        ([float("inf"), 0.1, 0.1, 0.1], "got inf"),
    ],
)
def test_bad_signals(values: list[Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        prepared(labelled(trust=values), verification="trust")


def test_parents_by_hand() -> None:
    table = labelled(item=["a", "b", "c", "b"], derived_from=[None, "a", "a; b", ""])
    assert prepared(table).parents == [[], [0], [0, 1, 3], []]
    # Positions are among the rows used.
    without = table.with_columns(label=pl.Series(["x", "y", None, "x"])).reverse()
    assert prepared(without).parents == [[], [2], []]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"item": ["a", "b", "c"], "derived_from": [None, "z", "y"]},
            "2 items that are not in column 'item'.*'z'",
        ),
        ({"item": ["a", "b", "c"], "derived_from": [None, "b", None]}, "derives item 'b' from itself"),
        ({"derived_from": [None, "b", None]}, "there is no item column"),
    ],
)
def test_bad_parents(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        prepared(labelled(**columns), derived_from="derived_from")
