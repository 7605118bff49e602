"""The cited systems on a page: who wins where, how far each is from the bound, what each costs and needs."""

from typing import Any

from anml.lab.cited.rules import RULES
from anml.lab.cited.systems import BOUNDS, TRAINING, VALUE, needs
from anml.lab.tables import aligned

HOW = (
    "means over trials; equal means are shown as ties; rules that aggregate are compared with the federated "
    "oracle, all others with the oracle, which train on what is honest alone; under attacks, points above it "
    "when told how many to drop, and by the threshold of its own, as a mean over attacks"
)
# Means that differ by less are the same; whoever is within the second is counted as near the best.
TIE, CLOSE = 0.05, 1.0
# A figure by method and metric, by place.
Cells = dict[tuple[str, str], dict[tuple[str, str], float]]


def by_system(entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for the entry of the comparison in a summary."""
    cells: Cells = {}
    for row in entry["rows"]:
        if row["key"] and row["ours"] is not None:
            *place, method = row["key"].values()
            cells.setdefault((place[0], place[-1]), {})[method, row["metric"]] = row["ours"]
    if not any(len(place) == 2 for place in cells):
        return []
    return [*_winners(cells), "", *_systems(cells), ""]


def _errors(found: dict[tuple[str, str], float]) -> dict[str, float]:
    return {method: value for (method, metric), value in found.items() if metric == "error"}


def _winners(cells: Cells) -> list[str]:
    """Of every place the best system, of all and of each kind, and how many others are near it."""
    kinds = ["best rule", "best value", "best training", "best recipe"]
    header = ["data, attack", "best", "within 1 point", *kinds, "uniform", "oracle"]
    body = []
    for place, found in cells.items():
        errors = _errors(found)
        open_ = {m: value for m, value in errors.items() if m not in BOUNDS}
        if not open_:
            continue
        least = min(open_.values())
        near = sum(value <= least + CLOSE for value in open_.values()) - 1
        recipes = tuple(m for m in open_ if m not in (*RULES, *VALUE, *TRAINING, "uniform"))
        kinds = [_best(open_, some) for some in (tuple(open_), tuple(RULES), VALUE, TRAINING, recipes)]
        bounds = [f"{errors[name]:.1f}" if name in errors else "" for name in ("uniform", "oracle")]
        body.append([", ".join(place), kinds[0], str(near), *kinds[1:], *bounds])
    return aligned(header, body)


def _best(errors: dict[str, float], some: tuple[str, ...]) -> str:
    """The lowest error, and all who have it; more than two are counted."""
    known = {method: errors[method] for method in some if method in errors}
    if not known:
        return ""
    least = min(known.values())
    tied = [method for method, value in known.items() if value <= least + TIE]
    more = f" and {len(tied) - 2} more" if len(tied) > 2 else ""
    return f"{' = '.join(tied[:2])}{more} {least:.1f}"


def _systems(cells: Cells) -> list[str]:
    """Of every system: points above its bound by attack, whom it pays, cost and needs."""
    attacks = list(dict.fromkeys(place[1] for place in cells))
    methods = list(dict.fromkeys(m for found in cells.values() for m in _errors(found) if m not in BOUNDS))
    body = []
    for method in methods:
        gaps = {attack: _gap(cells, method, "error", attack) for attack in attacks}
        own = _gap(cells, method, "error_natural", "")
        line = [f"{gap:+.1f}" if gap is not None else "" for gap in (*gaps.values(), own)]
        figures = [_mean(cells, method, metric) for metric in ("ranked", "paid_bad", "backdoor", "seconds")]
        shown = ["" if f is None else f"{f:.{d}f}" for f, d in zip(figures, (2, 0, 0, 1), strict=True)]
        body.append([method, *line, *shown, needs(method)])
    header = ["points above the oracle", *attacks, "own threshold"]
    return aligned([*header, "ranked", "paid to bad, %", "backdoor, %", "seconds", "needs"], body)


def _gap(cells: Cells, method: str, metric: str, attack: str) -> float | None:
    """Mean over data sets, under one attack or all."""
    bound = "federated oracle" if method in RULES else "oracle"
    gaps = [
        found[method, metric] - found[bound, "error"]
        for place, found in cells.items()
        if attack in ("", place[1]) and (method, metric) in found and (bound, "error") in found
    ]
    return sum(gaps) / len(gaps) if gaps else None


def _mean(cells: Cells, method: str, metric: str) -> float | None:
    values = [found[method, metric] for found in cells.values() if (method, metric) in found]
    return sum(values) / len(values) if values else None
