"""`anml value`: the value of each contributor. Heavy imports happen inside the command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.cli import options as given
from anml.cli.config import with_columns, with_settings
from anml.cli.options import arg, opt, resolve_run_folder
from anml.cli.text import columns
from anml.core.errors import InputError

if TYPE_CHECKING:
    from anml.pipeline.value import Valuation


MAX_ROWS = 30


def value(
    context: typer.Context,
    data: Annotated[
        Path, arg("A table, a run folder, or latest.", metavar="RUN|TABLE", callback=resolve_run_folder)
    ],
    label: given.Label = None,
    contributor: given.Contributor = None,
    column: given.Columns = None,
    task: given.TaskName = None,
    test: given.Test = None,
    method: Annotated[
        str, opt("banzhaf, which splitting and copying do not raise; shapley or beta-shapley.")
    ] = "banzhaf",
    model: Annotated[str, opt("linear, or mlp: a small network.")] = "linear",
    metric: Annotated[
        str | None, opt("accuracy or balanced-accuracy of classes, r2 or minus-rmse of numbers.")
    ] = None,
    budget: Annotated[int, opt("Coalitions to evaluate at most; exact where there are no more.")] = 2_000,
    table: Annotated[Path | None, opt("The table of the run, if it was moved.")] = None,
    set: given.Settings = None,
    seed: given.Seed = None,
    out: Annotated[Path | None, opt("Folder for the values.")] = None,
) -> None:
    """Shapley or Banzhaf value of each contributor."""
    from anml.pipeline.value import RECORD, ValueRequest, compute_values, write_value
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
        found = compute_values(source, request, test=test, run=run, progress=progress)
    files = [] if out is None else write_value(out, found)
    if output.json:
        print(as_json({**found.record, "contributors": found.contributors.to_dicts()}))
        return
    _show(found)
    if out is None:
        print("No files were written; --out DIR writes values.csv and multipliers.csv.")
    else:
        print(f"Wrote {', '.join(files)} to {out}")


def _source(data: Path, table: Path | None) -> tuple[Any, Path | None]:
    from anml.pipeline.read import data_path

    if not data.is_dir():
        if table is not None:
            raise InputError("--table goes with the folder of a run; here the table itself was given")
        return data, None
    table = table or data_path(data)
    if table is None:
        why = "this run does not know where its table lies"
        raise InputError(f"{why}; say which it was: anml value {data} --table FILE")
    return table, data


def _show(found: "Valuation") -> None:
    record, how = found.record, "exact" if found.record["exact"] else "sampled"
    print(f"{record['method']} values, {how}, from {record['n_evaluations']} coalitions")
    print(
        f"utility with all contributors: {record['utility_of_all']:.4g}, with none: "
        f"{record['utility_of_none']:.4g}\n"
    )
    shown = found.contributors.select("contributor", "value", "low", "high", "rows", "share").head(MAX_ROWS)
    rows = [
        (who, f"{value:.4f}", "" if record["exact"] else f"{low:.4f} to {high:.4f}", rows, f"{share:.1%}")
        for who, value, low, high, rows, share in shown.iter_rows()
    ]
    print("\n".join(columns(("contributor", "value", "95% interval", "rows", "share"), rows)))
    if found.contributors.height > MAX_ROWS:
        print(f"... and {found.contributors.height - MAX_ROWS} more")
    print()
    for note in record["notes"]:
        print(f"note: {note}")
