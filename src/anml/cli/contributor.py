"""`anml contributor`: the report on one contributor. Heavy imports are inside the command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anml.annotators.words import FLAGGED, LESS_RELIABLE, RELIABLE
from anml.cli.options import RunFolder, arg, opt
from anml.cli.text import columns
from anml.core.errors import InputError
from anml.core.files import check_writable, write_file
from anml.core.text import join_names, pluralise
from anml.report.printable import format_percent, sanitise, truncate

NAME_WIDTH, MAX_CONFUSIONS, PAGES = 40, 5, (".html", ".htm")


if TYPE_CHECKING:
    from anml.pipeline.contributor_report import ContributorReport


def contributor(
    context: typer.Context,
    run: RunFolder,
    name: Annotated[str, arg("The contributor.", metavar="NAME")],
    out: Annotated[Path | None, opt("Write one page for the contributor (.html).")] = None,
) -> None:
    """Show one contributor, without naming others."""
    from anml.pipeline.write import as_json

    if out is not None:
        check_writable(out)
        if out.suffix.lower() not in PAGES:
            raise InputError(f"the output must end in .html, got {out.name!r}")
    from anml.pipeline.contributor_report import contributor_report

    report = contributor_report(run, name)
    if out is not None:
        write_file(out, render_person(report))
    if context.obj.json:
        tables = {name: getattr(report, name).to_dicts() for name in report._fields if name != "summary"}
        print(as_json({**report.summary, **tables, "out": out and str(out)}))
        return
    for sentence in sentences(report):
        print(sanitise(sentence))
    if not report.by_label.is_empty():
        rows = [tuple(each.values()) for each in _by_label(report)]
        print("\n".join(columns(("suggested label", "rows", "accuracy", "peer accuracy"), rows)))
    if out is not None:
        print(f"Page: {out}")


def sentences(report: "ContributorReport", page: bool = False) -> list[str]:
    """Accuracy, most frequent error and next step; a page addresses the contributor."""
    from anml.report.verdict_text import describe_change

    row, name = report.summary, truncate(report.summary["contributor"], NAME_WIDTH)
    # A comparison is correct if it is not a random choice.
    what, right = ("comparison", "not random") if "discrimination" in row else ("label", "correct")
    lines = [
        f"An estimated {format_percent(row['accuracy'])} ({format_percent(row['accuracy_low'])} to "
        f"{format_percent(row['accuracy_high'])}) of {pluralise(row['rows'], what)} by {name} are "
        f"{right}; peer accuracy on comparable rows is {format_percent(row['peer_accuracy'])}."
    ]
    lines += [f"{name} {notes}."] if (notes := row.get("notes")) else []
    well = report.by_label.filter(report.by_label["accuracy"] >= report.by_label["peer_accuracy"])["label"]
    if len(well) and row["verdict"] not in FLAGGED:
        labels = [f"“{truncate(label, NAME_WIDTH)}”" for label in well.head(MAX_CONFUSIONS)]
        lines.append(f"At least peer accuracy on {join_names(labels)}.")
    if row.get("accuracy_after") is not None:
        lines.append(f"{name} {describe_change(row)}")
    for suggested, given, rows in report.confusions.filter(report.confusions["rows"] > 1).head(1).iter_rows():
        lines.append(f"Most frequent error: “{given}” instead of “{suggested}” ({pluralise(rows, 'row')}).")
    if row["verdict"] == RELIABLE:
        return [*lines, "No action is needed."]
    if row["verdict"] in (*FLAGGED, LESS_RELIABLE):
        how = "object to examples that are correct" if page else f"discuss the examples with {name}"
        return [*lines, f"Next step: {how}."]
    return [*lines, "Next step: label more items that other contributors label too."]


def render_person(report: "ContributorReport") -> str:
    """Return a self-contained page."""
    from anml.report.html import render_template

    return render_template(
        "person.html.j2",
        name=truncate(report.summary["contributor"], NAME_WIDTH),
        verdict=report.summary["verdict"],
        said=sentences(report, page=True),
        by_label=_by_label(report),
        by_week=report.by_week.to_dicts(),
        confusions=report.confusions.head(MAX_CONFUSIONS).to_dicts(),
        examples=report.examples.to_dicts(),
    )


def _by_label(report: "ContributorReport") -> list[dict[str, str]]:
    return [
        {"label": truncate(row["label"], NAME_WIDTH), "rows": f"{row['rows']:,}",
         "accuracy": f"{row['accuracy']:.0%} ({row['accuracy_low']:.0%} to {row['accuracy_high']:.0%})",
         "peer_accuracy": "–" if row["peer_accuracy"] is None else f"{row['peer_accuracy']:.0%}"}
        for row in report.by_label.to_dicts()
    ]  # fmt: skip
