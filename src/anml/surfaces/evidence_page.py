"""The evidence page of an import: every v with the log entries it rests on, and what newcomers need."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from anml.surfaces.vouched_view import vouched_view

if TYPE_CHECKING:
    from anml.ledger.evidence import Entry
    from anml.ledger.standing import Standing


def evidence_page(
    rows: pl.DataFrame,
    standings: Mapping[str, "Standing"],
    entries: Mapping[int, "Entry"],
    at: str,
    title: str,
) -> str:
    """One page without script or network; everything in it is escaped."""
    from jinja2 import Environment, PackageLoader

    # Everything here is a page, whatever its template's file is called.
    pages = Environment(loader=PackageLoader("anml.surfaces"), autoescape=True)
    view = vouched_view(rows.rename({"verification": "v"}), standings, entries, at)
    return pages.get_template("evidence.html").render(title=title, vouched=view)
