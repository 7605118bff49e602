"""Five hundred spoilt inputs; `make fuzz` runs five thousand."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_spoilt_inputs_are_refused_in_one_sentence_and_leave_nothing(tmp_path):
    place = Path(__file__).parents[1] / "fuzz.py"
    spec = importlib.util.spec_from_file_location("fuzz", place)
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    tried, faults = fuzz.fuzz(500, 1, tmp_path)
    assert faults == []
    ledger = {f"anml-ledger {name}" for name in ("import", "settle", "pay", "verify", "show", "export")}
    assert set(tried) == {"anml audit", *ledger}
