"""`anml value`: the value of each contributor. Heavy imports happen inside the command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.cli import options as shared
from anml.cli.config import with_columns, with_settings
from anml.cli.options import arg, opt, resolve_run_folder
from anml.cli.text import columns
from anml.core.errors import InputError

if TYPE_CHECKING:
    from anml.pipeline.contributor_values import Valuation


MAX_ROWS = 30


def value(
    context: typer.Context,
    data: Annotated[
        Path, arg("A table, a run folder, or latest.", metavar="RUN|TABLE", callback=resolve_run_folder)
    ],
    label: shared.Label = None,
    contributor: shared.Contributor = None,
    column: shared.Columns = None,
    task: shared.TaskName = None,
    test: shared.Test = None,
    method: Annotated[
        str, opt("banzhaf (unchanged by split accounts), shapley or beta-shapley.")
    ] = "banzhaf",
    model: Annotated[str, opt("linear, or mlp: a small network.")] = "linear",
    metric: Annotated[
        str | None, opt("accuracy or balanced-accuracy of classes, r2 or minus-rmse of numbers.")
    ] = None,
    budget: Annotated[int, opt("Maximum number of coalitions; exact if at most this many exist.")] = 2_000,
    table: Annotated[Path | None, opt("The table of the run, if it was moved.")] = None,
    set: shared.Settings = None,
    seed: shared.Seed = None,
    out: Annotated[Path | None, opt("Folder for the values.")] = None,
) -> None:
    """Shapley or Banzhaf value of each contributor."""
    from anml.pipeline.contributor_values import RECORD, ValueRequest, compute_values, write_value
    from anml.pipeline.write import as_json, check_folder
    from anml.report.progress import progress_shown

    source, run = _source(data, table)
    settings = with_columns(with_settings({}, set or ()), column or (), None)
    schema = settings.get("schema") or {}
    request = ValueRequest(
        label=label or settings.get("label"), contributor=contributor or settings.get("contributor"),
        time=schema.get("time"), features=settings.get("features"), ignore=tuple(schema.get("ignore") or ()),
        task=task or "auto", method=method, model=model, metric=metric, budget=budget, seed=seed or 0,
    )  # fmt: skip
    if out is not None:
        check_folder(out, RECORD)
    output = context.obj
    with progress_shown(wanted=False if output.quiet or output.json else None) as progress:
        valued = compute_values(source, request, test=test, run=run, progress=progress)
    files = [] if out is None else write_value(out, valued)
    if output.json:
        print(as_json({**valued.record, "contributors": valued.contributors.to_dicts()}))
        return
    _show(valued)
    if out is None:
        print("No files were written; --out DIR writes values.csv and multipliers.csv.")
    else:
        print(f"Wrote {', '.join(files)} to {out}")


def _source(data: Path, table: Path | None) -> tuple[Any, Path | None]:
    from anml.pipeline.read import data_path

    if not data.is_dir():
        if table is not None:
            raise InputError("--table needs a run folder, got a table")
        return data, None
    table = table or data_path(data)
    if table is None:
        raise InputError(f"the run in {data} has no data path, or the file was moved; pass --table FILE")
    return table, data


def _show(valued: "Valuation") -> None:
    record, how = valued.record, "exact" if valued.record["exact"] else "sampled"
    print(f"{record['method']} values, {how}, from {record['n_evaluations']} coalitions")
    print(
        f"utility with all contributors: {record['utility_of_all']:.4g}, with none: "
        f"{record['utility_of_none']:.4g}\n"
    )
    shown = valued.contributors.select("contributor", "value", "low", "high", "rows", "share").head(MAX_ROWS)
    rows = [
        (name, f"{value:.4f}", "" if record["exact"] else f"{low:.4f} to {high:.4f}", rows, f"{share:.1%}")
        for name, value, low, high, rows, share in shown.iter_rows()
    ]
    print("\n".join(columns(("contributor", "value", "95% interval", "rows", "share"), rows)))
    if valued.contributors.height > MAX_ROWS:
        print(f"... and {valued.contributors.height - MAX_ROWS} more")
    print()
    for note in record["notes"]:
        print(f"note: {note}")
