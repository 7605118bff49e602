"""The cited systems on a page: who wins where, what each costs and needs, how far each is from the bound."""

from typing import Any

from anml.lab.cited.names import AGGREGATION, BOUNDS, TRAINING, VALUE
from anml.lab.tables import aligned

HOW = (
    "means over trials; level are systems whose 95% interval reaches that of the best; rules that "
    "aggregate are compared with the federated oracle, all others with the oracle; both train "
    "on what is honest alone"
)
NEEDS = {
    "uniform": "nothing", "FedAvg": "nothing", "Krum": "f", "Multi-Krum": "f", "median": "nothing",
    "trimmed mean": "f", "Bulyan": "f, at most (n - 3) / 4", "FLTrust": "a clean set",
    "FLTrust, own set": "nothing", "RECESS": "clients that answer probes", "ours, q v r T": "credentials",
    "ours, believed": "nothing; credentials help", "Data Shapley": "ids, a clean set, f",
    "Beta Shapley": "ids, a clean set, f", "Data Banzhaf": "ids, a clean set, f",
    "influence": "a clean set, f", "TRAK": "a clean set, f", "GTG-Shapley": "ids, a clean set, f",
    "EigenTrust": "ids, votes, roots, f",
    "EigenTrust, no roots": "ids, votes, f", "Kang": "ids, a clean set, f", "Agarwal": "ids, a clean set, f",
    "L2RW": "a clean set", "DivideMix": "nothing", "GLISTER": "a clean set, f", "krum": "nothing",
    "multiplicative": "credentials", "softmax": "credentials", "adaptive": "credentials",
    "guarded": "nothing; ids and credentials help", "evidence": "nothing; ids and credentials help",
    "oracle": "the truth", "federated oracle": "the truth",
}  # fmt: skip
# A figure with its interval, by place, method and metric.
Cell = tuple[float, float, float]
Cells = dict[tuple[str, str], dict[tuple[str, str], Cell]]


def by_system(entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for the entry of the comparison in a summary."""
    cells = _cells(entry)
    if not any(len(place) == 2 for place in cells):
        return []
    return [*_winners(cells), "", *_distances(cells), "", *_systems(cells), ""]


def _cells(entry: dict[str, Any]) -> Cells:
    found: Cells = {}
    for row in entry["rows"]:
        if row["key"] and row["ours"] is not None:
            *place, method = row["key"].values()
            low = row["ours"] if row["low"] is None else row["low"]
            high = row["ours"] if row["high"] is None else row["high"]
            found.setdefault((place[0], place[-1]), {})[method, row["metric"]] = (row["ours"], low, high)
    return found


def _errors(found: dict[tuple[str, str], Cell]) -> dict[str, Cell]:
    return {method: cell for (method, metric), cell in found.items() if metric == "error"}


def _winners(cells: Cells) -> list[str]:
    """Of every place the best system, of all and of each kind, and how many are level with it."""
    header = [
        "data, attack",
        "best",
        "level",
        "best rule",
        "best value",
        "best training",
        "best recipe",
        "uniform",
        "oracle",
    ]
    body = []
    for place, found in cells.items():
        errors = _errors(found)
        open_ = {m: c for m, c in errors.items() if m not in BOUNDS}
        if not open_:
            continue
        best = min(open_, key=lambda method: open_[method][0])
        level = sum(cell[1] <= open_[best][2] for method, cell in open_.items()) - 1
        recipes = tuple(m for m in open_ if m not in (*AGGREGATION, *VALUE, *TRAINING, "uniform"))
        kinds = [_best(open_, some) for some in (AGGREGATION, VALUE, TRAINING, recipes)]
        bounds = [_shown(errors.get(name)) for name in ("uniform", "oracle")]
        body.append([", ".join(place), f"{best} {_shown(open_[best])}", str(level), *kinds, *bounds])
    return aligned(header, body)


def _best(errors: dict[str, Cell], some: tuple[str, ...]) -> str:
    known = {method: errors[method] for method in some if method in errors}
    if not known:
        return ""
    best = min(known, key=lambda method: known[method][0])
    return f"{best} {known[best][0]:.1f}"


def _shown(cell: Cell | None) -> str:
    return "" if cell is None else f"{cell[0]:.1f} ± {(cell[2] - cell[1]) / 2:.1f}"


def _distances(cells: Cells) -> list[str]:
    """Points of error above the oracle of its kind, by attack, mean over data sets."""
    attacks = list(dict.fromkeys(place[1] for place in cells))
    methods = list(dict.fromkeys(m for found in cells.values() for m in _errors(found) if m not in BOUNDS))
    body = []
    for method in methods:
        line = [method]
        for attack in attacks:
            gaps = [
                errors[method][0] - errors[bound][0]
                for place, found in cells.items()
                if place[1] == attack
                and method in (errors := _errors(found))
                and (bound := "federated oracle" if method in AGGREGATION else "oracle") in errors
            ]
            line.append(f"{sum(gaps) / len(gaps):+.1f}" if gaps else "")
        body.append(line)
    return aligned(["points above the oracle", *attacks], body)


def _systems(cells: Cells) -> list[str]:
    """Of every system: where it is best, how it ranks contributors, whom it pays, cost and needs."""
    best = [
        min(open_, key=lambda method: open_[method][0])
        for found in cells.values()
        if (open_ := {m: c for m, c in _errors(found).items() if m not in BOUNDS})
    ]
    methods = list(dict.fromkeys(m for found in cells.values() for m in _errors(found)))
    body = []
    for method in methods:
        figures = [_mean(cells, method, metric) for metric in ("ranked", "paid_bad", "backdoor", "seconds")]
        shown = [
            "" if figure is None else f"{figure:.{digits}f}"
            for figure, digits in zip(figures, (2, 0, 0, 1), strict=True)
        ]
        body.append([method, str(best.count(method)), *shown, NEEDS.get(method, "")])
    header = ["system", "best in", "ranked", "paid to bad, %", "backdoor, %", "seconds", "needs"]
    return aligned(header, body)


def _mean(cells: Cells, method: str, metric: str) -> float | None:
    values = [found[method, metric][0] for found in cells.values() if (method, metric) in found]
    return sum(values) / len(values) if values else None
