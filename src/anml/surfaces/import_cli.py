"""`anml ledger import`: take an export in, and give its rows v and r."""

from pathlib import Path
from typing import Annotated

from anml.app import ledger
from anml.app.files import check_place
from anml.core.errors import InputError
from anml.surfaces.audit_options import Format
from anml.surfaces.ledger_common import Desk, at_desk, warn
from anml.surfaces.options import arg, opt


@at_desk("by", "domain", "policy", "dry_run")
def import_(
    at: Desk,
    file: Annotated[Path, arg("The export to read.")],
    format: Format = "auto",
    out: Annotated[Path | None, opt("Write the rows with v and r here (.parquet or .csv).")] = None,
    source: Annotated[str | None, opt("Name of the place the accounts belong to.")] = None,
    label: Annotated[str | None, opt("Column or question with the label.")] = None,
    contributor: Annotated[str | None, opt("Column with who contributed.")] = None,
    item: Annotated[str | None, opt("Column with the thing labelled.")] = None,
    time: Annotated[str | None, opt("Column or metadata field with the time.")] = None,
    doi: Annotated[str | None, opt("Column with DOIs.")] = None,
    retractions: Annotated[Path | None, opt("Retraction Watch CSV, matched by DOI.")] = None,
    agreement: Annotated[bool, opt("Agreement of two known others counts.", "--agreement")] = False,
    names: Annotated[bool, opt("Leave account names in the rows.", "--names")] = False,
) -> None:
    """Take an export in, and give its rows v and r. Contributors, reviews and gold answers go on record."""
    from anml.app.audit.output import write_frame

    if out is not None:
        # What cannot be written is said before anything is recorded.
        if out.suffix not in (".parquet", ".csv"):
            raise InputError(f"the rows go to a .parquet or .csv file, got {out.name!r}")
        check_place(out)
    chosen = {"label": label, "contributor": contributor, "item": item, "time": time, "doi": doi}
    request = ledger.imports.Import(
        file, format, source, at.domain, chosen, retractions, agreement, at.read_policy(), names, at.by
    )
    with at.opened() as book:
        found = ledger.imports.import_file(book, request, dry_run=at.dry_run)
    warn(found.warnings)
    out = None if at.dry_run else out
    if out is not None:
        write_frame(found.rows, out)
    value = {
        "batch": found.batch, "format": found.format, "source": found.source, "rows": found.rows.height,
        "contributors": found.contributors, "new_evidence": found.evidence, "new_scores": found.scores,
        "warnings": found.warnings, "out": None if out is None else str(out),
    }  # fmt: skip
    lines = [
        f"{found.rows.height} rows by {len(found.contributors)} contributors; {file.name} was read as "
        f"{found.format}.",
        f"{found.evidence} new pieces of evidence, {found.scores} new scores. Batch {found.batch}",
    ]
    at.show(value, lines + ([f"Rows with v and r: {out}"] if out else []))
