"""From rows to `summary.json`: every figure with its interval and the paper's value, every verdict."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from anml.core.errors import InputError
from anml.core.stats import mean_interval
from experiments.claims import (
    VERDICTS,
    evaluate_claim,
    evaluate_effect,
    evaluate_headline,
    is_close_to_paper,
    near_limit,
)
from experiments.expressions import NoRowsError, Results, interval
from experiments.spec import Experiment, label_of, list_experiments
from experiments.store import complete_rows, read_record, rows_file

# The axis of readings of what the paper leaves open.
READING = "reading"
UNKNOWN = "a version that was not recorded"


def load_results(experiment: Experiment, folder: Path) -> Results | None:
    """Rows of an experiment, or None where it has not been run, or with other settings."""
    rows = complete_rows(experiment, folder)
    return None if rows is None else Results(experiment, rows)


def summarise(folder: Path, experiments: dict[str, Experiment] | None = None) -> dict[str, Any]:
    """Sum up every experiment that has rows in a folder of results."""
    entries, stale = [], []
    known = list_experiments() if experiments is None else experiments
    record = read_record(folder)["experiments"]
    for experiment in known.values():
        results = load_results(experiment, folder)
        if results is not None:
            made_by = record.get(experiment.name, {}).get("version", UNKNOWN)
            entries.append({**describe(results), "version": made_by})
        elif rows_file(experiment, folder).exists():
            stale.append(experiment.name)
    if not entries and not stale:
        raise InputError(f"there are no rows under {folder}; use `python -m experiments run`")
    claims = [claim for entry in entries for claim in entry["claims"]]
    return {
        "experiments": entries,
        "stale": stale,
        **{name: [each for entry in entries for each in entry.pop(name)] for name in ("effects", "findings")},
        "claims": count_verdicts(claims),
        "claims_apart": dict(Counter(claim["apart"] for claim in claims if claim["apart"])),
    }


def count_verdicts(claims: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Number of claims in each of the four groups, without those that are counted apart."""
    result = Counter(claim["verdict"] for claim in claims if not claim["apart"])
    return {verdict: result[verdict] for verdict in reversed(VERDICTS)}


def describe(results: Results) -> dict[str, Any]:
    """One experiment's rows, claims and closeness."""
    rows = list(_rows(results))
    claims, unchecked = [], []
    for claim in results.experiment.claims:
        try:
            claims.append(evaluate_claim(claim, results))
        except NoRowsError:  # about a data set that was left out
            unchecked.append(claim["text"])
    experiment = results.experiment
    headlines = [experiment.headline] if experiment.headline else []
    return {
        "name": results.experiment.name,
        "title": results.experiment.title,
        "trials": results.count,
        "seeds": results.rows["seed"].n_unique() if "seed" in results.rows.columns else 1,
        "rows": rows,
        "claims": claims,
        "unchecked": unchecked,
        "notes": _known(results.said, experiment.notes),
        "findings": _known(results.said, experiment.findings),
        "effects": _known(lambda effect: evaluate_effect(effect, results), experiment.effects),
        "closeness": _closeness(rows),
        "readings": _readings(experiment, rows),
        "headline": next(iter(_known(lambda each: evaluate_headline(each, results), headlines)), None),
    }


def _known(evaluate: Callable[[Any], Any], given: Sequence[Any]) -> list[Any]:
    """Evaluate all that has rows."""
    results = []
    for each in given:
        with suppress(NoRowsError):
            results.append(evaluate(each))
    return results


def known_experiments(room: str = "paper", more: Sequence[Experiment] = ()) -> dict[str, Experiment]:
    """The experiments of a room; `more` are one's own, or stand in for those of the same name.

    The room `own` has none but those.
    """
    known = {} if room == "own" else list_experiments(room)
    return {**known, **{experiment.name: experiment for experiment in more}}


def write_summary(folder: Path, more: Sequence[Experiment] = (), room: str = "paper") -> dict[str, Any]:
    """Write `summary.json` into a folder of results, and return it; `more` are experiments of one's own."""
    summary = summarise(folder, known_experiments(room, more))
    (folder / "summary.json").write_text(json.dumps(summary, indent=1, allow_nan=False) + "\n")
    return summary


def _rows(results: Results) -> Iterator[dict[str, Any]]:
    experiment = results.experiment
    # Whoever names columns of single methods alone has too many cells for more.
    only = set(experiment.columns) if all("." in name for name in experiment.columns) else set()
    for labels, _ in experiment.conditions():
        place = dict(labels)
        if any(value not in results.axes[axis] for axis, value in place.items()):
            continue
        for method in experiment.compared:
            key = {**place, "method": method}
            if not results.has(method, place):
                continue
            for metric in (name for name in experiment.metrics if not only or f"{method}.{name}" in only):
                estimate = mean_interval(results.trials(f"{method}.{metric}", place))
                yield _entry(experiment, key, metric, *estimate)
            for metric, expression in experiment.derived.items():
                if method in expression.get("methods", experiment.methods) and not expression.get("once"):
                    # It may name conditions that were not run.
                    with suppress(NoRowsError):
                        ours = interval(results.value(f"{method}.{metric}", place))
                        yield _entry(experiment, key, metric, *ours)
    for metric, expression in experiment.derived.items():
        if expression.get("once"):
            with suppress(NoRowsError):
                entry = _entry(experiment, {}, metric, *interval(results.value(expression, {})))
                yield {**entry, "unit": "%" if results.in_percent(expression) else ""}


def _entry(
    experiment: Experiment, key: dict[str, str], metric: str, ours: float, low: float, high: float
) -> dict[str, Any]:
    entry: dict[str, Any] = {"key": key, "metric": metric, "ours": _finite(ours)}
    same = not (low < high)
    entry.update(low=None if same else _finite(low), high=None if same else _finite(high), paper=None)
    for printed in experiment.paper:
        if metric in printed and _matches(experiment, printed, key):
            entry["paper"] = printed[metric]
            if printed.get("implied"):
                entry["implied"] = True
    return entry


def _matches(experiment: Experiment, printed: Any, key: dict[str, str]) -> bool:
    """Axes that the paper's entry does not name stand at their first value."""
    if not key:
        return "method" not in printed
    first = {axis: values[0] for axis, values in experiment.vary.items()}
    wanted = {axis: label_of(printed.get(axis, first[axis])) for axis in first}
    return {**wanted, "method": printed.get("method")} == key


def _closeness(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of every metric that the paper prints: number of cells, of near ones, and the mean distance."""
    result: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["paper"] is not None and row["ours"] is not None:
            total = result.setdefault(row["metric"], {"cells": 0, "near": 0, "distance": 0.0})
            total["cells"] += 1
            total["near"] += is_close_to_paper(row["metric"], row["ours"], row["paper"])
            total["distance"] += abs(row["ours"] - row["paper"])
    return {
        metric: {**total, "distance": round(total["distance"] / total["cells"], 6)}
        for metric, total in result.items()
    }


def _readings(experiment: Experiment, rows: list[dict[str, Any]]) -> dict[str, float]:
    """For each reading of what the paper leaves open: mean distance of its cells in units of what is near.

    The paper's cells stand beside the first reading; those of the others are the same cells otherwise.
    """
    if READING not in experiment.vary:
        return {}
    ours = {(row["metric"], *row["key"].values()): row["ours"] for row in rows}
    far: dict[str, list[float]] = {}
    for label in map(label_of, experiment.vary[READING]):
        for row in (each for each in rows if each["paper"] is not None and each["key"]):
            value = ours.get((row["metric"], *{**row["key"], READING: label}.values()))
            if value is not None:
                far.setdefault(label, []).append(
                    abs(value - row["paper"]) / near_limit(row["metric"], row["paper"])
                )
    return {label: round(sum(each) / len(each), 6) for label, each in far.items()}


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
