"""Tables for people: one per metric, a line for each place, a column for each method."""

from typing import Any

from anml.lab.kinds import MEANING
from anml.lab.spec import Experiment


def tables(entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for an experiment's entry in a summary: the mean, and half its 95% interval."""
    lines: list[str] = []
    for metric in dict.fromkeys(row["metric"] for row in entry["rows"]):
        rows = [row for row in entry["rows"] if row["metric"] == metric and row["ours"] is not None]
        lines += ["", *_table(metric, rows)] if rows else []
    return lines[1:]


def legend(experiment: Experiment) -> list[str]:
    """How to read the tables of an experiment: its lines and columns, and each metric in words."""
    lines = f"lines are values of {', '.join(experiment.axes)}; " if experiment.axes else ""
    how = f"{lines}columns are methods; means over trials ± half of the 95% interval"
    return [how, *(f"{name}: {MEANING[name]}" for name in experiment.metrics if name in MEANING)]


def _table(metric: str, rows: list[dict[str, Any]]) -> list[str]:
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        place = tuple(value for axis, value in row["key"].items() if axis != "method")
        cells.setdefault(place, {})[row["key"].get("method", metric)] = _shown(row)
    methods = list(dict.fromkeys(method for line in cells.values() for method in line))
    body = [
        [", ".join(place), *(line.get(method, "") for method in methods)] for place, line in cells.items()
    ]
    return aligned([metric, *methods], body)


def aligned(header: list[str], body: list[list[str]]) -> list[str]:
    """Lines of a Markdown table whose columns are as wide as their widest cell."""
    widths = [max(len(line[at]) for line in [header, *body]) for at in range(len(header))]
    rule = ["-" * width for width in widths]
    return [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in [header, rule, *body]
    ]


def _shown(row: dict[str, Any]) -> str:
    digits = 1 if abs(row["ours"]) >= 2 or row["metric"] in ("accuracy", "error") else 3
    if row["low"] is None or row["high"] is None:
        return f"{row['ours']:.{digits}f}"
    return f"{row['ours']:.{digits}f} ± {(row['high'] - row['low']) / 2:.{digits}f}"
