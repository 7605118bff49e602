"""`anml audit`, `train`, `predict` and `demo`. Heavy imports happen inside the commands."""

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from anml.app.audit.sources import SHAPED_BY, finish, fit, read
from anml.app.spreadsheets import safe_for_spreadsheets
from anml.core.errors import InputError, UnsupportedError
from anml.surfaces import audit_options
from anml.surfaces.auditing import audit_data, in_slices
from anml.surfaces.fail_if import condition_of, fail
from anml.surfaces.options import RunFolder, opt


@audit_options.with_options(*audit_options.options_on(audit_options.AUDIT))
def audit(data: audit_options.Data, **chosen: Any) -> None:
    """Say how far each row of a table can be trusted, and why."""
    from anml.app.audit.output import check_folder, write_run

    condition, out = condition_of(chosen["fail_if"]), chosen["out"]
    sliced = in_slices(data, chosen)
    if out is not None and not sliced:
        check_folder(out)
    result, _ = audit_data(data, chosen, _shown(chosen))
    files = ["samples/", "contributors.csv", "report.html", "run.json"]
    if out is None:
        files = []
    elif not sliced:
        from anml.surfaces.report import write_report

        files = write_run(out, result, "audit", lambda draft: write_report(result, draft))
    _show(result, "audit", out, files, chosen["json"])
    fail(condition, chosen["fail_if"], result)


@audit_options.with_options(*audit_options.options_on(audit_options.TRAIN))
def train(
    data: audit_options.Data,
    model: Annotated[str, opt("mlp, logistic (classes) or ridge (numbers).")] = "mlp",
    out: Annotated[Path, opt("Folder for the model, report and files.")] = Path("anml-run"),
    **chosen: Any,
) -> None:
    """Audit a table, then train a model on what is believed of it."""
    condition = condition_of(chosen["fail_if"])
    # What is wrong with the file is said before the heavy imports.
    chosen = {**dict.fromkeys(SHAPED_BY), **chosen}
    found = source, _ = read(data, chosen)
    if source.shape is not None:
        raise UnsupportedError(f"no model is trained on {chosen['task']}; audit it, and train by its weights")
    request = fit(audit_options.request_of(chosen), found)
    from anml.app.audit.output import check_folder, write_run
    from anml.app.audit.train import train_table
    from anml.surfaces.report import write_report

    check_folder(out)
    with _shown(chosen) as progress:
        test = chosen["test"]
        trained = train_table(source.table, request, model=model, test=test, progress=progress)
    audited = finish(trained.audited, found, data, chosen)

    def extra(draft: Path) -> None:
        write_report(audited, draft)
        trained.save(draft / "model")

    files = write_run(out, audited, "train", extra)
    error = trained.test_error
    more = {"model": model, "test_error": None if error is None else error.to_dict()}
    _show(audited, "train", out, files, chosen["json"], more)
    fail(condition, chosen["fail_if"], audited)


def predict(
    run: RunFolder,
    data: audit_options.Table,
    out: Annotated[Path | None, opt("File to write, .csv or .parquet; default: print CSV.")] = None,
) -> None:
    """Predict the rows of a table with a trained model."""
    from anml.app.audit.output import write_frame
    from anml.app.audit.train import predict_table

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError(f"the output must end in .csv or .parquet, got {out.name!r}")
    frame = predict_table(run, data)
    if out is None:
        print(safe_for_spreadsheets(frame).write_csv(), end="")
    else:
        write_frame(frame, out)


def demo(
    out: Annotated[Path, opt("Folder for the tables, the run and the report.")] = Path("anml-demo"),
    seed: audit_options.Seed = 0,
    json: audit_options.Json = False,
) -> None:
    """Audit digits labelled by twelve made-up contributors. Some of them are bad; writes a report."""
    from anml.app.audit.output import RECORD, check_folder, write_frame
    from anml.app.demo import demo_tables

    run, data, test = out / "run", out / "contributed.csv", out / "test.csv"
    check_folder(out, f"run/{RECORD}")
    out.mkdir(parents=True, exist_ok=True)
    how: dict[str, Any] = {"out": run, "seed": seed, "json": json, "quiet": not sys.stderr.isatty()}
    if not json:
        print(f"anml train {data} --time labeled_at --domain science --test {test} --out {run}\n")
    try:
        for frame, path in zip(demo_tables(seed), (data, test), strict=True):
            write_frame(frame, path)
        train(data, test=test, time="labeled_at", domain="science", **how)
    except BaseException:
        data.unlink(missing_ok=True)
        test.unlink(missing_ok=True)
        raise


def _shown(chosen: dict[str, Any]) -> Any:
    """A bar at once on a terminal; elsewhere lines, of what takes longer than people wait for."""
    from anml.surfaces.progress import progress_shown

    quiet = chosen["quiet"] or chosen["json"]
    return progress_shown(False if quiet else None, bar_after=0.0, lines_after=10.0)


def _show(result: Any, command: str, out: Path | None, files: list[str], json: bool, more: Any = ()) -> None:
    from anml.app.audit.output import as_json
    from anml.app.audit.result import run_record
    from anml.surfaces.console import print_audit

    if json:
        record = run_record(result, command)
        contributors = result.contributors.to_dicts()
        print(as_json({**record, **dict(more), "contributors": contributors, "out": out and str(out)}))
        return
    print_audit(result)
    if more and more["test_error"]:
        mean, low, high = more["test_error"].values()
        interval = "" if low is None else f" [{low:.4g}, {high:.4g}]"
        print(f"The trained {more['model']} model's error on the test data: {mean:.4g}{interval}")
    if out is None:
        print("Nothing was written; add --out DIR for report.html, samples.parquet and contributors.csv.")
    else:
        print(f"Wrote {', '.join(files)} to {out}")
        print(f"Report: {out / 'report.html'}")
        if "path" in result.data and result.queue.candidates and result.doubtful is None:
            print(f"What to relabel first: anml relabel {quote(str(out))} --out FILE")
