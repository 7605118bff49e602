"""`anml ledger import`: take an export in, and give its rows v and r."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anml.app.files import check_place, write_file
from anml.core.errors import InputError
from anml.surfaces.audit_options import Format
from anml.surfaces.ledger_common import Desk, at_desk, warn

if TYPE_CHECKING:
    import polars as pl

    from anml.app.ledger.imports import Import, Imported
    from anml.app.ledger.ledgers import Ledger


@at_desk("by", "domain", "policy", "dry_run")
def import_(
    at: Desk,
    file: Annotated[Path, typer.Argument(help="The export to read.", show_default=False)],
    format: Format = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Write the rows with v and r here (.parquet or .csv).")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Name of the place the accounts belong to.")] = None,
    label: Annotated[str | None, typer.Option(help="Column or question with the label.")] = None,
    contributor: Annotated[str | None, typer.Option(help="Column with who contributed.")] = None,
    item: Annotated[str | None, typer.Option(help="Column with the thing labelled.")] = None,
    time: Annotated[str | None, typer.Option(help="Column or metadata field with the time.")] = None,
    doi: Annotated[str | None, typer.Option(help="Column with DOIs.")] = None,
    retractions: Annotated[Path | None, typer.Option(help="Retraction Watch CSV, matched by DOI.")] = None,
    agreement: Annotated[
        bool,
        typer.Option("--agreement", help="Two others who agree count as reproduction; known people only."),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a page that links every v to its evidence (.html).")
    ] = None,
    names: Annotated[
        bool, typer.Option("--names", help="Leave account names in the rows; settle with --source then.")
    ] = False,
) -> None:
    """Take an export in, and give its rows v and r. Contributors, reviews and gold answers go on record."""
    from anml.app.ledger.imports import Import, import_file

    _check_places(out, report)
    chosen = {"label": label, "contributor": contributor, "item": item, "time": time, "doi": doi}
    request = Import(
        file, format, source, at.domain, chosen, retractions, agreement, at.read_policy(), names, at.by
    )
    with at.opened() as book:
        found = import_file(book, request, dry_run=at.dry_run)
        if at.dry_run:
            out = report = None
        if report is not None:
            _write_evidence(book, found, request, report)
    warn(found.warnings)
    if out is not None:
        _write_rows(found.rows, out)
    _show(at, found, file.name, out, report)


def _check_places(out: Path | None, report: Path | None) -> None:
    """What cannot be written is said before anything is recorded."""
    if out is not None and out.suffix not in (".parquet", ".csv"):
        raise InputError(f"the rows go to a .parquet or .csv file, got {out.name!r}")
    for path in (out, report):
        if path is not None:
            check_place(path)


def _write_evidence(book: "Ledger", found: "Imported", request: "Import", report: Path) -> None:
    from anml.app.ledger.vouched import vouched_import
    from anml.surfaces.evidence_page import evidence_page

    vouched = vouched_import(book, found, request.domain, request.policy)
    write_file(report, evidence_page(vouched, f"batch {found.batch[:16]}"))


def _write_rows(rows: "pl.DataFrame", out: Path) -> None:
    from anml.app.spreadsheets import safe_for_spreadsheets

    data = io.BytesIO()
    if out.suffix == ".parquet":
        rows.write_parquet(data)
    else:
        safe_for_spreadsheets(rows).write_csv(data)
    write_file(out, data.getvalue())


def _show(at: Desk, found: "Imported", name: str, out: Path | None, report: Path | None) -> None:
    value = {
        "batch": found.batch, "format": found.format, "source": found.source, "rows": found.rows.height,
        "contributors": found.contributors, "new_evidence": found.evidence, "new_scores": found.scores,
        "warnings": found.warnings, "out": None if out is None else str(out),
    }  # fmt: skip
    lines = [
        f"{found.rows.height} rows by {len(found.contributors)} contributors; {name} was read as "
        f"{found.format}.",
        f"{found.evidence} new pieces of evidence, {found.scores} new scores. Batch {found.batch}",
    ]
    lines += [f"Rows with v and r: {out}"] if out else []
    at.show(value, lines + ([f"Evidence report: {report}"] if report else []))
