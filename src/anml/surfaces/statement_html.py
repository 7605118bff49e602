"""A statement as one HTML page that needs nothing else, and as a bundle that anybody can check."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anml.app.files import write_file
from anml.core.canonical import canonical
from anml.core.money import show_money
from anml.core.settle import UNIT
from anml.surfaces.names import printable

if TYPE_CHECKING:
    from jinja2 import Template

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
# Shown also where they are nothing.
ALWAYS = ("gross", "held", "released", "paid")
SIGNALS = {"v": "Verification", "r": "Reputation", "t": "Freshness"}


@cache
def _template() -> "Template":
    """Compiled once for everybody's statement."""
    from jinja2 import Environment, PackageLoader, select_autoescape

    pages = Environment(
        loader=PackageLoader("anml.surfaces"), autoescape=select_autoescape(default=True),
        finalize=lambda value: printable(value) if type(value) is str else value,
    )  # fmt: skip
    return pages.get_template("statement.html")


def statement_html(statement: Mapping[str, Any]) -> str:
    """The page; everything in it is escaped."""
    currency = statement["currency"]

    def money(micro: int) -> str:
        return show_money(micro, currency)

    shown = {name: value for name, value in statement["amounts"].items() if value or name in ALWAYS}
    amounts = {TITLES[name]: money(value) for name, value in shown.items()}
    bands = {
        SIGNALS[name]: {band: count for band, count in counts.items() if count}
        for name, counts in statement["bands"].items()
    }
    share = f"{statement['share'] / UNIT:.4%}"
    return _template().render(s=statement, amounts=amounts, bands=bands, share=share, money=money)


_PART = ("head", "line", "place", "lines", "line_path")


def write_bundle(folder: Path, statement: Mapping[str, Any], signed: bytes, public_key: str) -> None:
    """All that an outsider needs to check one statement: no anml, no database, no network."""
    proof = statement["proof"]
    program = files("anml.surfaces") / "templates" / "verify_statement.py"
    made: dict[str, bytes | str] = {
        "statement.json": signed,
        "statement.html": statement_html(statement),
        "manifest-part.json": canonical({name: proof[name] for name in _PART}) + b"\n",
        "checkpoint.txt": proof["checkpoint"],
        "log.pub": public_key + "\n",
        "verify.py": program.read_bytes(),
    }
    for name, data in made.items():
        write_file(folder / name, data, private=True)
