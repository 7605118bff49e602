"""The bank on a page, from an entry made up by hand."""

import pytest

from experiments.bank.conditions import CONDITIONS
from experiments.layouts import by_condition
from experiments.spec import report_texts

pytestmark = pytest.mark.slow

NAME = next(iter(CONDITIONS))


def row(method: str, metric: str, ours: float | None, name: str = NAME):
    return {
        "key": {"dataset": name, "method": method},
        "metric": metric,
        "ours": ours,
        "low": None,
        "high": None,
    }


ENTRY = {
    "trials": 3,
    "rows": [
        row("uniform", "error_lr", 20.0), row("krum", "error_lr", 12.5), row("zdrop", "error_lr", 11.0),
        row("evidence", "error_lr", 9.0), row("oracle", "error_lr", 8.0), row("uniform", "error_rf", 30.0),
        row("evidence", "liars", 2.0), row("evidence", "liars_found", 1.0), row("evidence", "honest", 10.0),
        row("evidence", "honest_convicted", 0.0), row("evidence", "honest_reliable", 9.0),
        row("evidence", "right_dropped", 1.25), row("evidence", "calibration", 0.0123),
        row("krum", "right_dropped", None),
        {"key": {}, "metric": "mean_regret_lr", "ours": -3.5, "low": -4.0, "high": -3.0},
    ],
}  # fmt: skip


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_line_by_hand():
    """The best other of the linear model is zdrop; ours and the oracle are not among the others."""
    header, _, line, *_ = by_condition(ENTRY)
    result = dict(zip(cells(header), cells(line), strict=True))
    assert result["condition"] == NAME
    assert (result["uniform, lr"], result["best other, lr"]) == ("20.0", "11.0 zdrop")
    assert (result["evidence, lr"], result["oracle, lr"]) == ("9.0", "8.0")
    assert (result["best other, rf"], result["evidence, rf"]) == ("30.0 uniform", "")
    # Means over three trials are counts over all of them.
    assert (result["bad found"], result["honest accused"]) == ("3 of 6", "0 of 30")
    assert (result["bad called reliable"], result["honest called reliable"]) == ("", "27 of 30")
    assert (result["right dropped"], result["off by"]) == ("1.2", "0.012")


def test_figures_over_all_conditions_and_what_each_condition_is():
    lines = by_condition(ENTRY)
    assert "Over all of it: mean regret lr -3.50 ± .50." in lines
    assert lines[-1] == f"- {NAME}: {report_texts('conditions')[NAME]}"


def test_nobody_to_find_is_an_empty_cell():
    entry = {"trials": 1, "rows": [row("evidence", "error_lr", 1.0), row("evidence", "liars", 0.0)]}
    header, _, line, *_ = by_condition(entry)
    assert dict(zip(cells(header), cells(line), strict=True))["bad found"] == ""
