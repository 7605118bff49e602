"""Cases for a convolutional network and a transformer, and rows of both experiments."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.kinds import run_block
from experiments.modules import cases
from experiments.spec import find_experiments

pytestmark = pytest.mark.slow


def test_rows_of_both(monkeypatch):
    monkeypatch.setattr(cases, "TRAIN", 120)
    modules, approximations = find_experiments(["modules", "approximations"])
    small = {name: modules.methods[name] for name in ("uniform", "krum")}
    modules = replace(modules, methods=small, peers=("oracle",))
    approximations = replace(approximations, peers=("exact", "sketch", "last", "clients"))
    rows = run_block(modules, [0], "pictures-flip")
    assert [row["method"] for row in rows] == modules.compared
    assert all(0 <= row["error"] <= 100 and np.isnan(row["attack"]) for row in rows)
    assert next(row for row in rows if row["method"] == "oracle")["precision"] == 100
    rows = run_block(approximations, [0], "texts-flip")
    result = {row["method"]: row for row in rows}
    assert list(result) == ["exact", "sketch", "last", "clients"]
    assert result["exact"]["ranks"] == pytest.approx(1)
    assert result["sketch"]["ranks"] > 0.99
    assert result["sketch"]["off"] < result["last"]["off"]
