"""Tables for people: one per metric, a line for each place, a column for each method."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.layouts import LAYOUTS, reading_guide
from experiments.spec import list_experiments
from experiments.tables import aligned, tables

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EVERY = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}


FIGURE = re.compile(
    r"<!-- figure: (?P<name>[\w-]+) (?P<method>[^.>]+)\.(?P<metric>\w+) (?P<place>[^>]*) -->"
    r"(?P<said>[^<]*)<!-- end -->"
)


def test_figures_of_the_first_page_are_those_of_the_committed_rows():
    summary = json.loads((ROOT / "results" / "beyond" / "summary.json").read_text(encoding="utf-8"))
    entries = {entry["name"]: entry["rows"] for entry in summary["experiments"]}
    results = list(FIGURE.finditer((ROOT / "README.md").read_text(encoding="utf-8")))
    assert len(results) == 2
    for figure in results:
        key = {figure["method"], *figure["place"].split()}
        [row] = [
            row
            for row in entries[figure["name"]]
            if row["metric"] == figure["metric"] and set(row["key"].values()) == key
        ]
        assert figure["said"] == f"{row['ours']:.1f}"


def row(
    method: str, ours: float | None, half: float | None = None, place: str = "wine", metric: str = "error"
):
    low, high = (None, None) if half is None or ours is None else (ours - half, ours + half)
    return {
        "key": {"dataset": place, "method": method},
        "metric": metric,
        "ours": ours,
        "low": low,
        "high": high,
    }


def test_by_hand():
    entry = {
        "name": "x",
        "rows": [row("krum", 12.34, 0.5), row("mine", 5.0), row("krum", 3.0, 0.25, "digits")],
    }
    assert tables(entry) == [
        "| error  | krum      | mine |",
        "| ------ | --------- | ---- |",
        "| wine   | 12.3 ± .5 | 5.0  |",
        "| digits | 3.0 ± .2  |      |",
    ]


def test_small_figures_have_more_digits_unless_they_are_percent():
    entry = {
        "name": "x",
        "rows": [row("krum", 0.1234, metric="gap"), row("krum", 1.5), row("krum", 45.67, metric="gap")],
    }
    lines = "\n".join(tables(entry))
    assert "| 45.7 |" in lines  # the later figure of one cell is the one that stays
    assert "| 1.5  |" in lines
    assert "0.123" in "\n".join(tables({"name": "x", "rows": [row("krum", 0.1234, metric="gap")]}))


def test_what_is_undefined_has_no_cell_and_a_metric_without_any_no_table():
    entry = {"name": "x", "rows": [row("krum", None), row("krum", 1.0, metric="kept")]}
    assert tables(entry)[0].startswith("| kept")
    assert len(tables(entry)) == 3


@given(st.lists(st.lists(st.text("ab|c", max_size=5), min_size=2, max_size=2), max_size=4))
def test_columns_of_a_table_are_as_wide_as_each_other(body):
    lines = aligned(["one", "two"], body)
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == len(body) + 2


@pytest.mark.parametrize("name", EVERY)
def test_every_experiment_says_how_it_is_read(name):
    how, *metrics = reading_guide(EVERY[name])
    if EVERY[name].kind not in LAYOUTS:
        assert "columns are methods" in how
        assert all(axis in how for axis in EVERY[name].axes)
    assert [line.partition(":")[0] for line in metrics] == list(EVERY[name].metrics)
