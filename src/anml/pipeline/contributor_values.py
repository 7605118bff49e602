"""Value of the rows of each contributor to a model: Shapley or Banzhaf values of a table or of a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.attribution.games import Utility, Values, evaluate
from anml.attribution.models import METRICS, MODELS, estimator_utility, metric_of
from anml.attribution.row_ownership import RowOwnership, parts_of, rows_per_contributor
from anml.attribution.semivalues import banzhaf, beta_shapley, shapley
from anml.core.checks import Array, Bools, Floats, Ints, as_integer, one_of
from anml.core.errors import InputError, UnsupportedError
from anml.core.progress import Progress
from anml.core.stats import standardise
from anml.core.types import TASK_TYPES
from anml.io.columns import Columns, choose_columns
from anml.io.prepare import Prepared, prepare
from anml.io.tables import Table, read_table
from anml.pipeline.audit import testing_arrays
from anml.pipeline.read import read_run
from anml.pipeline.write import as_json, check_folder, write_frame
from anml.predictors.duplicates import near_duplicate_groups

METHODS: dict[str, Callable[..., Values]] = {
    "banzhaf": banzhaf,
    "shapley": shapley,
    "beta-shapley": beta_shapley,
}
BUDGET = 2_000
# Coalitions that are evaluated before progress is reported.
BATCH_SIZE = 256
COLUMN_OPTIONS = ("label", "contributor", "time")
# Near-duplicate rows of several contributors, without times.
EQUAL_SHARES = "are shared equally among their contributors"
# Without test data, the share of rows that is held out, and its maximum number.
HELD_OUT, MAX_HELD_OUT = 0.3, 2_000


@dataclass(frozen=True)
class ValueRequest:
    """Valuation request; `model` is one of `MODELS` or an estimator, `metric` a name or a function."""

    label: str | None = None
    contributor: str | None = None
    time: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    task: str = "auto"
    method: str = "banzhaf"
    model: Any = "linear"
    metric: Any = None
    budget: int = BUDGET
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("method", self.method, METHODS)
        if isinstance(self.model, str):
            one_of("estimator", self.model, MODELS)
        elif not (hasattr(self.model, "fit") and hasattr(self.model, "predict")):
            allowed = ", ".join(MODELS)
            why = f"must be one of {allowed} or have fit and predict"
            raise InputError(f"the estimator {why}, got {self.model!r}")
        if callable(self.metric) and isinstance(self.model, str):
            names = ", ".join(name for metrics in METRICS.values() for name in metrics)
            raise InputError(f"a custom metric needs a custom estimator; use one of {names}")
        as_integer("number of evaluations (budget)", self.budget, 16)


@dataclass(frozen=True)
class Valuation:
    """Values by contributor, highest first, and their record; `counted` excludes duplicates."""

    contributors: pl.DataFrame
    record: dict[str, Any]

    def multipliers(self) -> pl.DataFrame:
        """Contributor and value per counted row, for `anml-ledger settle --multiplier`."""
        return self.contributors.select("contributor", value="per_row").sort("contributor")


def compute_values(
    data: Any, request: ValueRequest, *, test: Any = None, run: Path | None = None,
    progress: Progress | None = None,
) -> Valuation:  # fmt: skip
    """Value the contributors of a table; with `run`, only the rows kept by that run."""
    finished = None if run is None else read_run(run)
    shape = request.task if finished is None else finished.kind
    if shape in TASK_TYPES:
        why = "values need a model of classes or numbers that is trained on the rows"
        raise UnsupportedError(f"{why}; the task {shape!r} has no such model")
    table = data if isinstance(data, Table) else read_table(data)
    if run is None or finished is None:
        roles = {name: getattr(request, name) for name in (*COLUMN_OPTIONS, "features", "ignore")}
        (columns, notes), kept = choose_columns(table.frame, **roles), None
    else:
        schema, data_hash = finished.info.get("schema") or {}, (finished.info.get("data") or {}).get("sha256")
        if data_hash != table.sha256:
            raise InputError(f"{table.name} is not the data of the run in {run}")
        roles = {name: schema.get(name) for name in (*COLUMN_OPTIONS, "item")}
        columns, notes = choose_columns(table.frame, **roles, features=schema.get("features") or None)
        kept = finished.samples.filter(pl.col("kept"))["row"].to_numpy()
        notes = [*notes, f"{len(kept)} rows are valued: the rows kept by the run in {run.name}"]
    prepared = prepare(table, columns, task=request.task, seed=request.seed)
    if prepared.contributor is None:
        raise InputError("values need a contributor column; name it with contributor")
    if prepared.x.shape[1] == 0:
        raise UnsupportedError("values need feature columns to train a model on; this table has none")
    used = np.ones(len(prepared.y), dtype=bool) if kept is None else np.isin(prepared.rows, kept)
    if not used.any():
        raise InputError("the run kept none of the rows of this table")
    return _value_contributors(table, columns, prepared, used, request, test, notes, progress)


def _value_contributors(
    table: Table, columns: Columns, prepared: Prepared, used: Bools, request: ValueRequest, test: Any,
    notes: list[str], progress: Progress | None,
) -> Valuation:  # fmt: skip
    x = standardise(np.asarray(prepared.x, dtype=np.float64))
    rng = np.random.default_rng(request.seed)
    if test is None:
        train, held = _held_out(prepared, used, rng)
        x_test, y_test = x[held], prepared.y[held]
        notes = [*notes, f"values are measured on {len(held)} held-out rows, against the given labels"]
    else:
        raw, y_test = testing_arrays(test, prepared, columns)
        centre, spread = (moment(prepared.x, axis=0, dtype=np.float64) for moment in (np.mean, np.std))
        train, x_test = np.flatnonzero(used), (raw - centre) / np.where(spread > 1e-12, spread, 1.0)
        notes = [*notes, f"values are measured on {len(y_test)} rows of test data"]
    assert prepared.contributor is not None
    copies = _near_duplicates(x[train], prepared.y[train], rng)
    first = None if prepared.age is None or columns.time is None else -prepared.age[train]
    parts = parts_of(prepared.contributor[train], copies, first)
    if len(parts.names) < 2:
        raise InputError(f"values need at least two contributors, got only {parts.names[0]!r}")
    if twice := len(train) - len(parts.rows):
        whose = "are assigned to the contributor with the earliest one" if first is not None else EQUAL_SHARES
        once = f"{twice} rows are near-duplicates of other rows and count once"
        notes = [*notes, f"{once}; duplicates of several contributors {whose}"]
    utility = _utility(x[train], prepared.y[train], parts, x_test, y_test, prepared, request)
    cached = _cached_utility(utility, request.budget, progress)
    generator, people = np.random.default_rng(request.seed), len(parts.names)
    values = METHODS[request.method](cached, people, n_evaluations=request.budget, random_state=generator)
    ends = evaluate(cached, np.array([np.zeros(people, bool), np.ones(people, bool)]))
    rows = pl.Series(prepared.contributor[used]).value_counts().rows()
    frame = _frame(parts, values, {str(name): int(count) for name, count in rows})
    record = {
        "method": request.method, "model": _named(request.model), "metric": _named(request.metric),
        "budget": request.budget, "n_evaluations": values.evaluations, "exact": values.exact,
        "random_state": request.seed,
        "data": {"name": table.name, "sha256": table.sha256}, "utility_of_all": float(ends[1]),
        "utility_of_none": float(ends[0]), "notes": notes,
    }  # fmt: skip
    return Valuation(frame, record)


def _cached_utility(utility: Utility, budget: int, progress: Progress | None) -> Utility:
    evaluated: dict[bytes, float] = {}

    def ask(coalitions: Bools) -> Floats:
        names = [np.packbits(members).tobytes() for members in coalitions]
        new = {name: position for position, name in enumerate(names) if name not in evaluated}
        positions = list(new.values())
        for start in range(0, len(positions), BATCH_SIZE):
            batch = positions[start : start + BATCH_SIZE]
            utilities = evaluate(utility, coalitions[batch])
            evaluated.update({names[p]: float(w) for p, w in zip(batch, utilities, strict=True)})
            if progress is not None:
                progress("coalitions", min(len(evaluated), budget), budget)
        return np.array([evaluated[name] for name in names])

    return ask


def _held_out(prepared: Prepared, used: Bools, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows to train on and rows held out; all labels of an item are on one side."""
    rows = np.flatnonzero(used)
    each = np.arange(len(prepared.y)) if prepared.item is None else prepared.item
    units = np.unique(each, return_inverse=True)[1]
    names = rng.permutation(np.unique(units[rows]))
    share = min(HELD_OUT, MAX_HELD_OUT / max(len(rows), 1))
    out = np.isin(units[rows], names[: max(1, round(share * len(names)))])
    if out.all():
        raise InputError("there are too few rows for held-out rows; pass test data")
    return rows[~out], rows[out]


def _near_duplicates(x: Floats, y: Array, rng: np.random.Generator) -> Ints:
    near = near_duplicate_groups(x, rng)
    both = np.column_stack([near, np.unique(y, return_inverse=True)[1]])
    return np.asarray(np.unique(both, axis=0, return_inverse=True)[1]).ravel()


def _utility(
    x: Floats,
    y: Array,
    parts: RowOwnership,
    x_test: Floats,
    y_test: Array,
    prepared: Prepared,
    request: ValueRequest,
) -> Utility:
    classes, task = max(len(prepared.classes), 1), prepared.task
    metric, seed = None if callable(request.metric) else metric_of(request.metric, task), request.seed
    if isinstance(request.model, str):
        return MODELS[request.model](x, y, parts, x_test, y_test, classes=classes, metric=metric, seed=seed)
    from sklearn.base import clone

    def score(truth: Array, predicted: Array) -> float:
        if metric is None:
            return float(request.metric(truth, predicted))
        if task == "classification" and predicted.dtype.kind not in "iu":
            got = f"got {type(request.model).__name__}, which predicts values of type {predicted.dtype}"
            raise InputError(f"model must be a classifier for labels that are classes, {got}")
        outputs = np.eye(classes)[predicted] if task == "classification" else predicted[:, None]
        return float(metric(truth, outputs[None])[0])

    return estimator_utility(
        x, y, parts, x_test, y_test, classes=classes, make=lambda: clone(request.model), score=score
    )


def _named(setting: Any) -> str | None:
    return setting if setting is None or isinstance(setting, str) else repr(setting)


def _frame(parts: RowOwnership, values: Values, rows: dict[str, int]) -> pl.DataFrame:
    count = rows_per_contributor(parts)
    positive = np.maximum(values.value, 0.0)
    share = positive / positive.sum() if positive.sum() > 0 else np.zeros(len(positive))
    per_row = np.divide(values.value, count, out=np.zeros(len(count)), where=count > 0)
    return pl.DataFrame(
        {
            "contributor": parts.names, "value": values.value, "low": values.low, "high": values.high,
            "rows": [rows.get(name, 0) for name in parts.names], "counted": count, "per_row": per_row,
            "share": share,
        }
    ).sort("value", "contributor", descending=[True, False])  # fmt: skip


RECORD = "value.json"


def write_value(folder: Path, valued: Valuation) -> list[str]:
    """Write values.csv, multipliers.csv and value.json; raise if the folder has other files."""
    check_folder(folder, RECORD)
    write_frame(valued.contributors, folder / "values.csv")
    write_frame(valued.multipliers(), folder / "multipliers.csv")
    (folder / RECORD).write_text(as_json(valued.record) + "\n", encoding="utf-8")
    return sorted(path.name for path in folder.iterdir() if path.is_file())
