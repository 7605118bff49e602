"""What the ledger's commands share: which ledger, as whom, and how results are shown."""

import inspect
import json as jsonlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, wraps
from getpass import getpass
from pathlib import Path
from typing import Any, TypeAlias

import typer
from rich.cells import cell_len, set_cell_size

from anml.app import ledger
from anml.core.errors import InputError
from anml.core.signals.policy import Policy
from anml.surfaces.audit_options import BY_NAME, Option, parameter
from anml.surfaces.names import printable

Book: TypeAlias = "ledger.ledgers.Ledger"
# The options that commands of the ledger share; every one of them has the last three.
OPTIONS = (
    Option("by", str | None, None, "Who you are: a staff identifier; else whose key alone is at hand.",
           envvar="ANML_BY"),
    Option("sign", Path | None, None,
           "Your private key; else it is found by your name, or in a running SSH agent."),
    Option("yes", str | None, None, "Sign what was shown under this digest, and nothing else.",
           metavar="DIGEST"),
    Option("domain", str, "default", "Domain of the track record."),
    BY_NAME["policy"],
    Option("dry_run", bool, False, "Show what would happen; write nothing.", flag="--dry-run"),
    Option("ledger", str | None, None, "A SQLite file, or a PostgreSQL URL.", envvar="ANML_LEDGER"),
    BY_NAME["keys"],
    BY_NAME["json"],
)  # fmt: skip
EVERY = ("ledger", "keys", "json")
Command = Callable[..., None]


@dataclass(frozen=True)
class Desk:
    """Which ledger, as whom, and how to answer: what the shared options of a command say."""

    by: str | None = None
    sign: Path | None = None
    yes: str | None = None
    domain: str = "default"
    policy: Path | None = None
    dry_run: bool = False
    ledger: str | None = None
    keys: Path | None = None
    json: bool = False
    # What is to be closed when the command ends.
    stack: ExitStack = field(default_factory=ExitStack)

    def place(self) -> str:
        """Where the ledger is, or a sentence that says how to name one."""
        if not self.ledger:
            raise InputError("name a ledger with --ledger or ANML_LEDGER: a SQLite file or a PostgreSQL URL")
        return self.ledger

    @cached_property
    def book(self) -> Book:
        """The ledger, opened when it is first asked for; `by` acts in it, with the key `sign`."""
        who = (self.sign, self.by, ask_password)
        opened = ledger.ledgers.opened(self.place(), self.keys, *who, dry_run=self.dry_run)
        return self.stack.enter_context(opened)

    def read_policy(self) -> Policy:
        """How evidence becomes v."""
        return ledger.ledgers.read_policy(self.policy)

    def show(self, value: dict[str, Any], lines: Iterable[str]) -> None:
        """One JSON object for programs, or lines for people."""
        if self.json:
            print(jsonlib.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
            return
        for line in lines:
            # Names come from outside: what would break the line, move the cursor or turn it round is out.
            print(printable(line))

    def agreed(self, content: dict[str, Any], lines: Iterable[str]) -> str:
        """The digest of what somebody is about to sign, once they saw it and said so; else nothing is."""
        if self.yes is not None:
            return self.yes
        digest = ledger.steps.named(content)
        asked = sys.stdin.isatty() and not self.json
        last = f"Nothing is signed yet. To sign exactly this, say the same with --yes {digest}"
        shown = {"to_sign": content, "digest": digest, "signed": False}
        self.show(shown, [*lines, *([] if asked else [last])])
        if asked and typer.confirm(f"Sign this ({digest})?"):
            return digest
        raise typer.Exit(3)

    def proposed(self, numbers: Sequence[int], what: str) -> tuple[list[str], bool]:
        """What to say after a proposal; where one person keeps the ledger, it is confirmed at once."""
        if ledger.steps.staff(self.book).single_person:
            ledger.steps.confirm_all(self.book, numbers)
            return [what], True
        listed = " ".join(map(str, numbers))
        return [f"{what}: proposed.", f"Next, somebody else: anml ledger confirm {listed} --by THEM"], False


def at_desk(*names: str, every: tuple[str, ...] = EVERY) -> Callable[[Command], Command]:
    """Give a command these of the shared options after its own, and it takes them as one desk."""

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command).parameters.values())[1:]
        # Who acts may also say with which key.
        chosen = {*names, *every, *(("sign",) if "by" in names else ())} - {p.name for p in own}
        made = [parameter(option) for option in OPTIONS if option.name in chosen]

        @wraps(command)
        def run(**given: Any) -> None:
            with ExitStack() as stack:
                command(Desk(**{name: given.pop(name) for name in chosen}, stack=stack), **given)

        taken = [*(p.replace(kind=p.KEYWORD_ONLY) for p in own), *made]
        run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in taken}
        return run

    return decorate


def ask_password(path: Path) -> str:
    """The password of a key: asked for where somebody sits, else from ANML_KEY_PASSWORD."""
    if os.environ.get("ANML_KEY_PASSWORD") or not sys.stdin.isatty():
        return ledger.ledgers.from_environment(path)
    return getpass(f"Password of {path}: ")


def warn(warnings: Iterable[str]) -> None:
    """Warnings on the error stream, so that output stays clean."""
    for text in warnings:
        print(f"warning: {printable(text)}", file=sys.stderr)


def columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows as aligned text."""
    # A name with many blanks could look like several cells.
    table = [[" ".join(printable(str(cell)).split()) for cell in row] for row in (header, *rows)]
    widths = [max(cell_len(row[i]) for row in table) for i in range(len(header))]
    return ["  ".join(map(set_cell_size, row, widths)).rstrip() for row in table]
