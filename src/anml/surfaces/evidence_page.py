"""The evidence page of an import: every v with the log entries it rests on, and what newcomers need."""

from anml.app.ledger.vouched import Vouched
from anml.surfaces.vouched_view import vouched_view


def evidence_page(found: Vouched, title: str) -> str:
    """One page without script or network; everything in it is escaped."""
    from jinja2 import Environment, PackageLoader

    # Everything here is a page, whatever its template's file is called.
    pages = Environment(loader=PackageLoader("anml.surfaces"), autoescape=True)
    view = vouched_view(found.rows, found.people, found.entries, found.at)
    return pages.get_template("evidence.html").render(title=title, vouched=view)
