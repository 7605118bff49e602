"""`anml.value`: what each contributor is worth, from Python."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from anml.app.value.value import Valued, request_of, value_data, write_value
from anml.surfaces.audit_options import BY_NAME, documented
from anml.surfaces.progress import progress_shown
from anml.surfaces.python import to_native
from anml.surfaces.value_cli import OPTIONS


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

    Where `time` is named, rows that several sent belong to whoever was first.

    Parameters
    ----------
    data
        Path of a CSV or Parquet file, or a pandas, polars or Arrow frame.
    run
        The folder of a run of this table: only the rows that it keeps are valued.
    """
    request = request_of(locals())
    place = None if run is None else Path(run)
    with progress_shown(progress) as report:
        found = value_data(data, request, test=test, run=place, progress=report)
    return Value(found, None if isinstance(data, str | Path) else data)


value.__doc__ = documented(value, (*OPTIONS, BY_NAME["progress"]))
