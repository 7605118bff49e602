"""What the ledger's commands share: how a ledger is named, and how results are shown."""

import functools
import inspect
import json as jsonlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from anml.core.errors import InputError
from anml.surfaces.names import printable

if TYPE_CHECKING:
    from anml.app.ledger.ledgers import Ledger

LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger", envvar="ANML_LEDGER", help="A SQLite file, or a PostgreSQL URL.", show_default=False
    ),
]
Keys = Annotated[
    Path | None,
    typer.Option("--keys", envvar="ANML_KEYS", help="Folder with the ledger's keys; beside a SQLite file."),
]
By = Annotated[
    str | None,
    typer.Option(envvar="ANML_BY", help="Who you are: a staff identifier; else whose key alone is at hand."),
]
Sign = Annotated[
    Path | None,
    typer.Option(help="Your private key; else it is found by your name, or in a running SSH agent."),
]
Yes = Annotated[
    str | None,
    typer.Option("--yes", metavar="DIGEST", help="Sign what was shown under this digest, and nothing else."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen; write nothing.")]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", help="TOML file that changes how evidence becomes v.")
]
Domain = Annotated[str, typer.Option(help="Domain of the track record.")]


def place(url: str | None) -> str:
    """Where the ledger is, or a sentence that says how to name one."""
    if not url:
        raise InputError("name a ledger with --ledger or ANML_LEDGER: a SQLite file or a PostgreSQL URL")
    return url


@contextmanager
def opened(
    url: str | None, keys: Path | None, sign: Path | None = None, by: str | None = None
) -> Iterator["Ledger"]:
    """The ledger that the options name, closed at the end; `by` acts in it, with the key `sign`."""
    from anml.app.ledger.ledgers import opened as open_

    with open_(place(url), keys, sign, by, ask_password) as ledger:
        yield ledger


class On(NamedTuple):
    """What a command acts on: the open ledger, who acts, and whether it prints JSON."""

    book: "Ledger"
    by: str | None
    json: bool


def on_ledger(work: Callable[..., None]) -> Callable[..., None]:
    """A command with the options that all on a ledger have; what they name is its first value.

    One whose first value is called `seen` only looks: it has no options to say who acts.
    """
    first, *own = inspect.signature(work).parameters.values()
    who = {"by": By, "sign": Sign} if first.name == "on" else {}
    common = {**who, "ledger": LedgerUrl, "keys": Keys, "json": Json}

    @functools.wraps(work)
    def command(**given: Any) -> None:
        options = {name: given.pop(name) for name in common}
        by = options.get("by")
        with opened(options["ledger"], options["keys"], options.get("sign"), by) as book:
            work(On(book, by, options["json"]), **given)

    asked = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None if name != "json" else False,
                          annotation=kind)
        for name, kind in common.items()
    ]  # fmt: skip
    command.__signature__ = inspect.Signature([*own, *asked])  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in (*own, *asked)}
    return command


def ask_password(path: Path) -> str:
    """The password of a key: asked for where somebody sits, else from ANML_KEY_PASSWORD."""
    import getpass
    import os

    from anml.app.ledger.keys import password_from_environment

    if os.environ.get("ANML_KEY_PASSWORD") or not sys.stdin.isatty():
        return password_from_environment(path)
    return getpass.getpass(f"Password of {path}: ")


def agreed(content: dict[str, Any], lines: Iterable[str], yes: str | None, json: bool) -> str:
    """The digest of what somebody is about to sign, once they saw it and said so; else nothing is signed."""
    from anml.app.ledger.review import named

    if yes is not None:
        return yes
    digest = named(content)
    asked = sys.stdin.isatty() and not json
    last = f"Nothing is signed yet. To sign exactly this, say the same with --yes {digest}"
    show(json, {"to_sign": content, "digest": digest, "signed": False}, [*lines, *([] if asked else [last])])
    if asked and typer.confirm(f"Sign this ({digest})?"):
        return digest
    raise typer.Exit(3)


def show(json: bool, value: dict[str, Any], lines: Iterable[str]) -> None:
    """One JSON object for programs, or lines for people."""
    if json:
        print(jsonlib.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
        return
    for line in lines:
        # Names come from outside: what would break the line, move the cursor or turn it round is taken out.
        print(printable(line))


def warn(warnings: Iterable[str]) -> None:
    """Warnings on the error stream, so that output stays clean."""
    for text in warnings:
        print(f"warning: {printable(text)}", file=sys.stderr)


def columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows as aligned text.

    Examples
    --------
    >>> columns(("who", "rows"), [("ann", 3)])
    ['who  rows', 'ann  3']
    """
    # A name with many blanks could look like several cells.
    table = [[" ".join(printable(str(cell)).split()) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def proposed(book: "Ledger", numbers: Sequence[int], what: str) -> tuple[list[str], bool]:
    """What to say after a proposal; where one person keeps the ledger, it is confirmed at once."""
    from anml.app.ledger.steps import confirm_all, is_single_person

    if is_single_person(book):
        confirm_all(book, numbers)
        return [what], True
    listed = " ".join(map(str, numbers))
    return [f"{what}: proposed.", f"Next, somebody else: anml ledger confirm {listed} --by THEM"], False
