"""The bank on a page: a line for each condition, the figures over all of them, and what each condition is."""

from typing import Any

from anml.lab.bank.conditions import CONDITIONS
from anml.lab.bank.measures import LEARNERS
from anml.lab.tables import aligned

OURS, BOUND = "evidence", "oracle"
HOW = (
    "lines are conditions; means over trials, of a linear model (lr) and a forest (rf); the best other "
    "method has the lowest mean; contributors are counted over all trials, and found is accused or less "
    "reliable; off by: expected calibration error"
)
# What is said of contributors: who, of whom.
SAID = {
    "bad found": ("liars_found", "liars"),
    "bad called reliable": ("liars_reliable", "liars"),
    "honest accused": ("honest_convicted", "honest"),
    "honest called reliable": ("honest_reliable", "honest"),
}
# Means by condition, method and metric.
Means = dict[str, dict[tuple[str, str], float]]


def by_condition(entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for the entry of a bank in a summary."""
    means: Means = {}
    for row in entry["rows"]:
        key = row["key"]
        if key and row["ours"] is not None:
            name = ", ".join(value for axis, value in key.items() if axis != "method")
            means.setdefault(name, {})[key["method"], row["metric"]] = row["ours"]
    columns = ("uniform", "best other", OURS, BOUND)
    errors = [f"{column}, {learner}" for learner in LEARNERS for column in columns]
    header = ["condition", *errors, *SAID, "right dropped", "off by"]
    body = [[name, *_errors(found), *_verdicts(found, entry["trials"])] for name, found in means.items()]
    about = [f"- {name}: {CONDITIONS[name].about}" for name in means if name in CONDITIONS]
    return [*aligned(header, body), "", *_overall(entry), *about]


def _errors(found: dict[tuple[str, str], float]) -> list[str]:
    """For each final model: uniform, the best other method and its name, ours, and the bound."""
    cells = []
    for learner in LEARNERS:
        errors = {method: mean for (method, metric), mean in found.items() if metric == f"error_{learner}"}
        others = {method: mean for method, mean in errors.items() if method not in (OURS, BOUND)}
        best = min(others, key=lambda method: others[method], default="")
        named = f"{others[best]:.1f} {best}" if best else ""
        ours, bound, uniform = (_decimal(errors.get(method)) for method in (OURS, BOUND, "uniform"))
        cells += [uniform, named, ours, bound]
    return cells


def _verdicts(found: dict[tuple[str, str], float], trials: int) -> list[str]:
    """Ours, over all trials: what is said of people; right labels dropped; calibration error."""
    return [
        *(_counted(found, some, of, trials) for some, of in SAID.values()),
        _decimal(found.get((OURS, "right_dropped"))),
        _decimal(found.get((OURS, "calibration")), 3),
    ]


def _counted(found: dict[tuple[str, str], float], some: str, of: str, trials: int) -> str:
    count, total = found.get((OURS, some)), found.get((OURS, of), 0.0)
    return "" if count is None or not total else f"{trials * count:.0f} of {trials * total:.0f}"


def _overall(entry: dict[str, Any]) -> list[str]:
    """Figures over conditions, with their intervals."""
    body = [
        [
            row["metric"].replace("_", " "),
            _decimal(row["ours"], 2),
            "" if row["low"] is None else f"{row['low']:.2f} to {row['high']:.2f}",
        ]
        for row in entry["rows"]
        if not row["key"] and row["ours"] is not None
    ]
    return [*aligned(["over conditions", "value", "95% interval"], body), ""] if body else []


def _decimal(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"
