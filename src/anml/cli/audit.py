"""`anml audit`, `train`, `predict` and `demo`. Heavy imports happen inside the commands."""

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.cli import options as shared
from anml.cli.config import engine_of, read_config, with_columns, with_settings
from anml.cli.fail_if import fail, parse_condition
from anml.cli.options import Output, opt
from anml.core.checks import one_of
from anml.core.errors import InputError, UnsupportedError
from anml.io.spreadsheets import safe_for_spreadsheets
from anml.tasks import TASKS, task_of

if TYPE_CHECKING:
    from anml.pipeline.request import AuditOptions


def audit(
    context: typer.Context,
    data: shared.Data,
    label: shared.Label = None,
    contributor: shared.Contributor = None,
    item: shared.Item = None,
    column: shared.Columns = None,
    task: shared.TaskName = None,
    predictions: shared.Predictions = None,
    embeddings: shared.Embeddings = None,
    recipe: shared.RecipeName = None,
    test: shared.Test = None,
    fail_if: shared.FailIf = None,
    engine: Annotated[str | None, opt("local or ray, for Parquet files with more rows than memory.")] = None,
    out: Annotated[Path | None, opt("Folder for the report and the files.")] = None,
    config: shared.Config = None,
    set: shared.Settings = None,
    seed: shared.Seed = None,
) -> None:
    """Audit a table or an export of a labelling tool."""
    from anml.api import Audit, run_audit

    condition, output = parse_condition(fail_if), context.obj
    settings = with_columns(with_settings(read_config(config), set or ()), column or (), task)
    executor = engine_of(engine, out, settings.pop("engine", None))
    options = resolve(settings, label=label, contributor=contributor, item=item, task=task, recipe=recipe,
                      predictions=predictions, embeddings=embeddings, test=test, seed=seed)  # fmt: skip
    _check_out(None if executor else out)
    result, table = run_audit(data, options, executor, progress_display(output))
    audited = Audit.from_result(result, None, table, None if executor is None else Path(executor.out))
    files = ["samples/", "contributors.csv", "report.html", "run.json"] if executor else []
    if out is not None and executor is None:
        files = audited.save(out)
    show(result, "audit", out, files, output)
    fail(condition, fail_if, result)


def train(
    context: typer.Context,
    data: shared.Data,
    label: shared.Label = None,
    contributor: shared.Contributor = None,
    item: shared.Item = None,
    column: shared.Columns = None,
    task: shared.TaskName = None,
    predictions: shared.Predictions = None,
    embeddings: shared.Embeddings = None,
    recipe: shared.RecipeName = None,
    test: shared.Test = None,
    fail_if: shared.FailIf = None,
    model: Annotated[str, opt("mlp, logistic (classes) or ridge (numbers).")] = "mlp",
    out: Annotated[Path, opt("Folder for the model, the report and the files.")] = Path("anml-run"),
    config: shared.Config = None,
    set: shared.Settings = None,
    seed: shared.Seed = None,
) -> None:
    """Audit, then train a model on the weighted rows."""
    condition = parse_condition(fail_if)
    settings = with_columns(with_settings(read_config(config), set or ()), column or (), task)
    options = resolve(settings, label=label, contributor=contributor, item=item, task=task, recipe=recipe,
                      predictions=predictions, embeddings=embeddings, test=test, seed=seed)  # fmt: skip
    train_and_show(data, options, model, out, context.obj, condition, fail_if)


def train_and_show(
    data: Path, options: "AuditOptions", model: str, out: Path, output: Output,
    condition: Any = (), fail_if: str | None = None,
) -> None:  # fmt: skip
    """Train a model, write the run and print the result."""
    from anml.pipeline.sources import apply_source, attach_provenance, read

    # Input errors are raised before the heavy imports.
    source = read(data, options)
    if source.shape is not None:
        why = f"no model is trained on labels of the task {source.shape.kind}"
        raise UnsupportedError(f"{why}; audit the data, and train on its weights")
    if options.encoder is not None:
        raise UnsupportedError("train does not encode images or texts; pass a file of vectors")
    request = apply_source(options.request, source)
    from anml.pipeline.train import train_table
    from anml.pipeline.write import check_folder, write_run
    from anml.report.html import write_report

    check_folder(out)
    with progress_display(output) as progress:
        trained = train_table(source.table, request, model=model, test=options.test, progress=progress)
    audited = attach_provenance(trained.audited, source, data, options)

    def extra(draft: Path) -> None:
        write_report(audited, draft)
        trained.save(draft / "model")

    files = write_run(out, audited, "train", extra)
    error = trained.test_error
    more = {"model": model, "test_error": None if error is None else error.to_dict()}
    show(audited, "train", out, files, output, more)
    fail(list(condition), fail_if, audited)


def predict(
    run: shared.RunFolder,
    data: shared.Table,
    out: Annotated[Path | None, opt("File to write, .csv or .parquet; default: print CSV.")] = None,
) -> None:
    """Predict with a trained model."""
    from anml.pipeline.train import predict_table
    from anml.pipeline.write import write_frame

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError(f"the output must end in .csv or .parquet, got {out.name!r}")
    frame = predict_table(run, data)
    if out is None:
        print(safe_for_spreadsheets(frame).write_csv(), end="")
    else:
        write_frame(frame, out)


def demo(
    context: typer.Context,
    out: Annotated[Path, opt("Folder for the tables, the run and the report.")] = Path("anml-demo"),
    seed: Annotated[int, opt("Random seed.")] = 0,
) -> None:
    """Audit simulated labels and write a report."""
    from anml.cli.demo_data import demo_tables
    from anml.pipeline.write import RUN_FILE, check_folder, write_frame

    output = context.obj._replace(quiet=context.obj.quiet or not sys.stderr.isatty())
    run, data, test = out / "run", out / "contributed.csv", out / "test.csv"
    check_folder(out, f"run/{RUN_FILE}")
    out.mkdir(parents=True, exist_ok=True)
    columns, settings = ("time=labeled_at",), ("recipe.half_life=science",)
    if not output.json:
        shown = f"--column {columns[0]} --set {settings[0]} --test {test} --out {run}"
        print(f"anml train {data} {shown}\n")
    try:
        for frame, path in zip(demo_tables(seed), (data, test), strict=True):
            write_frame(frame, path)
        chosen = with_columns(with_settings({}, settings), columns, None)
        train_and_show(data, resolve(chosen, test=test, seed=seed), "mlp", run, output)
    except BaseException:
        data.unlink(missing_ok=True)
        test.unlink(missing_ok=True)
        raise


def resolve(settings: Mapping[str, Any], **typed: Any) -> "AuditOptions":
    """Return the options of an audit; command-line values override the configuration."""
    from anml.api import audit_options

    chosen = {name: value for name, value in typed.items() if value is not None}
    config = dict(settings)
    task, recipe = dict(_table(config.pop("task", None))), dict(_table(config.pop("recipe", None)))
    named = chosen.pop("task", task.pop("name", "auto"))
    task.pop("name", None)
    if named == "auto" and task:
        named = _task_with(task)
    if "recipe" in chosen:
        recipe["name"] = chosen.pop("recipe")
    encoder = config.pop("encoder", None)
    if encoder:
        from anml.schema import Encoder, options_from

        model = chosen.pop("embeddings", config.pop("embeddings", None))
        config["embeddings"] = options_from(
            Encoder, {**({} if model is None else {"model": model}), **encoder}
        )
    test, seed = chosen.pop("test", None), chosen.pop("seed", None)
    config["evaluate"] = test if test is not None else config.get("evaluate", True)
    config["random_state"] = seed if seed is not None else config.get("random_state", 0)
    columns = {"label": None, "contributor": None, "item": None, "features": None, "predictions": None}
    return audit_options(**{**columns, **config, **chosen}, task=task_of(named, task), recipe=recipe)


def _table(given: Any) -> Mapping[str, Any]:
    return {} if given is None else {"name": given} if isinstance(given, str) else given


def _task_with(options: Mapping[str, Any]) -> str:
    """Return the task that has these options; several tasks have `assignments`."""
    fitting = [name for name, kind in TASKS.items() if set(options) <= set(kind.__dataclass_fields__)]
    if len(fitting) != 1:
        named = ", ".join(options)
        raise InputError(
            f"the task options {named} fit {', '.join(fitting) or 'no task'}; name it with --task"
        )
    return one_of("task", fitting[0], TASKS)


def _check_out(out: Path | None) -> None:
    from anml.pipeline.write import check_folder

    if out is not None:
        check_folder(out)


def progress_display(output: Output) -> AbstractContextManager[Any]:
    """Show a bar on a terminal; else log lines, for runs longer than ten seconds."""
    from anml.report.progress import progress_shown

    return progress_shown(False if output.quiet or output.json else None, bar_after=0.0, lines_after=10.0)


def show(
    result: Any,
    command: str,
    out: Path | None,
    files: list[str],
    output: Output,
    more: Mapping[str, Any] = {},
) -> None:
    """Print a result as text or as one JSON object."""
    from anml.cli.console import print_audit
    from anml.pipeline.result import run_metadata
    from anml.pipeline.write import as_json

    if output.json:
        record = run_metadata(result, command)
        contributors = result.contributors.to_dicts()
        print(as_json({**record, **more, "contributors": contributors, "out": out and str(out)}))
        return
    print_audit(result)
    if more and more["test_error"]:
        mean, low, high = more["test_error"].values()
        interval = "" if low is None else f" [{low:.4g}, {high:.4g}]"
        print(f"Test error of the trained {more['model']} model: {mean:.4g}{interval}")
    if out is None:
        print("No files were written; --out DIR writes report.html, samples.parquet and contributors.csv.")
    else:
        print(f"Wrote {', '.join(files)} to {out}")
        print(f"Report: {out / 'report.html'}")
        if "path" in result.data and result.queue.candidates and result.disputed_share is None:
            print(f"Next: list what to relabel first with `anml relabel {quote(str(out))} --out FILE`")
