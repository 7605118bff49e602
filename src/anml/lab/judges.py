"""Verdicts that need more than an expression: they look at every cell of a grid at once."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from anml.core.stats import Estimate, paired
from anml.lab.claims import ClaimVerdict
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
        others = {
            f"{method} ({profile} q)": results.trials(f"{method}.error", {**place, "profile": profile})
            for method in results.experiment.methods
            for profile in results.axes.get("profile", [""])
            if method != OURS
        }
        best = min(others, key=lambda name: float(others[name].mean()))
        found.append(Cell(place, float(ours.mean()), best, paired(ours, others[best]).difference))
    return found


def regret_rows(results: Results) -> Iterator[dict[str, Any]]:
    """Sum the grid up: regret in every cell, and against which method."""
    for cell in cells(results):
        mean, low, high = (round(figure, 6) for figure in cell.regret)
        entry = {"key": {**cell.place, "best other": cell.best}, "metric": "regret", "ours": mean}
        yield {**entry, "low": low, "high": high, "paper": None}


def regret(results: Results) -> list[ClaimVerdict]:
    """Judge the promise that evidence is never worse than the best of the others."""
    grid = cells(results)
    mean = float(np.mean([cell.regret.mean for cell in grid]))
    below = sum(cell.regret.mean < 0 for cell in grid)
    said = f"{mean:+.2f} points over {len(grid)} cells; below zero in {below} of them"
    worse, worst = sum(clearly_worse(cell) for cell in grid), max(grid, key=lambda cell: cell.regret.mean)
    most = f"{worse} such cells; the largest regret is {_shown(worst)}"
    text = "In no cell is regret above +0.5 point beyond its paired 95% interval"
    return [
        ClaimVerdict("Mean regret is below -1 point", mean < -1, said),
        ClaimVerdict(text, not worse, most, POISON, cause="looks-right"),
        _nothing_lost(results, [cell for cell in grid if cell.place.get("bad") == "0"]),
        _against_the_gate(results, grid),
    ]


def clearly_worse(cell: Cell) -> bool:
    """Regret above half a point beyond its interval."""
    return cell.regret.low > 0.5


def _nothing_lost(results: Results, clean: list[Cell]) -> ClaimVerdict:
    text = "Without bad data evidence is within 0.3 point of uniform in every cell"
    if not clean:
        return ClaimVerdict(text, False, "no such cell was run")
    gaps = [cell.ours - float(results.trials("uniform.error", cell.place).mean()) for cell in clean]
    most, above = max(gaps), sum(gap > 0.3 for gap in gaps)
    where = _where(clean[gaps.index(most)].place)
    said = f"at most {most:+.2f} points, in {where}; {above} of {len(gaps)} cells above 0.3"
    return ClaimVerdict(text, most <= 0.3, said)


def _against_the_gate(results: Results, grid: list[Cell]) -> ClaimVerdict:
    text = (
        "At 30% bad and credentials not to be trusted, at most half the error of the paper's gate on average"
    )
    some = [c for c in grid if c.place.get("bad") == "0.3" and c.place.get("credentials") in UNTRUSTWORTHY]
    if not some:
        return ClaimVerdict(text, False, "no such cell was run")
    ours = float(np.mean([cell.ours for cell in some]))
    places = [{**cell.place, "profile": "paper"} for cell in some]
    gate = float(np.mean([results.trials("adaptive.error", place).mean() for place in places]))
    said = f"{ours:.1f}% against {gate:.1f}%: {ours / gate:.2f} of it"
    return ClaimVerdict(text, ours <= 0.5 * gate, said, POISON, cause="looks-right")


def _where(place: Place) -> str:
    return ", ".join(f"{axis} {label}" for axis, label in place.items())


def _shown(cell: Cell) -> str:
    mean, low, high = cell.regret
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}] in {_where(cell.place)}, where {cell.best} is best"


JUDGES: dict[str, Callable[[Results], list[ClaimVerdict]]] = {"regret": regret}
# Rows of the summary in place of every method's metrics in every cell.
ROWS: dict[str, Callable[[Results], Iterator[dict[str, Any]]]] = {"regret": regret_rows}
# Methods that a judge speaks of.
NEEDED: dict[str, tuple[str, ...]] = {"regret": (OURS, "uniform", "adaptive")}
