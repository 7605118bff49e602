"""Report layouts: every kind has a layout, and every layout has a reading guide."""

import pytest

from experiments.kinds import KINDS
from experiments.layouts import HOW_TO_READ, LAYOUTS, laid_out, reading_guide
from experiments.spec import list_experiments
from experiments.tables import tables

pytestmark = pytest.mark.slow

EVERY = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}


def test_layouts_of_their_own_are_of_kinds_and_explained():
    assert set(LAYOUTS) == set(HOW_TO_READ) <= set(KINDS)


@pytest.mark.parametrize("name", EVERY)
def test_every_experiment_is_explained_by_its_layout_and_its_metrics(name):
    how, *metrics = reading_guide(EVERY[name])
    assert how == HOW_TO_READ.get(EVERY[name].kind, how)
    assert all(line.partition(":")[0] in EVERY[name].metrics for line in metrics)


@pytest.mark.parametrize("name", EVERY)
def test_without_rows_there_is_nothing_to_lay_out_and_no_error(name):
    entry = {"name": name, "trials": 0, "rows": []}
    lines = laid_out(EVERY[name], entry)
    assert all(isinstance(line, str) for line in lines)


def test_a_plain_kind_has_a_table_per_metric():
    row = {"key": {"bad": "0.3", "method": "krum"}, "metric": "error", "ours": 1.0, "low": None, "high": None}
    entry = {"name": "x", "rows": [row]}
    assert laid_out(EVERY["main-100"], entry) == tables(entry)
