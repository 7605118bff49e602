"""`anml trace`: the contributors behind a model's behaviour. Heavy imports happen inside the command."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.cli import options as given
from anml.cli.options import arg, opt
from anml.cli.text import columns
from anml.core.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from anml.attribution.tracing import Trace

MAX_ROWS = 30
RECORD = "check.json"


def trace(
    context: typer.Context,
    model: Annotated[str, arg("A Hugging Face folder, or module:function.", metavar="MODEL")],
    train: Annotated[Path, opt("Training rows: .jsonl, .csv, .tsv or .parquet.")],
    query: Annotated[Path, opt("Queries, as the training rows; a column prompt is not attributed.")],
    contributor: given.Contributor = None,
    out: Annotated[Path | None, opt("Folder for the result.")] = None,
    checkpoints: Annotated[Path | None, opt("Folder of checkpoints of the training.")] = None,
    text: Annotated[str | None, opt("Column with the text.")] = None,
    topic: Annotated[str | None, opt("Column with the topic of a query.")] = None,
    count: Annotated[str | None, opt("Column with the number or price of a query.")] = None,
    check: Annotated[int | None, opt("Retrainings of the self-check; 0 is none.")] = None,
    period: Annotated[
        str | None, opt("Write usage.json of a period.", metavar="FROM:TO")
    ] = None,
    amount: Annotated[float | None, opt("Amount of the period's usage.")] = None,
    currency: Annotated[str | None, opt("Currency of the amount.")] = None,
    seed: given.Seed = None,
) -> None:  # fmt: skip
    """Shares of contributors in a model's behaviour on queries."""
    from anml.core.extras import require_extra

    require_extra("torch", "torch", "anml trace")
    from anml.attribution.indexing import index
    from anml.attribution.sources import model_source, read_rows
    from anml.pipeline.write import as_json, check_folder
    from anml.report.progress import progress_shown

    output, days = context.obj, None if period is None else _days(period)
    if out is not None:
        check_folder(out, RECORD)
    rows, queries = read_rows(train, "training rows"), read_rows(query, "queries")
    contributor = contributor or "contributor"
    if contributor not in rows.columns:
        raise InputError(f"the training rows have no column {contributor!r}; name it with --contributor")
    source = model_source(model, rows, queries, text, checkpoints)
    with progress_shown(wanted=False if output.quiet or output.json else None) as progress:
        built = index(
            source.model, source.train, rows[contributor].cast(str).to_list(), loss=source.loss,
            checkpoints=source.checkpoints, retrain=source.retrain, check=check, random_state=seed or 0,
            progress=progress,
        )  # fmt: skip
        traced = built.trace(
            source.queries,
            topic=None if topic is None else _column(queries, topic).to_list(),
            count=None if count is None else _column(queries, count).to_list(),
        )
    if source.name:
        traced.about["model"] = source.name
    files = [] if out is None else write_folder(traced, out, source.texts, source.asked)
    if out is not None and days is not None:
        traced.usage(out / "usage.json", period=days, amount=amount, currency=currency)
        files.append("usage.json")
    if output.json:
        print(as_json({"check": traced.check, "contributors": traced.contributors.to_dicts()}))
        return
    _show(traced)
    print(
        "No files were written; --out DIR writes report.html and the tables."
        if out is None
        else f"Wrote {', '.join(sorted(files))} to {out}"
    )


def write_folder(
    traced: "Trace", folder: Path, texts: list[str] | None, asked: list[str] | None
) -> list[str]:
    """Write the tables, the check and the page of an attribution."""
    from anml.pipeline.write import as_json, write_frame

    folder.mkdir(parents=True, exist_ok=True)
    write_frame(traced.contributors, folder / "contributors.csv")
    write_frame(traced.rows, folder / "rows.csv")
    traced.queries.write_parquet(folder / "queries.parquet")
    traced.report(folder / "report.html", texts=texts, asked=asked)
    (folder / RECORD).write_text(as_json(traced.check) + "\n", encoding="utf-8")
    return ["check.json", "contributors.csv", "queries.parquet", "report.html", "rows.csv"]


def _days(text: str) -> tuple[str, str]:
    start, colon, end = text.partition(":")
    if not colon:
        raise InputError(f"--period must be FROM:TO, such as 2026-01-01:2026-01-31, got {text!r}")
    return start, end


def _column(frame: "pl.DataFrame", name: str) -> Any:
    if name not in frame.columns:
        raise InputError(f"the queries have no column {name!r}; they have {', '.join(frame.columns)}")
    return frame[name]


def _show(traced: "Trace") -> None:
    from anml.attribution.page import check_sentences

    for sentence in check_sentences(traced.check):
        print(sentence)
    print()
    shown = traced.contributors.head(MAX_ROWS).to_dicts()
    rows = [
        (
            row["contributor"], f"{row['share']:.1%}", f"{row['low']:.1%} to {row['high']:.1%}",
            "yes" if row["certain"] else "no", f"{row['influence']:.3g}", f"{row['similarity']:.1%}",
            f"{row['rows']:,}",
        )
        for row in shown
    ]  # fmt: skip
    headings = ("contributor", "share", "95% interval", "certain", "influence", "similarity", "rows")
    print("\n".join(columns(headings, rows)))
    if traced.contributors.height > MAX_ROWS:
        print(f"... and {traced.contributors.height - MAX_ROWS} more")
    print()
    sys.stdout.flush()
