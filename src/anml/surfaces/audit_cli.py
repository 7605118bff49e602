"""`anml audit`, `train`, `predict` and `demo`. Heavy imports happen inside the commands."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.app.slices import holds_parquet
from anml.app.sources import Place, finish, fit, folder_of, read
from anml.core.errors import InputError
from anml.surfaces.audit_options import (
    Address,
    Cache,
    Compare,
    Contributor,
    Data,
    DerivedFrom,
    Device,
    Domain,
    EmbedBy,
    Embeddings,
    EngineName,
    Features,
    GoldColumn,
    HalfLife,
    Ignore,
    Image,
    Item,
    Json,
    Keep,
    Key,
    KnownColumn,
    Label,
    Newcomer,
    Now,
    Out,
    Predictions,
    ProfileName,
    Quiet,
    RecipeName,
    Reputation,
    RMin,
    Score,
    Seed,
    Table,
    Task,
    Test,
    Text,
    Time,
    Verification,
    request_of,
)  # fmt: skip
from anml.surfaces.ledger_common import Accounts, Format, Keys, LedgerUrl, PolicyFile, TrackDomain

if TYPE_CHECKING:
    from collections.abc import Callable

    from anml.app.request import Request
    from anml.app.result import Audited


def audit(
    data: Data, label: Label = None, contributor: Contributor = None, item: Item = None,
    verification: Verification = None, reputation: Reputation = None, time: Time = None,
    half_life: HalfLife = None, domain: Domain = None, derived_from: DerivedFrom = None,
    gold: GoldColumn = None, features: Features = None, ignore: Ignore = None, task: Task = "auto",
    recipe: RecipeName = "evidence", keep: Keep = None, profile: ProfileName = "default",
    score: Score = "krum", test: Test = None, now: Now = None, r_min: RMin = 0.4, newcomer: Newcomer = 10,
    compare: Compare = True, seed: Seed = 0, out: Out = None, json: Json = False,
    format: Format = "auto", ledger: LedgerUrl = None, keys: Keys = None, source: Accounts = None,
    track_domain: TrackDomain = "default", policy: PolicyFile = None, known: KnownColumn = None,
    predictions: Predictions = None, embeddings: Embeddings = None, key: Key = None, image: Image = None,
    text: Text = None, embed: EmbedBy = None, cache: Cache = None, device: Device = "auto",
    engine: EngineName = None, address: Address = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Decide how far each row of a table can be trusted, and say why."""
    if engine is not None or holds_parquet(data):
        request = request_of(
            label, contributor, item, verification, reputation, time, half_life, domain, derived_from,
            gold, features, ignore, task, recipe, keep, profile, score, now, r_min, newcomer, False, seed,
            known, predictions, embeddings, key,
        )  # fmt: skip
        _audit_slices(data, request, engine, address, out, json, quiet)
        return
    # What is wrong with the file is said before the heavy imports.
    given = {"label": label, "contributor": contributor, "item": item, "time": time}
    found = read(data, format, given, Place(ledger, keys, source, track_domain, policy))
    request = request_of(
        label, contributor, item, verification, reputation, time, half_life, domain, derived_from,
        gold, features, ignore, task, recipe, keep, profile, score, now, r_min, newcomer, compare, seed,
        known, predictions, embeddings, key,
    )  # fmt: skip
    from anml.app.media import Media, audit_media
    from anml.app.output import check_folder, write_run
    from anml.surfaces.progress import progress_shown
    from anml.surfaces.report import write_report
    from anml.surfaces.tables import first_rows

    if out is not None:
        check_folder(out)
    request = fit(request, found)
    media = Media(image, text, embed, cache, folder_of(data), device)
    with progress_shown(**_patience(quiet or json)) as progress:
        result, shown = audit_media(found.source.table, request, media, test=test, progress=progress)
    result = finish(found)(shown.of(result, first_rows(result)))
    files = [] if out is None else write_run(out, result, "audit", lambda draft: write_report(result, draft))
    _show(result, "audit", out, files, json)


def train(
    data: Data, label: Label = None, contributor: Contributor = None, item: Item = None,
    verification: Verification = None, reputation: Reputation = None, time: Time = None,
    half_life: HalfLife = None, domain: Domain = None, derived_from: DerivedFrom = None,
    gold: GoldColumn = None, features: Features = None, ignore: Ignore = None, task: Task = "auto",
    recipe: RecipeName = "evidence", keep: Keep = None, profile: ProfileName = "default",
    score: Score = "krum", test: Test = None, now: Now = None, r_min: RMin = 0.4, newcomer: Newcomer = 10,
    compare: Compare = True, seed: Seed = 0, json: Json = False,
    format: Format = "auto", ledger: LedgerUrl = None, keys: Keys = None, source: Accounts = None,
    track_domain: TrackDomain = "default", policy: PolicyFile = None, known: KnownColumn = None,
    predictions: Predictions = None, embeddings: Embeddings = None, key: Key = None, quiet: Quiet = False,
    model: Annotated[str, typer.Option(help="mlp, logistic (classes) or ridge (numbers).")] = "mlp",
    out: Annotated[Path, typer.Option(help="Folder for the model, report and files.")] = Path("anml-run"),
) -> None:  # fmt: skip
    """Audit a table, then train a model on what was kept."""
    # What is wrong with the file is said before the heavy imports.
    given = {"label": label, "contributor": contributor, "item": item, "time": time}
    found = read(data, format, given, Place(ledger, keys, source, track_domain, policy))
    request = request_of(
        label, contributor, item, verification, reputation, time, half_life, domain, derived_from,
        gold, features, ignore, task, recipe, keep, profile, score, now, r_min, newcomer, compare, seed,
        known, predictions, embeddings, key,
    )  # fmt: skip
    _train(found.source.table, fit(request, found), model, test, out, json, quiet, finish(found))


def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a run of `anml train`.", show_default=False)],
    data: Table,
    out: Annotated[
        Path | None, typer.Option(help="File to write, .csv or .parquet; default: print CSV.")
    ] = None,
) -> None:
    """Predict the rows of a table with a trained model."""
    from anml.app.output import write_frame
    from anml.app.spreadsheets import safe_for_spreadsheets
    from anml.app.train import predict_table

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError(f"the output must end in .csv or .parquet, got {out.name!r}")
    frame = predict_table(run, data)
    if out is None:
        print(safe_for_spreadsheets(frame).write_csv(), end="")
    else:
        write_frame(frame, out)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the tables, the run and the report.")] = Path(
        "anml-demo"
    ),
    seed: Seed = 0,
    images: Annotated[bool, typer.Option("--images", help="Pictures that the program draws.")] = False,
    json: Json = False,
) -> None:
    """Train on handwritten digits labelled by twelve made-up contributors, some of them bad."""
    from anml.app.demo import demo_tables
    from anml.app.output import RECORD, check_folder, removed_on_error, write_frame

    run, data, test = out / "run", out / "contributed.csv", out / "test.csv"
    check_folder(out, f"run/{RECORD}")
    if images:
        _demo_images(out, data, run, seed, json)
        return
    request = request_of(time="labeled_at", domain="science", seed=seed)
    contributed, right = demo_tables(seed)
    out.mkdir(parents=True, exist_ok=True)
    if not json:
        print(f"anml train {data} --time labeled_at --domain science --test {test} --out {run}\n")
    with removed_on_error(data, test):
        write_frame(contributed, data)
        write_frame(right, test)
        _train(data, request, "mlp", test, run, json, not sys.stderr.isatty())


def _audit_slices(
    data: Path, request: "Request", engine: str | None, address: str | None, out: Path | None, json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    from anml.app.slices import audit_in_slices
    from anml.surfaces.progress import progress_shown
    from anml.surfaces.report import write_report

    if out is None:
        raise InputError("with an engine, or a folder of Parquet files, the output needs a folder: --out DIR")
    with progress_shown(**_patience(quiet or json)) as progress:
        result = audit_in_slices(data, request, engine or "local", address, out, progress, write_report)
    _show(result, "audit", out, ["samples/", "contributors.csv", "report.html", "run.json"], json)


def _demo_images(out: Path, data: Path, run: Path, seed: int, json: bool) -> None:
    from anml.app.demo_images import demo_pictures
    from anml.app.output import removed_on_error, write_frame

    out.mkdir(parents=True, exist_ok=True)
    if not json:
        print(f"anml audit {data} --no-compare --out {run}\n")
    with removed_on_error(data):
        write_frame(demo_pictures(out, seed)[0], data)
        audit(data, seed=seed, compare=False, out=run, json=json, quiet=not sys.stderr.isatty())


def _train(
    data: Any, request: "Request", model: str, test: Path | None, out: Path, json: bool, quiet: bool,
    complete: "Callable[[Audited], Audited]" = lambda result: result,
) -> None:  # fmt: skip
    from anml.app.output import check_folder, write_run
    from anml.app.train import train_table
    from anml.surfaces.progress import progress_shown
    from anml.surfaces.report import write_report

    check_folder(out)
    with progress_shown(**_patience(quiet or json)) as progress:
        trained = train_table(data, request, model=model, test=test, progress=progress)
    audited = complete(trained.audited)

    def extra(draft: Path) -> None:
        write_report(audited, draft)
        trained.save(draft / "model")

    files = write_run(out, audited, "train", extra)
    error = trained.test_error
    more = {"model": model, "test_error": None if error is None else error.to_dict()}
    _show(audited, "train", out, files, json, more)


def _patience(quiet: bool) -> dict[str, Any]:
    """A bar at once on a terminal; elsewhere lines, of what takes longer than people wait for."""
    return {"wanted": False if quiet else None, "bar_after": 0.0, "lines_after": 10.0}


def _show(
    result: Any,
    command: str,
    out: Path | None,
    files: list[str],
    json: bool,
    more: dict[str, Any] | None = None,
) -> None:
    from anml.app.output import as_json
    from anml.app.result import run_record
    from anml.surfaces.console import print_audit

    if json:
        record = run_record(result, command)
        contributors = result.contributors.to_dicts()
        print(as_json({**record, **(more or {}), "contributors": contributors, "out": out and str(out)}))
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
