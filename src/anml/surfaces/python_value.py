"""`anml.value`: what each contributor is worth, from Python."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from anml.app.value.output import write_value
from anml.app.value.value import Valued, ValueRequest, value_data
from anml.surfaces.native import to_native
from anml.surfaces.progress import progress_shown


class Value:
    """Values of contributors.

    `contributors` is a frame of the kind that was passed in, the most valuable first: value, its 95%
    interval, rows, rows that count, value per row, share. `notes` say how worth was measured, `exact` whether
    every coalition was evaluated.
    """

    def __init__(self, found: Valued, like: Any) -> None:
        self.result = found
        self.contributors: Any = to_native(found.contributors, like)
        self.notes: list[str] = found.record["notes"]
        self.exact: bool = found.record["exact"]

    def save(self, folder: str | Path) -> list[str]:
        """Write values.csv, multipliers.csv (for `anml settle --multiplier`) and value.json."""
        return write_value(Path(folder), self.result)

    def __repr__(self) -> str:
        best, record = self.result.contributors.row(0, named=True), self.result.record
        how = "exact" if self.exact else f"from {record['evaluations']} coalitions"
        return (
            f"{record['method']} values of {self.result.contributors.height} contributors, {how}; "
            f"{best['contributor']} has the highest, {best['value']:.4g}"
        )


def value(
    data: Any,
    label: str | None = None,
    contributor: str | None = None,
    *,
    time: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    task: str = "auto",
    test: Any = None,
    method: str = "banzhaf",
    model: Any = "linear",
    metric: str | Callable[[Any, Any], float] | None = None,
    budget: int = 2_000,
    run: str | Path | None = None,
    seed: int = 0,
    progress: bool | Callable[[str, int, int], None] | None = None,
) -> Value:
    """Say what each contributor's rows are worth to a model.

    Parameters
    ----------
    data
        Path of a CSV or Parquet file, or a pandas, polars or Arrow frame.
    label, contributor, time, features, ignore, task
        As in `anml.audit`. Where `time` is named, rows that several sent belong to whoever was first.
    test
        A table with right labels that models are measured on; without it some rows are held out.
    method
        `"banzhaf"`, which splitting oneself or copying others does not raise in total, `"shapley"` or
        `"beta-shapley"`.
    model
        `"linear"`, `"mlp"`, or an estimator with `fit` and `predict`.
    metric
        A name (accuracy, balanced-accuracy, r2, minus-rmse), or with an estimator a function of truth and
        prediction, the higher the better.
    budget
        Coalitions to evaluate at most; values are exact where all of them are no more.
    run
        The folder of a run of this table: only the rows that it keeps are valued.
    progress
        As in `anml.audit`.
    """
    one = (features,) if isinstance(features, str) else features
    request = ValueRequest(
        label, contributor, time, None if one is None else tuple(one),
        (ignore,) if isinstance(ignore, str) else tuple(ignore), task, method, model, metric, budget, seed,
    )  # fmt: skip
    place = None if run is None else Path(run)
    with progress_shown(progress) as report:
        found = value_data(data, request, test=test, run=place, progress=report)
    return Value(found, None if isinstance(data, str | Path) else data)
