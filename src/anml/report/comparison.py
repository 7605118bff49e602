"""Two runs side by side, in sentences, figures and one HTML page."""

import polars as pl

from anml.core.text import join_names, pluralise
from anml.pipeline.compare_runs import RunDiff
from anml.report.html import render_template
from anml.report.printable import truncate

# Rows of each table on the page and in the terminal; the files have all.
MAX_ROWS, NAME_WIDTH, MAX_NAMES = 50, 40, 5


def comparison_page(before: str, after: str, found: RunDiff) -> str:
    """Return the page that compares two runs."""
    return render_template(
        "comparison.html.j2", before=before, after=after, said=comparison_sentences(found),
        figures=comparison_figures(found),
        contributors=found.people.head(MAX_ROWS).to_dicts(),
        more_contributors=max(found.people.height - MAX_ROWS, 0),
        rows=found.rows.head(MAX_ROWS).to_dicts(), more_rows=max(found.rows.height - MAX_ROWS, 0),
    )  # fmt: skip


def comparison_sentences(found: RunDiff) -> list[str]:
    """Significant changes of contributors, changed rows and corrections, in sentences."""
    said, changed = [], found.people.filter(pl.col("changed").fill_null(False))
    figures = ("contributor", "accuracy_before", "accuracy_after")
    for verb, which in (("fell", pl.col("difference") < 0), ("rose", pl.col("difference") > 0)):
        names = [
            f"{truncate(name, NAME_WIDTH)} ({was:.2f} → {now:.2f})"
            for name, was, now in changed.filter(which).select(figures).iter_rows()
        ]
        if names:
            said.append(f"The accuracy of {join_names(names, MAX_NAMES)} {verb} significantly.")
    if not changed.height:
        said.append("No contributor changed significantly.")
    new = found.people.filter(pl.col("accuracy_before").is_null()).height
    gone = found.people.filter(pl.col("accuracy_after").is_null()).height
    if new or gone:
        said.append(f"{pluralise(new, 'contributor is', 'contributors are')} new, {gone:,} gave no labels.")
    if not found.shared:
        why = "the runs have different data, and no pair of item and contributor in common"
        how = "Name the item column in both audits to compare them."
        return [*said, f"Rows cannot be compared: {why}. {how}"]
    other = found.rows.height - found.mended
    corrected = f"{found.mended:,} of the {pluralise(found.shared, 'shared label')}"
    were = "was" if found.mended == 1 else "were"
    return [*said, f"{corrected} {were} corrected; p_correct of {other:,} others crossed 0.5."]


def comparison_figures(found: RunDiff) -> list[tuple[str, ...]]:
    """Figures before and after, as text."""
    forms = {"label_error_rate": ".1%"}
    return [
        (name.replace("_", " "), *(format(value, forms.get(name, ",.0f")) for value in pair))
        for name, pair in found.figures.items()
    ]
