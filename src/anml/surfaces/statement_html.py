"""A statement as one HTML page that needs nothing else: no script, no network."""

from collections.abc import Mapping
from typing import Any

from anml.core.money import show_amount
from anml.core.settle import UNIT

TITLES = {
    "gross": "Earned in this settlement",
    "held": "Held",
    "released": "Released",
    "returned": "Back to the pool",
    "reversed": "Reversed",
    "corrected": "Corrected after a dispute",
    "payable": "Payable (all settlements)",
    "in_transit": "On its way to the bank (all settlements)",
    "paid": "Paid (all settlements)",
}
SIGNALS = {"v": "Verification", "r": "Reputation", "t": "Freshness"}


def statement_html(statement: Mapping[str, Any]) -> str:
    """The page; everything in it is escaped."""
    from jinja2 import Environment, PackageLoader, select_autoescape

    pages = Environment(loader=PackageLoader("anml.surfaces"), autoescape=select_autoescape(default=True))
    amounts = {TITLES[name]: show_amount(value) for name, value in statement["amounts"].items()}
    bands = {
        SIGNALS[name]: {band: count for band, count in counts.items() if count}
        for name, counts in statement["bands"].items()
    }
    share = f"{statement['share'] / UNIT:.6%}"
    page = pages.get_template("statement.html")
    return page.render(s=statement, amounts=amounts, bands=bands, share=share, money=show_amount)
