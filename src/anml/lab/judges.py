"""Verdicts that need more than an expression: they look at every cell of a grid at once."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Floats
from anml.core.stats import Estimate, paired
from anml.lab.claims import Verdict
from anml.lab.expressions import Place, Results

OURS = "evidence"
UNTRUSTWORTHY = ("adversarial", "all fake", "noise")

# Where most of the regret is, whatever is changed.
POISON = (
    "Mostly aligned poison on Breast Cancer and Digits: predictors learn it as well as what is right, "
    "and without credentials that mean something nothing speaks against it."
)


class Cell(NamedTuple):
    """One cell of the grid: where, the best of the others in hindsight, and our error against it."""

    place: Place
    ours: float
    best: str
    regret: Estimate


def cells(results: Results) -> list[Cell]:
    """Regret in every cell, against the other methods with every kind of q."""
    axes = {axis: labels for axis, labels in results.axes.items() if axis != "profile"}
    found = []
    for labels in product(*axes.values()):
        place = dict(zip(axes, labels, strict=True))
        ours = results.trials(f"{OURS}.error", place)
        others = _others(results, place)
        best = min(others, key=lambda name: float(others[name].mean()))
        found.append(Cell(place, float(ours.mean()), best, paired(ours, others[best]).difference))
    return found


def _others(results: Results, place: Place) -> dict[str, Floats]:
    methods = [method for method in results.experiment.methods if method != OURS]
    profiles = results.axes.get("profile", [""])
    return {
        f"{method} ({profile} q)": results.trials(f"{method}.error", {**place, "profile": profile})
        for method in methods
        for profile in profiles
    }


def regret_rows(results: Results) -> Iterator[dict[str, Any]]:
    """Sum the grid up: regret in every cell, and against which method."""
    for cell in cells(results):
        mean, low, high = (round(figure, 6) for figure in cell.regret)
        entry = {"key": {**cell.place, "best other": cell.best}, "metric": "regret", "ours": mean}
        yield {**entry, "low": low, "high": high, "paper": None}


def regret(results: Results) -> list[Verdict]:
    """Judge the promise that evidence is never worse than the best of the others."""
    grid = cells(results)
    return [
        _mean_regret(grid),
        _worst_cells(grid),
        _nothing_lost(results, grid),
        _against_the_gate(results, grid),
    ]


def _mean_regret(grid: list[Cell]) -> Verdict:
    mean = float(np.mean([cell.regret.mean for cell in grid]))
    below = sum(cell.regret.mean < 0 for cell in grid)
    detail = f"{mean:+.2f} points over {len(grid)} cells; below zero in {below} of them"
    return Verdict("Mean regret is below -1 point", mean < -1, detail, "")


def _worst_cells(grid: list[Cell]) -> Verdict:
    worse = [cell for cell in grid if clearly_worse(cell)]
    worst = max(grid, key=lambda cell: cell.regret.mean)
    detail = f"{len(worse)} such cells; the largest regret is {_shown(worst)}"
    text = "In no cell is regret above +0.5 point beyond its paired 95% interval"
    return Verdict(text, not worse, detail, POISON, cause="looks-right")


def clearly_worse(cell: Cell) -> bool:
    """Regret above half a point beyond its interval."""
    return cell.regret.low > 0.5


def _nothing_lost(results: Results, grid: list[Cell]) -> Verdict:
    text = "Without bad data evidence is within 0.3 point of uniform in every cell"
    gaps = {}
    for cell in grid:
        if cell.place.get("bad") == "0":
            plain = results.trials("uniform.error", cell.place)
            gaps[_where(cell.place)] = cell.ours - float(plain.mean())
    if not gaps:
        return Verdict(text, False, "no such cell was run", "")
    worst = max(gaps, key=lambda name: gaps[name])
    above = sum(gap > 0.3 for gap in gaps.values())
    detail = f"at most {gaps[worst]:+.2f} points, in {worst}; {above} of {len(gaps)} cells above 0.3"
    return Verdict(text, gaps[worst] <= 0.3, detail, "")


def _against_the_gate(results: Results, grid: list[Cell]) -> Verdict:
    text = (
        "At 30% bad and credentials not to be trusted, at most half the error of the paper's gate on average"
    )
    ours, gate = [], []
    for cell in grid:
        if cell.place.get("bad") == "0.3" and cell.place.get("credentials") in UNTRUSTWORTHY:
            ours.append(cell.ours)
            place = {**cell.place, "profile": "paper"}
            gate.append(float(results.trials("adaptive.error", place).mean()))
    if not ours:
        return Verdict(text, False, "no such cell was run", "")
    share = float(np.mean(ours) / np.mean(gate))
    detail = f"{np.mean(ours):.1f}% against {np.mean(gate):.1f}%: {share:.2f} of it"
    return Verdict(text, share <= 0.5, detail, POISON, cause="looks-right")


def _where(place: Place) -> str:
    return ", ".join(f"{axis} {label}" for axis, label in place.items())


def _shown(cell: Cell) -> str:
    mean, low, high = cell.regret
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}] in {_where(cell.place)}, where {cell.best} is best"


JUDGES: dict[str, Callable[[Results], list[Verdict]]] = {"regret": regret}
# Rows of the summary in place of every method's metrics in every cell.
ROWS: dict[str, Callable[[Results], Iterator[dict[str, Any]]]] = {"regret": regret_rows}
# Methods that a judge speaks of.
NEEDED: dict[str, tuple[str, ...]] = {"regret": (OURS, "uniform", "adaptive")}
