"""Tables for people: one per metric, or one wide table with the paper's figures beside ours."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from experiments.claims import is_close_to_paper
from experiments.spec import Experiment

# Figures that are proportions of something and read best in percent.
PERCENT = {"error", "precision", "improvement", "each_trial", "gain", "kept", "degradation", "overhead"}
# Axes whose values need words.
AXIS_LABELS = {("profile", "paper"): "paper's q", ("profile", "default"): "early-stopped q"}

Row = dict[str, Any]
Label = tuple[str, ...]


def wide_table(experiment: Experiment, entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for an experiment's entry in a summary: a table, then what is one figure for all."""
    rows = [row for row in _chosen(experiment, entry["rows"]) if row["key"] and row["ours"] is not None]
    single = _single(rows)
    varying = [row for row in rows if row["metric"] not in single]
    lines = _table(varying, experiment.across) if varying else []
    return [
        *lines,
        *single_figure_sentence(
            entry, [f"{_of(row)} {cell(row)}" for rows in single.values() for row in rows]
        ),
    ]


def single_figure_sentence(entry: dict[str, Any], message: Sequence[str] = ()) -> list[str]:
    """Return a sentence with the figures that have one value for the whole experiment."""
    once = [row for row in entry["rows"] if not row["key"] and row["ours"] is not None]
    message = [
        *message,
        *(f"{metric_heading(row['metric'])} {cell(row)}{row.get('unit', '')}" for row in once),
    ]
    return ["", f"Over all of it: {'; '.join(message)}."] if message else []


def _single(rows: list[Row]) -> dict[str, list[Row]]:
    """Metrics with one figure for each method, whatever varies: that which the paper prints, or the first."""
    groups: dict[tuple[str, Any, Any], list[Row]] = {}
    for row in rows:
        key = row["metric"], row["key"].get("profile"), row["key"].get("method")
        groups.setdefault(key, []).append(row)
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    result: dict[str, list[Row]] = {}
    for metric in metrics[1:]:
        subset = [group for (name, *_), group in groups.items() if name == metric]
        if all(len(group) > 1 and len({row["ours"] for row in group}) == 1 for group in subset):
            result[metric] = [
                next((row for row in group if row["paper"] is not None), group[0]) for group in subset
            ]
    return result


def _of(row: Row) -> str:
    """A figure's name with its method and its kind of q."""
    parts = [metric_heading(row["metric"]), row["key"].get("method", ""), *_label(row, ("profile",))]
    return ", ".join(filter(None, parts))


def _chosen(experiment: Experiment, rows: list[Row]) -> list[Row]:
    """Select the columns named in the file; by default the first metric and the published ones."""
    if experiment.columns:
        asked = set(experiment.columns)
        return [r for r in rows if {r["metric"], f"{r['key'].get('method')}.{r['metric']}"} & asked]
    printed = {(row["key"].get("method"), row["metric"]) for row in rows if row["paper"] is not None}
    first = rows[0]["metric"] if rows else ""
    several = {metric for _, metric in printed} - {first}
    return [
        row
        for row in rows
        if row["metric"] == first
        or (row["metric"] in several and (row["key"].get("method"), row["metric"]) in printed)
    ]


def _table(rows: list[Row], across: tuple[str, ...]) -> list[str]:
    axes = list(dict.fromkeys(chain.from_iterable(row["key"] for row in rows)))
    down = [axis for axis in axes if axis not in across] or axes
    across = tuple(axis for axis in axes if axis not in down)
    if "profile" in down:
        # Lines of another q would double the table: they are in the summary.
        rows = [row for row in rows if row["key"]["profile"] == rows[0]["key"]["profile"]]
        down.remove("profile")
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    # By metric, then in the order in which values first appear.
    inputs = dict.fromkeys((row["metric"], *_label(row, across)) for row in rows)
    columns = sorted(inputs, key=lambda column: metrics.index(column[0]))
    cells: dict[Label, dict[Label, str]] = {}
    for row in rows:
        cells.setdefault(_label(row, down), {})[(row["metric"], *_label(row, across))] = cell(row)
    named = [axis.replace("_", " ") for axis in down] or ["metric"]
    header = [*named, *(_heading(column, metrics) for column in columns)]
    if len(metrics) == 1 and across:
        header[0] = f"{metric_heading(metrics[0])}: {header[0]}"
    before = [(), *cells]
    body = [
        [*_unrepeated(label, above, down), *(line.get(column, "") for column in columns)]
        for above, (label, line) in zip(before, cells.items(), strict=False)
    ]
    return aligned(header, body)


def _label(row: Row, axes: Any) -> Label:
    return tuple(AXIS_LABELS.get((axis, row["key"].get(axis, "")), row["key"].get(axis, "")) for axis in axes)


def _heading(column: Label, metrics: list[str]) -> str:
    metric, name = metric_heading(column[0]), ", ".join(column[1:])
    return ": ".join(part for part in (metric if len(metrics) > 1 or not name else "", name) if part)


def _unrepeated(label: Label, before: Label, down: list[str]) -> list[str]:
    """A value that is that of the line above, with all before it, is not said again."""
    if not down:
        return [""]
    same = 0
    while same < len(label) - 1 and before[: same + 1] == label[: same + 1]:
        same += 1
    return ["" if at < same else value for at, value in enumerate(label)]


def metric_heading(metric: str) -> str:
    """A metric's name as a heading."""
    return metric.replace("_", " ")


def cell(row: Row) -> str:
    """A figure, half its interval, and the paper's; bold where it is far from the paper's."""
    message = _number(row["metric"], row["ours"])
    if row["low"] is not None and row["high"] is not None:
        half = _number(row["metric"], (row["high"] - row["low"]) / 2, like=row["ours"])
        message += f" ± {half.removeprefix('0')}" if float(half) else ""
    if row.get("paper") is None:
        return message
    far = not is_close_to_paper(row["metric"], row["ours"], row["paper"])
    mark = "~" if row.get("implied") else ""
    return f"{f'**{message}**' if far else message} · paper {mark}{_number(row['metric'], row['paper'])}"


def _number(metric: str, value: float, like: float | None = None) -> str:
    """One decimal of a percentage; else three figures, an interval with the decimals of its figure."""
    if value == 0:
        return "0"
    if metric in PERCENT or metric.startswith(("kept_", "error", "accuracy")):
        return f"{value:.1f}"
    size = abs(value if like is None else like)
    if like is None and size < 0.0005:
        return "< 0.001"
    return f"{value:.{1 if size >= 10 else 2 if size >= 1 else 3}f}"


def tables(entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for an experiment's entry in a summary: the mean, and half its 95% interval."""
    lines: list[str] = []
    for metric in dict.fromkeys(row["metric"] for row in entry["rows"]):
        rows = [row for row in entry["rows"] if row["metric"] == metric and row["ours"] is not None]
        lines += ["", *_of_metric(metric, rows)] if rows else []
    return lines[1:]


def _of_metric(metric: str, rows: list[dict[str, Any]]) -> list[str]:
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        place = tuple(value for axis, value in row["key"].items() if axis != "method")
        cells.setdefault(place, {})[row["key"].get("method", metric)] = cell(row)
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
