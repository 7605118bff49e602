"""Report layouts of each kind of experiment: a table per metric, unless defined here."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from experiments.bank.run import LEARNERS
from experiments.cited.rules import RULES
from experiments.cited.systems import BOUNDS, TRAINING, VALUE, required_inputs
from experiments.kinds import MEANING
from experiments.spec import Experiment, report_texts
from experiments.tables import aligned, single_figure_sentence, tables

# Means that differ by less are the same; whoever is within the second is counted as near the best.
TIE_MARGIN, CLOSE_MARGIN = 0.05, 1.0
# Figures of methods, by metric, at a place; nothing of metrics that have none.
Figures = dict[str, dict[str, float]]
Cells = dict[tuple[str, ...], Figures]


def by_system(entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for the entry of the comparison in a summary."""
    cells = _cells(entry)
    # Along one axis the second table says who wins.
    winners = [*_winners(cells), ""] if any(len(place) > 1 for place in cells) else []
    return [*winners, *_systems(cells), ""] if cells else []


def _cells(entry: dict[str, Any]) -> Cells:
    cells: Cells = {}
    for row in entry["rows"]:
        if row["key"] and row["ours"] is not None:
            *place, method = row["key"].values()
            cells.setdefault(tuple(place), defaultdict(dict))[row["metric"]][method] = row["ours"]
    return cells


def _winners(cells: Cells) -> list[str]:
    """Of every place the best system, of all and of each kind, and how many others are near it."""
    kinds = ["best rule", "best value", "best training", "best recipe"]
    header = ["data, attack", "best", "within 1 point", *kinds, "uniform", "oracle"]
    body = []
    for place, result in cells.items():
        errors = result["error"]
        open_ = {m: value for m, value in errors.items() if m not in BOUNDS}
        if not open_:
            continue
        minimum = min(open_.values())
        near = sum(value <= minimum + CLOSE_MARGIN for value in open_.values()) - 1
        recipes = tuple(m for m in open_ if m not in (*RULES, *VALUE, *TRAINING, "uniform"))
        kinds = [_best(open_, subset) for subset in (tuple(open_), tuple(RULES), VALUE, TRAINING, recipes)]
        bounds = [f"{errors[name]:.1f}" if name in errors else "" for name in ("uniform", "oracle")]
        body.append([", ".join(place), kinds[0], str(near), *kinds[1:], *bounds])
    return aligned(header, body)


def _best(errors: dict[str, float], subset: tuple[str, ...]) -> str:
    """The lowest error, and all who have it; more than two are counted."""
    known = {method: errors[method] for method in subset if method in errors}
    if not known:
        return ""
    minimum = min(known.values())
    tied = [method for method, value in known.items() if value <= minimum + TIE_MARGIN]
    more = f" and {len(tied) - 2} more" if len(tied) > 2 else ""
    return f"{' = '.join(tied[:2])}{more} {minimum:.1f}"


def _systems(cells: Cells) -> list[str]:
    """Of every system: points above its bound by attack, whom it pays, cost and needs."""
    attacks = list(dict.fromkeys(place[-1] for place in cells))
    methods = list(dict.fromkeys(m for each in cells.values() for m in each["error"] if m not in BOUNDS))
    body = []
    for method in methods:
        gaps = {attack: _gap(cells, method, "error", attack) for attack in attacks}
        own = _gap(cells, method, "error_natural", "")
        line = [f"{gap:+.1f}" if gap is not None else "" for gap in (*gaps.values(), own)]
        digits = {"ranked": 2, "paid_bad": 0, "backdoor": 0, "seconds": 1}
        figures = {
            metric: _mean(each[metric][method] for each in cells.values() if method in each[metric])
            for metric in digits
        }
        shown = [_decimal(figures[metric], places) for metric, places in digits.items()]
        body.append([method, *line, *shown, required_inputs(method)])
    header = ["points above the oracle", *attacks, "own threshold"]
    return aligned([*header, "ranked", "paid to bad, %", "backdoor, %", "seconds", "needs"], body)


def _gap(cells: Cells, method: str, metric: str, attack: str) -> float | None:
    """Mean over data sets, under one attack or all."""
    bound = "federated oracle" if method in RULES else "oracle"
    return _mean(
        result[metric][method] - result["error"][bound]
        for place, result in cells.items()
        if attack in ("", place[-1]) and method in result[metric] and bound in result["error"]
    )


def _mean(values: Iterable[float]) -> float | None:
    subset = list(values)
    return sum(subset) / len(subset) if subset else None


OWN_METHOD, ORACLE_METHOD = "evidence", "oracle"
# What is said of contributors: who, of whom.
CONTRIBUTOR_COUNTS = {
    "bad found": ("liars_found", "liars"),
    "bad called reliable": ("liars_reliable", "liars"),
    "honest accused": ("honest_convicted", "honest"),
    "honest called reliable": ("honest_reliable", "honest"),
}


def by_condition(entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for the entry of a bank in a summary."""
    means = {", ".join(place): result for place, result in _cells(entry).items()}
    columns = ("uniform", "best other", OWN_METHOD, ORACLE_METHOD)
    errors = [f"{column}, {learner}" for learner in LEARNERS for column in columns]
    header = ["condition", *errors, *CONTRIBUTOR_COUNTS, "right dropped", "off by"]
    body = [[name, *_errors(result), *_verdicts(result, entry["trials"])] for name, result in means.items()]
    about = [f"- {name}: {message}" for name, message in report_texts("conditions").items() if name in means]
    return [*aligned(header, body), *single_figure_sentence(entry), "", *about]


def _errors(result: Figures) -> list[str]:
    """For each final model: uniform, the best other method and its name, ours, and the bound."""
    cells = []
    for learner in LEARNERS:
        errors = result[f"error_{learner}"]
        others = {
            method: mean for method, mean in errors.items() if method not in (OWN_METHOD, ORACLE_METHOD)
        }
        best = min(others, key=lambda method: others[method], default="")
        named = f"{others[best]:.1f} {best}" if best else ""
        ours, bound, uniform = (
            _decimal(errors.get(method)) for method in (OWN_METHOD, ORACLE_METHOD, "uniform")
        )
        cells += [uniform, named, ours, bound]
    return cells


def _verdicts(result: Figures, trials: int) -> list[str]:
    """Ours, over all trials: what is said of people; right labels dropped; calibration error."""
    ours = {metric: means[OWN_METHOD] for metric, means in result.items() if OWN_METHOD in means}
    counted = [
        f"{trials * ours[subset]:.0f} of {trials * ours[total]:.0f}"
        if subset in ours and ours.get(total)
        else ""
        for subset, total in CONTRIBUTOR_COUNTS.values()
    ]
    return [*counted, _decimal(ours.get("right_dropped")), _decimal(ours.get("calibration"), 3)]


def _decimal(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


LAYOUTS: dict[str, Callable[[dict[str, Any]], list[str]]] = {"bank": by_condition, "cited": by_system}
# How lines and columns are to be read, where they are not those of a table per metric.
HOW_TO_READ = report_texts("read")


def laid_out(experiment: Experiment, entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for an experiment's entry in a summary."""
    return LAYOUTS.get(experiment.kind, tables)(entry)


def reading_guide(experiment: Experiment) -> list[str]:
    """Describe the lines, columns and metrics of a report."""
    lines = f"lines are values of {', '.join(experiment.axes)}; " if experiment.axes else ""
    how = f"{lines}columns are methods; means over trials ± half of the 95% interval"
    metrics = [f"{name}: {MEANING[name]}" for name in experiment.metrics if name in MEANING]
    return [HOW_TO_READ.get(experiment.kind, how), *metrics]
