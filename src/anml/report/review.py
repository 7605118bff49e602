"""The page of `anml review`."""

from anml.report.html import render_template, script_of
from anml.report.printable import truncate
from anml.review.session import ReviewSession


def review_page(session: ReviewSession, reviewer: str) -> str:
    """Return the page; its script asks for one item after the other."""
    choices = {
        "all": session.choices, "numeric": session.numeric, "new": session.new_labels, "by": reviewer,
        "percent": session.source.format == "label-studio", "names": session.names,
    }  # fmt: skip
    return render_template(
        "review.html.j2",
        name=truncate(session.source.table.name, 80),
        choices=choices,
        has_report=session.names and (session.folder / "report.html").is_file(),
        **script_of("review.js"),
    )
