"""Column roles: every name in every spelling, and invalid values."""

from typing import Any

import polars as pl
import pytest

from anml.io.columns import Columns, choose_columns
from anml.io.roles import (
    ALIASES,
    BOOLEAN_SPELLINGS,
    GOLD_ALIASES,
    ROLE_CHECKS,
    ROLES,
    is_all_distinct,
    is_identifier_name,
    is_named,
    normalise_name,
)
from intake_tables import ROWS, cycle, table


def test_every_role_has_names_and_a_check() -> None:
    assert list(ROLES) == list(ALIASES) == list(ROLE_CHECKS)
    assert set(ROLES) == set(Columns("y").to_dict()) - {"features"}


VALUES: dict[str, list[Any]] = {
    "label": cycle("a", "b"),
    "contributor": cycle("ann", "bob", "cem"),
    "item": [at // 2 for at in range(ROWS)],
    "verification": cycle("peer-reviewed", "Self attested", None),
    "reputation": cycle(0.4, 0.9),
    "time": cycle("2024-01-31", "2023-05-01T10:00:00Z"),
    "retracted": cycle(True, False, False),
    "licence": cycle("MIT", "CC-BY"),
    "test_label": cycle(True, False, False),
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
            {"size": [at / 7 for at in range(ROWS)], "verdict": cycle("p", "q"), name: VALUES[role]}
        )
        columns, notes = choose_columns(frame, label=None if role == "label" else "verdict")
        assert columns.to_dict()[role] == name
        assert f"using column {name!r} as {role} (guessed from its name)" in notes
        assert name not in columns.features


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("time", [at * 1.5 for at in range(ROWS)]),  # a duration
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
    message = f"column {name!r} is not used as"
    slips = ("time", "verified", "verification", "reputation")
    assert [note.startswith(message) for note in notes] == [True] * (name in slips)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("id", True), ("ID", True), ("row_id", True), ("userIds", True), ("uuid", True), ("index", True),
        ("Unnamed: 0", True), ("", True), ("patientId", True), ("acid", False), ("idea", False),
        ("width", False), ("rapid", False), ("indexed", False),
    ],
)  # fmt: skip
def test_names_of_identifiers(name: str, expected: bool) -> None:
    assert is_identifier_name(name) == expected


@pytest.mark.parametrize(
    ("values", "distinct"),
    [([1, 2, 3], True), ([1, 1], False), ([1], False), ([1, None], False), ([*range(2000), 5], False)],
)
def test_whether_no_two_rows_share_a_value(values: list[Any], distinct: bool) -> None:
    assert is_all_distinct(pl.Series(values)) == distinct


def test_no_name_means_two_things() -> None:
    """Of two roles with one name only the first would ever be guessed."""
    names = [normalise_name(alias) for aliases in ALIASES.values() for alias in aliases]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    assert not set(names) & {normalise_name(name) for name in GOLD_ALIASES}


@pytest.mark.parametrize("role", ROLES)
class TestEveryRole:
    def test_names_are_compared_without_case_and_separators(self, role: str) -> None:
        for alias in ALIASES[role]:
            for name in (alias.upper(), alias.replace("_", "-"), alias.replace("_", ""), f" {alias} "):
                assert is_named(name, ALIASES[role])
            assert not is_named(f"{alias}s_other", ALIASES[role])

    def test_the_values_of_an_example_fit(self, role: str) -> None:
        if role in VALUES:
            assert ROLE_CHECKS[role](pl.Series((*ALIASES[role], role)[0], VALUES[role]))

    def test_an_empty_column_is_judged_without_an_error(self, role: str) -> None:
        assert ROLE_CHECKS[role](pl.Series("c", [None, None], dtype=pl.String)) in (True, False)


@pytest.mark.parametrize(("word", "message"), BOOLEAN_SPELLINGS.items())
def test_flags_are_read_as_their_words_say(word: str, message: bool) -> None:
    assert message == (word in ("true", "1", "yes"))
    assert ROLE_CHECKS["test_label"](pl.Series("c", [word.upper(), None]))


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ([2020, 2024], True),
        ([1.7e9, 1.6e9], True),
        ([3.5, 12.0], False),
        ([2020, 12], False),
        (["2024-01-01", "soon"], False),
        (["2024-01-01"] * 200 + ["soon"], True),
    ],
)
def test_what_is_taken_for_times(values: list[Any], fits: bool) -> None:
    assert ROLE_CHECKS["time"](pl.Series("time", values)) == fits
