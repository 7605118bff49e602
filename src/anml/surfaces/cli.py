"""The command line: parse, call the use case, print. Heavy imports happen inside the commands."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.core.errors import AnmlError, InputError
from anml.surfaces import (
    datasette_cli,
    dispute_cli,
    import_cli,
    keys_cli,
    ledger_cli,
    reputation_cli,
    settle_cli,
    statement_cli,
)
from anml.surfaces.lab_cli import lab
from anml.surfaces.ledger_common import Keys, LedgerUrl, PolicyFile
from anml.surfaces.sources import Accounts, Format, Place, TrackDomain, finish, fit, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from anml.app.audit import Audited, Request

app = typer.Typer(
    name="anml",
    help="Decide how far each contributed sample can be trusted, train on that, and say why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(lab)

Data = Annotated[
    Path,
    typer.Argument(
        help="A table (.csv, .csv.gz, .tsv, .parquet), or an export of a labelling tool.", show_default=False
    ),
]
Table = Annotated[Path, typer.Argument(help="A table: .csv, .csv.gz, .tsv or .parquet.", show_default=False)]
Label = Annotated[
    str | None, typer.Option(help="Column with the labels; guessed from its name when not given.")
]
Contributor = Annotated[
    str | None, typer.Option(help="Column with who contributed each row; guessed likewise.")
]
Item = Annotated[str | None, typer.Option(help="Column that says which rows are labels of the same thing.")]
Verification = Annotated[
    str | None, typer.Option(help="Column with verification levels, or numbers in [0, 1].")
]
Reputation = Annotated[str | None, typer.Option(help="Column with reputation levels, or numbers in [0, 1].")]
Time = Annotated[str | None, typer.Option(help="Column with the time of each contribution.")]
HalfLife = Annotated[
    str | None,
    typer.Option(help="Time in which freshness halves, such as 90d; 7y when only --time is given."),
]
Domain = Annotated[
    str | None, typer.Option(help="Freshness by domain: mathematics, science, machine-learning or news.")
]
DerivedFrom = Annotated[
    str | None, typer.Option(help="Column with the items a row was derived from, separated by ';'.")
]
GoldColumn = Annotated[
    str | None,
    typer.Option("--gold", help="Column with right labels, or true for labels known right; only checks."),
]
Features = Annotated[str | None, typer.Option(help="Columns to use as features, separated by commas.")]
Ignore = Annotated[str | None, typer.Option(help="Columns not to use as features, separated by commas.")]
Task = Annotated[str, typer.Option(help="classification, regression or auto.")]
RecipeName = Annotated[
    str,
    typer.Option("--recipe", help="evidence, guarded, adaptive, softmax, multiplicative, krum or uniform."),
]
Keep = Annotated[float | None, typer.Option(help="Share of rows to keep, overriding the recipe's.")]
ProfileName = Annotated[
    str, typer.Option("--profile", help="How q is scored: default (early-stopped) or paper.")
]
Score = Annotated[str, typer.Option(help="What q is made of: krum, norm, loss or confidence.")]
Test = Annotated[Path | None, typer.Option(help="A table with right labels to measure on.")]
Now = Annotated[
    str | None, typer.Option(help="Moment ages count from, such as 2026-01-31; default: the newest.")
]
RMin = Annotated[float, typer.Option(help="Floor on reputation for newcomers, in [0, 1].")]
Newcomer = Annotated[int, typer.Option(help="For how many first rows of a contributor the floor holds.")]
Compare = Annotated[bool, typer.Option("--compare/--no-compare", help="Measure what the weights change.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Out = Annotated[
    Path | None, typer.Option(help="Folder for the report and the files; nothing is written without.")
]


@app.command()
def audit(
    data: Data, label: Label = None, contributor: Contributor = None, item: Item = None,
    verification: Verification = None, reputation: Reputation = None, time: Time = None,
    half_life: HalfLife = None, domain: Domain = None, derived_from: DerivedFrom = None,
    gold: GoldColumn = None, features: Features = None, ignore: Ignore = None, task: Task = "auto",
    recipe: RecipeName = "evidence", keep: Keep = None, profile: ProfileName = "default",
    score: Score = "krum", test: Test = None, now: Now = None, r_min: RMin = 0.4, newcomer: Newcomer = 10,
    compare: Compare = True, seed: Seed = 0, out: Out = None, json: Json = False,
    format: Format = "auto", ledger: LedgerUrl = None, keys: Keys = None, source: Accounts = None,
    track_domain: TrackDomain = "default", policy: PolicyFile = None,
) -> None:  # fmt: skip
    """Decide how far each row of a table can be trusted, and say why."""
    # What is wrong with the file is said before the heavy imports.
    given = {"label": label, "contributor": contributor, "item": item, "time": time}
    found = read(data, format, given, Place(ledger, keys, source, track_domain, policy))
    request = _request(
        label, contributor, item, verification, reputation, time, half_life, domain, derived_from,
        gold, features, ignore, task, recipe, keep, profile, score, now, r_min, newcomer, compare, seed,
    )  # fmt: skip
    from anml.app.audit import audit_table
    from anml.app.output import check_folder, write_run
    from anml.surfaces.console import progress_bar
    from anml.surfaces.report import write_report

    if out is not None:
        check_folder(out)
    request = fit(request, found)
    with progress_bar(not json) as progress:
        result, _, _ = audit_table(found.source.table, request, test=test, progress=progress)
    result = finish(found)(result)
    files = [] if out is None else write_run(out, result, "audit", lambda draft: write_report(result, draft))
    _show(result, "audit", out, files, json)


@app.command()
def train(
    data: Data, label: Label = None, contributor: Contributor = None, item: Item = None,
    verification: Verification = None, reputation: Reputation = None, time: Time = None,
    half_life: HalfLife = None, domain: Domain = None, derived_from: DerivedFrom = None,
    gold: GoldColumn = None, features: Features = None, ignore: Ignore = None, task: Task = "auto",
    recipe: RecipeName = "evidence", keep: Keep = None, profile: ProfileName = "default",
    score: Score = "krum", test: Test = None, now: Now = None, r_min: RMin = 0.4, newcomer: Newcomer = 10,
    compare: Compare = True, seed: Seed = 0, json: Json = False,
    format: Format = "auto", ledger: LedgerUrl = None, keys: Keys = None, source: Accounts = None,
    track_domain: TrackDomain = "default", policy: PolicyFile = None,
    model: Annotated[str, typer.Option(help="mlp, logistic (classes) or ridge (numbers).")] = "mlp",
    out: Annotated[Path, typer.Option(help="Folder for the model, report and files.")] = Path("anml-run"),
) -> None:  # fmt: skip
    """Audit a table, then train a model on what was kept."""
    # What is wrong with the file is said before the heavy imports.
    given = {"label": label, "contributor": contributor, "item": item, "time": time}
    found = read(data, format, given, Place(ledger, keys, source, track_domain, policy))
    request = _request(
        label, contributor, item, verification, reputation, time, half_life, domain, derived_from,
        gold, features, ignore, task, recipe, keep, profile, score, now, r_min, newcomer, compare, seed,
    )  # fmt: skip
    _train(found.source.table, fit(request, found), model, test, out, json, finish(found))


@app.command()
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


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the tables, the run and the report.")] = Path(
        "anml-demo"
    ),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train on handwritten digits labelled by twelve made-up contributors, some of them bad."""
    from anml.app.demo import demo_tables
    from anml.app.output import RECORD, check_folder, removed_on_error, write_frame

    run, data, test = out / "run", out / "contributed.csv", out / "test.csv"
    check_folder(out, f"run/{RECORD}")
    request = _request(time="labeled_at", domain="science", seed=seed)
    contributed, right = demo_tables(seed)
    out.mkdir(parents=True, exist_ok=True)
    if not json:
        print(f"anml train {data} --time labeled_at --domain science --test {test} --out {run}\n")
    with removed_on_error(data, test):
        write_frame(contributed, data)
        write_frame(right, test)
        _train(data, request, "mlp", test, run, json)


def _train(
    data: Any, request: "Request", model: str, test: Path | None, out: Path, json: bool,
    complete: "Callable[[Audited], Audited]" = lambda result: result,
) -> None:  # fmt: skip
    from anml.app.output import check_folder, write_run
    from anml.app.train import train_table
    from anml.surfaces.console import progress_bar
    from anml.surfaces.report import write_report

    check_folder(out)
    with progress_bar(not json) as progress:
        trained = train_table(data, request, model=model, test=test, progress=progress)
    audited = complete(trained.audited)

    def extra(draft: Path) -> None:
        write_report(audited, draft)
        trained.save(draft / "model")

    files = write_run(out, audited, "train", extra)
    error = trained.test_error
    more = {"model": model, "test_error": None if error is None else error.to_dict()}
    _show(audited, "train", out, files, json, more)


def _show(
    result: Any,
    command: str,
    out: Path | None,
    files: list[str],
    json: bool,
    more: dict[str, Any] | None = None,
) -> None:
    from anml.app.audit import run_record
    from anml.app.output import as_json
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


def _request(
    label: str | None = None, contributor: str | None = None, item: str | None = None,
    verification: str | None = None, reputation: str | None = None, time: str | None = None,
    half_life: str | None = None, domain: str | None = None, derived_from: str | None = None,
    gold: str | None = None, features: str | None = None, ignore: str | None = None,
    task: str = "auto", recipe: str = "evidence", keep: float | None = None, profile: str = "default",
    score: str = "krum", now: str | None = None, r_min: float = 0.4, newcomer: int = 10,
    compare: bool = True, seed: int = 0,
) -> "Request":  # fmt: skip
    """Turn options into a request; names are checked before any file is read."""
    from dataclasses import replace
    from datetime import datetime

    from anml.app.audit import Request
    from anml.gradients.scoring import profile_of

    try:
        moment = None if now is None else datetime.fromisoformat(now)
    except ValueError:
        raise InputError(f"--now must be a date or time such as 2026-01-31, got {now!r}") from None
    request = Request(
        label=label, contributor=contributor, item=item, verification=verification, reputation=reputation,
        time=time, derived_from=derived_from, gold=gold, features=_listed(features),
        ignore=_listed(ignore) or (), task=task, recipe=recipe, keep=keep,
        profile=replace(profile_of(profile), method=score), half_life=half_life, domain=domain,
        now=moment, r_min=r_min, newcomer=newcomer, seed=seed, compare=compare,
    )  # fmt: skip
    request.policy()
    return request


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


ledger_cli.app.command("import")(import_cli.import_)
ledger_cli.app.command()(datasette_cli.datasette)
ledger_cli.app.add_typer(keys_cli.app, name="keys")
app.add_typer(ledger_cli.app, name="ledger")
app.add_typer(reputation_cli.app, name="reputation")
app.command()(settle_cli.settle)
app.add_typer(dispute_cli.disputes, name="dispute")
app.command()(statement_cli.statement)
app.command()(statement_cli.payout)


def main() -> None:
    """Run the command line; what the user can mend is one sentence and exit code 2."""
    try:
        app()
    except AnmlError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except OSError as error:
        # A full disk, a folder without rights: no fault of the program, and no door saw it coming.
        place = "" if error.filename is None else f": {error.filename}"
        print(f"error: {error.strerror or error}{place}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
