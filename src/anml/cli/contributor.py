"""`anml contributor`: the page of one contributor, without other names. Heavy imports are inside."""

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
    from anml.pipeline.person import ContributorReport


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
    from anml.pipeline.person import contributor_report

    found = contributor_report(run, name)
    if out is not None:
        write_file(out, render_person(found))
    if context.obj.json:
        tables = {name: getattr(found, name).to_dicts() for name in found._fields if name != "summary"}
        print(as_json({**found.summary, **tables, "out": out and str(out)}))
        return
    for sentence in sentences(found):
        print(sanitise(sentence))
    if not found.by_label.is_empty():
        rows = [tuple(each.values()) for each in _by_label(found)]
        print("\n".join(columns(("suggested label", "rows", "accuracy", "peer accuracy"), rows)))
    if out is not None:
        print(f"Page: {out}")


def sentences(found: "ContributorReport") -> list[str]:
    """The accuracy of the contributor and of the others, frequent errors, and the next step."""
    from anml.report.verdict_text import describe_change

    about, name = found.summary, truncate(found.summary["contributor"], NAME_WIDTH)
    # A comparison is correct if it is not a random choice.
    what, right = ("comparison", "not random") if "discrimination" in about else ("label", "correct")
    said = [
        f"An estimated {format_percent(about['accuracy'])} ({format_percent(about['accuracy_low'])} to "
        f"{format_percent(about['accuracy_high'])}) of {pluralise(about['rows'], what)} by {name} are "
        f"{right}; peer accuracy on comparable rows is {format_percent(about['peer_accuracy'])}."
    ]
    said += [f"{name} {notes}."] if (notes := about.get("notes")) else []
    well = found.by_label.filter(found.by_label["accuracy"] >= found.by_label["peer_accuracy"])["label"]
    if len(well) and about["verdict"] not in FLAGGED:
        labels = [f"“{truncate(label, NAME_WIDTH)}”" for label in well.head(MAX_CONFUSIONS)]
        said.append(f"At least peer accuracy on {join_names(labels)}.")
    if about.get("accuracy_after") is not None:
        said.append(f"{name} {describe_change(about)}")
    for suggested, given, rows in found.confusions.filter(found.confusions["rows"] > 1).head(1).iter_rows():
        said.append(f"Most frequent error: “{given}” instead of “{suggested}” ({pluralise(rows, 'row')}).")
    if about["verdict"] == RELIABLE:
        return [*said, "No action is needed."]
    if about["verdict"] in (*FLAGGED, LESS_RELIABLE):
        return [*said, "Next step: review the examples together, and object to those that are correct."]
    return [
        *said,
        "Next step: more labels of items that other contributors label too; the evidence is not enough.",
    ]


def render_person(found: "ContributorReport") -> str:
    """One self-contained page."""
    from anml.report.html import render_template

    return render_template(
        "person.html.j2",
        name=truncate(found.summary["contributor"], NAME_WIDTH),
        verdict=found.summary["verdict"],
        said=sentences(found),
        by_label=_by_label(found),
        by_week=found.by_week.to_dicts(),
        confusions=found.confusions.head(MAX_CONFUSIONS).to_dicts(),
        examples=found.examples.to_dicts(),
    )


def _by_label(found: "ContributorReport") -> list[dict[str, str]]:
    return [
        {"label": truncate(row["label"], NAME_WIDTH), "rows": f"{row['rows']:,}",
         "accuracy": f"{row['accuracy']:.0%} ({row['accuracy_low']:.0%} to {row['accuracy_high']:.0%})",
         "peer_accuracy": "–" if row["peer_accuracy"] is None else f"{row['peer_accuracy']:.0%}"}
        for row in found.by_label.to_dicts()
    ]  # fmt: skip
