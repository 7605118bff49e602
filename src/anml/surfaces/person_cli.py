"""`anml person`: what a run says of one contributor, to show to them. Heavy imports are inside."""

from pathlib import Path
from typing import Annotated

from anml.app import people
from anml.app.files import check_place, write_file
from anml.core.errors import InputError
from anml.core.people.words import ACCUSED, LESS, RELIABLE
from anml.core.words import counted, listed
from anml.surfaces.audit_options import Json
from anml.surfaces.ledger_common import columns
from anml.surfaces.names import percent, printable, shortened
from anml.surfaces.options import RunFolder, arg, opt

NAME, MOST_CONFUSED, PAGES = 40, 5, (".html", ".htm")


def person(
    run: RunFolder,
    who: Annotated[str, arg("The contributor.", metavar="WHO")],
    out: Annotated[Path | None, opt("Write one page to show to them (.html).")] = None,
    json: Json = False,
) -> None:
    """Show what a run says of one contributor. Nobody else is named."""
    from anml.app.audit.output import as_json

    if out is not None:
        check_place(out)
        if out.suffix.lower() not in PAGES:
            raise InputError(f"{out.name} would be no {out.suffix or 'page'} file: name it .html")
    found = people.person.person_of(run, who)
    if out is not None:
        write_file(out, render_person(found))
    if json:
        tables = {name: getattr(found, name).to_dicts() for name in found._fields if name != "about"}
        print(as_json({**found.about, **tables, "out": out and str(out)}))
        return
    for sentence in sentences(found):
        print(printable(sentence))
    if not found.classes.is_empty():
        rows = [tuple(each.values()) for each in _classes(found)]
        print("\n".join(columns(("likely label", "rows", "right", "others"), rows)))
    if out is not None:
        print(f"Page: {out}")


def sentences(found: "people.person.Portrait") -> list[str]:
    """How good the labels are beside those of others, what is confused, and what to do next."""
    from anml.surfaces.accused import change_of

    about, name = found.about, shortened(found.about["contributor"], NAME)
    # Of comparisons, what counts is that somebody looked.
    what, right = ("choice", "were made by looking") if "discrimination" in about else ("label", "are right")
    said = [
        f"About {percent(about['quality'])} ({percent(about['quality_low'])} to "
        f"{percent(about['quality_high'])}) of {counted(about['rows'], what)} by {name} {right}; others get "
        f"{percent(about['others'])} on comparable rows."
    ]
    said += [f"{name}: {habits}."] if (habits := about.get("habits")) else []
    well = found.classes.filter(found.classes["right"] >= found.classes["others"])["label"]
    if len(well) and about["verdict"] not in ACCUSED:
        labels = [f"“{shortened(label, NAME)}”" for label in well.head(MOST_CONFUSED)]
        said.append(f"As good as the others, or better, on {listed(labels)}.")
    if about.get("quality_since") is not None:
        said.append(f"{name} {change_of(about)}")
    for right, given, rows in found.confused.filter(found.confused["rows"] > 1).head(1).iter_rows():
        said.append(f"Most often “{given}” was given where “{right}” is likelier ({rows:,} times).")
    if about["verdict"] == RELIABLE:
        return [*said, "Nothing needs to change."]
    if about["verdict"] in (*ACCUSED, LESS):
        return [*said, "Next: go through the examples together, and say which of them are right after all."]
    return [*said, "Next: more labels of items that others label too; so far there is too little to go by."]


def render_person(found: "people.person.Portrait") -> str:
    """One page with everything in it, that asks the network for nothing."""
    from anml.surfaces.report import rendered

    return rendered(
        "person.html.j2", name=shortened(found.about["contributor"], NAME), verdict=found.about["verdict"],
        said=sentences(found), classes=_classes(found), weeks=found.weeks.to_dicts(),
        confused=found.confused.head(MOST_CONFUSED).to_dicts(), examples=found.examples.to_dicts(),
    )  # fmt: skip


def _classes(found: "people.person.Portrait") -> list[dict[str, str]]:
    return [
        {"label": shortened(row["label"], NAME), "rows": f"{row['rows']:,}",
         "right": f"{row['right']:.0%} ({row['low']:.0%} to {row['high']:.0%})",
         "others": "–" if row["others"] is None else f"{row['others']:.0%}"}
        for row in found.classes.to_dicts()
    ]  # fmt: skip
