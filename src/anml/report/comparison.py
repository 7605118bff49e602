"""Comparison of two runs as sentences, figures and an HTML page."""

import polars as pl

from anml.core.text import join_names, pluralise
from anml.pipeline.compare_runs import RunDiff
from anml.report.html import render_template
from anml.report.printable import truncate

# Maximum rows of a table on the page, and maximum width and number of names in a sentence.
MAX_ROWS, NAME_WIDTH, MAX_NAMES = 50, 40, 5


def comparison_page(before: str, after: str, diff: RunDiff) -> str:
    """Return the page that compares two runs."""
    return render_template(
        "comparison.html.j2", before=before, after=after, said=comparison_sentences(diff),
        figures=comparison_figures(diff),
        contributors=diff.people.head(MAX_ROWS).to_dicts(),
        more_contributors=max(diff.people.height - MAX_ROWS, 0),
        rows=diff.rows.head(MAX_ROWS).to_dicts(), more_rows=max(diff.rows.height - MAX_ROWS, 0),
    )  # fmt: skip


def comparison_sentences(diff: RunDiff) -> list[str]:
    """Significant changes of contributors, changed rows and corrections, in sentences."""
    lines, changed = [], diff.people.filter(pl.col("changed").fill_null(False))
    figures = ("contributor", "accuracy_before", "accuracy_after")
    for verb, direction in (("fell", pl.col("difference") < 0), ("rose", pl.col("difference") > 0)):
        names = [
            f"{truncate(name, NAME_WIDTH)} ({was:.2f} → {now:.2f})"
            for name, was, now in changed.filter(direction).select(figures).iter_rows()
        ]
        if names:
            lines.append(f"The accuracy of {join_names(names, MAX_NAMES)} {verb} significantly.")
    if not changed.height:
        lines.append("No contributor changed significantly.")
    new = diff.people.filter(pl.col("accuracy_before").is_null()).height
    gone = diff.people.filter(pl.col("accuracy_after").is_null()).height
    if new or gone:
        lines.append(f"{pluralise(new, 'contributor is', 'contributors are')} new, {gone:,} gave no labels.")
    if not diff.shared:
        why = "the runs have different data, and no pair of item and contributor in common"
        how = "Name the item column in both audits to compare them."
        return [*lines, f"Rows cannot be compared: {why}. {how}"]
    other = diff.rows.height - diff.mended
    corrected = f"{diff.mended:,} of the {pluralise(diff.shared, 'shared label')}"
    were = "was" if diff.mended == 1 else "were"
    return [*lines, f"{corrected} {were} corrected; p_correct of {other:,} others crossed 0.5."]


def comparison_figures(diff: RunDiff) -> list[tuple[str, ...]]:
    """Return the figures before and after, as text."""
    forms = {"label_error_rate": ".1%"}
    return [
        (name.replace("_", " "), *(format(value, forms.get(name, ",.0f")) for value in pair))
        for name, pair in diff.figures.items()
    ]
