"""The Python surface: `anml.audit` on a frame or a file, with results as the user's own kind of frame."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from anml.app.audit.output import write_run
from anml.app.audit.result import Audited
from anml.app.audit.values import by_index, typed
from anml.app.audit.weights_for import weights_by_slices, weights_for
from anml.app.files import write_file
from anml.app.relabel.files import write_list
from anml.app.relabel.queue import of_result, of_run, where_to_look
from anml.app.relabel.rounds import source_of, source_of_audit
from anml.app.value.value import Valued, request_of, value_data, write_value
from anml.core.checks import Ints
from anml.core.domain import GRADES, PREFERENCE, Recipe, Weighting
from anml.core.profile import Profile
from anml.surfaces.audit_options import BY_NAME, documented
from anml.surfaces.auditing import audit_data
from anml.surfaces.progress import progress_shown
from anml.surfaces.report import render_card, render_report, write_report
from anml.surfaces.summary import decided, summary
from anml.surfaces.value_cli import OPTIONS


class Audit:
    """What an audit found.

    `samples` and `contributors` are frames of the kind that was audited (polars for a file), one row each; of
    a pandas frame, `samples` keeps the index of the rows that were used. `items` has one row per item, with
    the label that all of its labels make together and the probability that it is right; None where items have
    one label each. `gate` says which branch decided, and why; `result` is everything, as
    `anml.app.audit.result.Audited`.
    """

    def __init__(self, result: Audited, like: Any = None, table: Any = None) -> None:
        self.result, self.gate = result, result.gate
        self.table, self.folder = table, Path()
        self._like = like

        # Rows of tags, spans and boxes are made of those of a table, and are not those of its index.
        same = result.kind in (None, PREFERENCE, GRADES)
        rows = result.samples["row"].to_numpy() if same else None
        self.samples: Any = self._native(result.samples, rows)
        self.contributors: Any = self._native(result.contributors)
        self.items: Any = None if result.items is None else self._native(result.items)

    def _native(self, frame: pl.DataFrame, rows: Ints | None = None) -> Any:
        return to_native(typed(frame, self.result.kinds), self._like, rows)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the report as one self-contained HTML file."""
        path = Path(path)
        write_file(path, render_report(self.result))
        return path

    def save(self, folder: str | Path) -> list[str]:
        """Write the run into a folder: samples, contributors, items, run.json and report.html."""
        return write_run(Path(folder), self.result, "audit", lambda draft: write_report(self.result, draft))

    def relabel(self, path: str | Path | None = None, *, format: str = "auto", top: int | None = None) -> Any:
        """List the items to look at first, most to gain first: a frame of the kind that was audited.

        `path` is a file to write, to relabel from; `format` and `top` are those of `anml.relabel`.
        """
        looking = where_to_look(of_result(self.result), top)
        if path is not None:
            write_list(looking, source_of_audit(self.result, self.table), format, Path(path))
        return self._native(looking.rows)

    def weights_for(self, data: Any, key: str | None = None) -> Weighting:
        """Weights of the rows of a dataset that is trained on, in its order; not kept is what was not judged.

        `data` is a frame, a dataset of Hugging Face (with labels, or with prompt, chosen and rejected), a
        Dataset or DataLoader of torch, or a list of examples. `key` is a column that it and the audited table
        both have and that names each row once; without, rows are found by the index of a pandas frame, or by
        their place: columns of the same name must then hold the same, or it is an error. The result is what
        `WeightedTrainer`, `WeightedSampler` and, as `sample_weight()`, any learner takes.
        """
        if self.table is None:
            return weights_by_slices(self.result, self.folder, data, key)
        index = getattr(self._like, "index", None) if key is None else None
        return weights_for(self.result, self.table.frame, data, key, index)

    def __repr__(self) -> str:
        said = summary(self.result)
        lines = [
            *([said.doubt] if said.doubt else []),
            *(f"{question}: {answer}" for question, answer in said.lines()),
            *decided(self.result),
            *(f"warning: {warning}" for warning in self.result.warnings),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return render_card(self.result)


def audit(
    data: Any,
    label: str | None = None,
    contributor: str | None = None,
    *,
    item: str | None = None,
    verification: str | None = None,
    reputation: str | None = None,
    time: str | None = None,
    derived_from: str | None = None,
    gold: str | None = None,
    known: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    task: str = "auto",
    first: str | None = None,
    second: str | None = None,
    choice: str | None = None,
    group: str | Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
    seen: str | Path | None = None,
    nested: bool = False,
    recipe: str | Recipe | dict[str, Any] = "evidence",
    keep: float | None = None,
    profile: str | Profile | dict[str, Any] = "default",
    score: str | None = None,
    half_life: str | float | None = None,
    domain: str | None = None,
    now: datetime | date | str | None = None,
    r_min: float = 0.4,
    newcomer: int = 10,
    test: Any = None,
    compare: bool = True,
    seed: int = 0,
    format: str = "auto",
    ledger: str | Path | None = None,
    keys: str | Path | None = None,
    source: str | None = None,
    track_domain: str = "default",
    policy: str | Path | None = None,
    predictions: Any = None,
    embeddings: Any = None,
    key: str | None = None,
    image: str | None = None,
    text: str | None = None,
    embed: str | Callable[[list[Any]], Any] | None = None,
    cache: str | Path | None = None,
    device: str = "auto",
    engine: str | None = None,
    address: str | None = None,
    out: str | Path | None = None,
    progress: bool | Callable[[str, int, int], None] | None = None,
) -> Audit:
    """Say how far each row of a table can be trusted, and why.

    Parameters
    ----------
    data
        Path of a CSV, Parquet or Excel file, of an export (Label Studio, Argilla, Croissant, Toloka, MTurk),
        or of a folder of pictures; or a pandas, polars or Arrow frame.
    """
    chosen = {name: given for name, given in locals().items() if name in BY_NAME}
    # Embeddings of preferences are of candidates, and not of rows.
    if key is None and task != "preference":
        chosen |= {name: by_index(name, chosen[name], data) for name in ("predictions", "embeddings")}
    result, table = audit_data(data, chosen, progress_shown(progress))
    found = Audit(result, None if isinstance(data, str | Path) else data, table)
    if table is None:
        found.folder = Path(chosen["out"])
        found.samples = pl.scan_parquet(found.folder / "samples")
    elif out is not None:
        found.save(out)
    return found


audit.__doc__ = documented(audit)


def relabel(
    run: str | Path,
    out: str | Path | None = None,
    *,
    format: str = "auto",
    top: int | None = None,
    data: str | Path | None = None,
) -> pl.DataFrame:
    """List the items of a finished run to look at first, most to gain first.

    `run` is a folder of `anml audit` or `anml train`, `out` a file to write, to relabel from, in a `format`:
    `"label-studio"`, `"argilla"` or `"csv"`; `"auto"` is what the data came in. `top` is how many items
    somebody has time to look at, `data` where the data of the run lie, if they were moved.
    """
    found = of_run(Path(run))
    looking = where_to_look(found, top)
    if out is not None:
        given = None if data is None else Path(data)
        write_list(looking, source_of(found, Path(run), given), format, Path(out))
    return typed(looking.rows, found.kinds)


def to_native(frame: pl.DataFrame, like: Any | None, rows: Ints | None = None) -> Any:
    """A frame of the kind the user passed in, else polars; `rows` find the index of a pandas frame."""
    if nw.dependencies.is_pandas_dataframe(like):
        try:
            made = frame.to_pandas()
        except ModuleNotFoundError:
            import pandas

            made = pandas.DataFrame({series.name: series.to_list() for series in frame.get_columns()})
        return made if rows is None else made.set_axis(like.index.take(rows), axis=0)
    return frame.to_arrow() if nw.dependencies.is_pyarrow_table(like) else frame


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
        values = f"{record['method']} values of {self.result.contributors.height} contributors, {how}"
        return f"{values}; {best['contributor']} has the highest, {best['value']:.4g}"


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
