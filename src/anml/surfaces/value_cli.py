"""`anml value`: what each contributor is worth. Heavy imports happen inside the command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from anml.core.errors import InputError
from anml.surfaces.audit_options import BY_NAME, Option, with_options
from anml.surfaces.ledger_common import columns
from anml.surfaces.options import arg, newest, opt

if TYPE_CHECKING:
    from anml.app.value.value import Valued


MOST_SHOWN = 30
SHARED = ("label", "contributor", "time", "features", "ignore", "task", "test", "seed", "json", "quiet")
OPTIONS = (
    *(BY_NAME[name] for name in SHARED),
    Option("method", str, "banzhaf",
           "banzhaf, which splitting and copying do not raise; shapley or beta-shapley."),
    Option("model", str, "linear", "linear, or mlp: a small network.",
           python="An estimator with `fit` and `predict` will do."),
    Option("metric", str | None, None,
           "accuracy or balanced-accuracy of classes, r2 or minus-rmse of numbers.",
           python="With an estimator also a function of truth and prediction, the higher the better."),
    Option("budget", int, 2_000, "Coalitions to evaluate at most; exact where all are no more."),
)  # fmt: skip


@with_options(*OPTIONS)
def value(
    data: Annotated[
        Path, arg("A table, or a run's folder, or latest.", metavar="RUN|TABLE", callback=newest)
    ],
    table: Annotated[Path | None, opt("The table that a run was made of, if it moved.")] = None,
    out: Annotated[Path | None, opt("Folder for the values.")] = None,
    **chosen: Any,
) -> None:
    """Say what each contributor is worth to a model. `anml settle` takes it as a multiplier."""
    from anml.app.audit.output import as_json, check_folder
    from anml.app.value.value import RECORD, request_of, value_data, write_value
    from anml.surfaces.progress import progress_shown

    source, run = _source(data, table)
    request = request_of(chosen)
    if out is not None:
        check_folder(out, RECORD)
    with progress_shown(wanted=False if chosen["quiet"] or chosen["json"] else None) as progress:
        found = value_data(source, request, test=chosen["test"], run=run, progress=progress)
    files = [] if out is None else write_value(out, found)
    if chosen["json"]:
        print(as_json({**found.record, "contributors": found.contributors.to_dicts()}))
        return
    _show(found)
    if out is None:
        print("Nothing was written; add --out DIR for values.csv, and multipliers.csv for anml settle.")
    else:
        print(f"Wrote {', '.join(files)} to {out}")


def _source(data: Path, table: Path | None) -> tuple[Any, Path | None]:
    from anml.app.audit.runs import data_of

    if not data.is_dir():
        if table is not None:
            raise InputError("--table goes with the folder of a run; here the table itself was given")
        return data, None
    table = table or data_of(data)
    if table is None:
        why = "this run does not know where its table lies"
        raise InputError(f"{why}; say which it was: anml value {data} --table FILE")
    return table, data


def _show(found: "Valued") -> None:
    record, how = found.record, "exact" if found.record["exact"] else "sampled"
    print(f"{record['method']} values, {how}, from {record['evaluations']} coalitions")
    print(f"all together are worth {record['worth_of_all']:.4g}, nobody {record['worth_of_nobody']:.4g}\n")
    shown = found.contributors.select("contributor", "value", "low", "high", "rows", "share").head(MOST_SHOWN)
    rows = [
        (who, f"{value:.4f}", "" if record["exact"] else f"{low:.4f} to {high:.4f}", rows, f"{share:.1%}")
        for who, value, low, high, rows, share in shown.iter_rows()
    ]
    print("\n".join(columns(("contributor", "value", "95% interval", "rows", "share"), rows)))
    if found.contributors.height > MOST_SHOWN:
        print(f"... and {found.contributors.height - MOST_SHOWN} more")
    print()
    for note in record["notes"]:
        print(f"note: {note}")
