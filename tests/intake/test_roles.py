"""What a column may be: every name in every spelling, and values that do not fit."""

from typing import Any

import polars as pl
import pytest

from anml.intake.columns import Columns, choose_columns
from anml.intake.roles import ALIASES, FITS, ROLES

ROWS = 30


def table(**columns: Any) -> pl.DataFrame:
    """Thirty rows with a feature and a label, and what a test adds."""
    base: dict[str, Any] = {"size": [at / 7 for at in range(ROWS)], "label": ["a", "b"] * (ROWS // 2)}
    return pl.DataFrame({**base, **columns})


def cycle(*values: Any) -> list[Any]:
    return [values[at % len(values)] for at in range(ROWS)]


def test_every_role_has_names_and_a_check() -> None:
    assert list(ROLES) == list(ALIASES) == list(FITS)
    assert set(ROLES) == set(Columns("y").to_dict()) - {"features"}


VALUES: dict[str, list[Any]] = {
    "label": cycle("a", "b"),
    "contributor": cycle("ann", "bob", "cem"),
    "item": [at // 2 for at in range(ROWS)],
    "verification": cycle("peer-reviewed", "Self attested", None),
    "reputation": cycle(0.4, 0.9),
    "time": cycle("2024-01-31", "2023-05-01T10:00:00Z"),
    "gold": cycle(True, False, False),
}


@pytest.mark.parametrize(
    ("role", "alias"), [(role, alias) for role in VALUES for alias in ALIASES[role] if len(alias) > 1]
)
def test_every_alias_is_found_in_any_spelling(role: str, alias: str) -> None:
    for name in (
        alias,
        alias.upper().replace("_", " "),
        alias.title().replace("_", ""),
        alias.replace("_", ":"),
    ):
        frame = pl.DataFrame(
            {"size": [at / 7 for at in range(ROWS)], "verdict": cycle("a", "b"), name: VALUES[role]}
        )
        columns, notes = choose_columns(frame, label=None if role == "label" else "verdict")
        assert columns.to_dict()[role] == name
        assert f"using column {name!r} as {role} (guessed from its name)" in notes
        assert name not in columns.features


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("time", [float(at) for at in range(ROWS)]),  # a duration
        ("time", cycle("short", "long")),
        ("verified", cycle("37", "12")),
        ("reputation", cycle(12, 300)),
        ("verification", cycle("gold", "silver")),
        ("source", [at / 3 for at in range(ROWS)]),
        ("v", cycle(0.1, 0.2)),  # a single letter, and no contributor
        ("r", cycle(0.1, 0.2)),
        ("derived_from", cycle("x", "y")),  # no item
    ],
)
def test_values_that_do_not_fit_are_not_guessed(name: str, values: list[Any]) -> None:
    columns, notes = choose_columns(table(**{name: values}), label="label")
    assert name in columns.features
    said = f"column {name!r} is not used as"
    slips = ("time", "verified", "verification", "reputation")
    assert [note.startswith(said) for note in notes] == [True] * (name in slips)
