"""Argilla's export, nested and flattened: who submitted what, and what is left out."""

from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.intake.argilla import NO_STATUS, read_argilla

DATA = Path(__file__).parents[1] / "data"


def rows(found, *names):
    return found.rows.select(*names).rows()


def test_argilla_nested_loses_the_status_and_says_so():
    found = read_argilla(DATA / "argilla_nested.json", time="when")
    assert rows(found, "item", "contributor", "label", "text") == [
        ("r1", "5a1b", "pos", "a fine day"),
        ("r1", "77cc", "neg", "a fine day"),
        ("r2", "5a1b", "neg", "rain again"),
    ]
    assert found.rows["time"][0] == "2026-02-01T10:00:00.000000Z"
    assert NO_STATUS in found.warnings


def test_argilla_flattened_keeps_only_what_was_submitted():
    found = read_argilla(DATA / "argilla_flat.json")
    assert rows(found, "item", "contributor", "label") == [("r1", "5a1b", "pos"), ("r2", "77cc", "neg")]
    assert NO_STATUS not in found.warnings
    assert "2 responses that were not submitted were left out" in found.warnings
    with pytest.raises(InputError, match="no question 'topic'; this export has: tone"):
        read_argilla(DATA / "argilla_flat.json", "topic")
