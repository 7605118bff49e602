"""What every reader of an export hands over: rows, evidence, warnings; and its parts."""

import pytest

from anml.core.errors import InputError
from anml.intake.contributions import read_json, utc_text


def test_times_and_json_at_the_door(tmp_path):
    assert utc_text("2026-01-01T00:00:00+02:00") == "2025-12-31T22:00:00.000000Z"
    assert utc_text(None) is None
    with pytest.raises(InputError, match="there is no file"):
        read_json(tmp_path / "none.json")
