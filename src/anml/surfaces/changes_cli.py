"""`anml changes`: two runs beside each other, as tables and one page. Heavy imports are inside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from anml.core.words import counted, listed
from anml.surfaces.audit_options import Json
from anml.surfaces.ledger_common import columns
from anml.surfaces.names import printable, shortened
from anml.surfaces.options import arg, newest, opt

if TYPE_CHECKING:
    from anml.app.audit.changes import RunChanges

# Rows of each table on the page and in the terminal; the files have all.
MOST, NAME, MOST_NAMES = 50, 40, 5


def changes(
    before: Annotated[Path, arg("Folder of the earlier run.")],
    after: Annotated[Path, arg("Folder of the later run, or latest.", callback=newest)],
    out: Annotated[Path | None, opt("Folder for people.csv, rows.csv and changes.html.")] = None,
    json: Json = False,
) -> None:
    """Compare two runs: people, rows, and what was mended."""
    from anml.app.audit.changes import changes as compare
    from anml.app.audit.output import as_json, check_folder, write_frame
    from anml.app.files import write_file

    if out is not None:
        check_folder(out, "changes.html")
    found = compare(before, after)
    if out is not None:
        from anml.surfaces.report import rendered

        write_frame(found.people, out / "people.csv")
        write_frame(found.rows, out / "rows.csv")
        page = rendered(
            "changes.html.j2", before=before.name, after=after.name, said=sentences(found),
            figures=figures_shown(found),
            people=found.people.head(MOST).to_dicts(), more_people=max(found.people.height - MOST, 0),
            rows=found.rows.head(MOST).to_dicts(), more_rows=max(found.rows.height - MOST, 0),
        )  # fmt: skip
        write_file(out / "changes.html", page)
    if json:
        figures = {name: list(pair) for name, pair in found.figures.items()}
        print(as_json({"figures": figures, "shared": found.shared, "mended": found.mended,
                       "people": found.people.to_dicts(), "moved": found.rows.height,
                       "out": out and str(out)}))  # fmt: skip
        return
    for sentence in sentences(found):
        print(printable(sentence))
    print("\n".join(columns(("", "before", "after"), figures_shown(found))))
    if out is not None:
        print(f"Report: {out / 'changes.html'}")


def sentences(found: "RunChanges") -> list[str]:
    """Who changed, which rows moved and what was mended, in sentences."""
    import polars as pl

    said, changed = [], found.people.filter(pl.col("changed").fill_null(False))
    figures = ("contributor", "quality_before", "quality_after")
    for verb, which in (("worse", pl.col("difference") < 0), ("better", pl.col("difference") > 0)):
        names = [
            f"{shortened(name, NAME)} ({was:.2f} → {now:.2f})"
            for name, was, now in changed.filter(which).select(figures).iter_rows()
        ]
        if names:
            does = "does" if len(names) == 1 else "do"
            said.append(f"{listed(names, MOST_NAMES)} {does} {verb} than before, beyond chance.")
    if not changed.height:
        said.append("Nobody changed beyond chance.")
    new = found.people.filter(pl.col("quality_before").is_null()).height
    gone = found.people.filter(pl.col("quality_after").is_null()).height
    if new or gone:
        said.append(f"{counted(new, 'contributor is', 'contributors are')} new, {gone:,} gave no labels.")
    if not found.shared:
        why = "the runs are of two files, with no item and contributor in common"
        return [*said, f"Rows cannot be compared: {why}; `anml audit --item` names items."]
    other = found.rows.height - found.mended
    were, look = ("was" if found.mended == 1 else "were"), ("looks" if other == 1 else "look")
    mended = f"{found.mended:,} of {found.shared:,} labels that both runs have {were} mended"
    return [*said, f"{mended}, and {other:,} more {look} different now."]


def figures_shown(found: "RunChanges") -> list[tuple[str, ...]]:
    """Figures before and after, as text."""
    forms = {"labels that look wrong": ".1%"}
    return [
        (name, *(format(value, forms.get(name, ",.0f")) for value in pair))
        for name, pair in found.figures.items()
    ]
