"""Shared context of the ledger commands: ledger, actor, and output format."""

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
from typing import Annotated, Any, NamedTuple

import typer

from anml.cli.options import opt
from anml.core.errors import InputError
from anml.ledger.services.ledgers import Ledger, from_environment, open_for
from anml.ledger.services.steps import agreed_policy, confirm_proposals, content_digest, list_staff
from anml.report.printable import sanitise
from anml.signals.policy import Policy


class Option(NamedTuple):
    """An option that several commands of the ledger share."""

    name: str
    kind: Any
    default: Any
    help: str
    flag: str = ""
    envvar: str | None = None
    metavar: str | None = None

    def parameter(self) -> inspect.Parameter:
        """Return the option as typer reads it from a signature."""
        about = opt(
            self.help, self.flag or f"--{self.name.replace('_', '-')}", envvar=self.envvar,
            metavar=self.metavar, show_default=self.default not in (None, (), False),
        )  # fmt: skip
        only = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(
            self.name, only, default=self.default, annotation=Annotated[self.kind, about]
        )


# The options that commands of the ledger share; every one of them has the last three.
OPTIONS = (
    Option("by", str | None, None, "Who you are: a staff identifier; else whose key alone is at hand.",
           envvar="ANML_BY"),
    Option("sign", Path | None, None,
           "Your private key; else it is found by your name, or in a running SSH agent."),
    Option("yes", str | None, None, "Sign what was shown under this digest, and nothing else.",
           metavar="DIGEST"),
    Option("dry_run", bool, False, "Show what would happen; write nothing.", flag="--dry-run"),
    Option("ledger", str | None, None, "A SQLite file, or a PostgreSQL URL.", envvar="ANML_LEDGER"),
    Option("keys", Path | None, None, "Folder with the ledger's keys; beside a SQLite file by default.",
           envvar="ANML_KEYS"),
    Option("json", bool, False, "Print one JSON object and nothing else.", flag="--json"),
)  # fmt: skip
COMMON_OPTIONS = ("ledger", "keys", "json")
Command = Callable[..., None]


@dataclass(frozen=True)
class LedgerContext:
    """Shared options of a command: ledger, actor, and output format."""

    by: str | None = None
    sign: Path | None = None
    yes: str | None = None
    dry_run: bool = False
    ledger: str | None = None
    keys: Path | None = None
    json: bool = False
    # What is to be closed when the command ends.
    stack: ExitStack = field(default_factory=ExitStack)

    def place(self) -> str:
        """Return the location of the ledger; raise an error if none is named."""
        if not self.ledger:
            raise InputError("name a ledger with --ledger or ANML_LEDGER: a SQLite file or a PostgreSQL URL")
        return self.ledger

    @cached_property
    def book(self) -> Ledger:
        """The ledger, opened when it is first asked for; `by` acts in it, with the key `sign`."""
        who = (self.sign, self.by, ask_password)
        opened = open_for(self.place(), self.keys, *who, dry_run=self.dry_run)
        return self.stack.enter_context(opened)

    def read_policy(self) -> Policy:
        """Return the policy that maps attestations to v: the one of the only agreed terms, or the default."""
        return agreed_policy(self.book)

    def show(self, value: dict[str, Any], lines: Iterable[str]) -> None:
        """One JSON object for programs, or lines for people."""
        if self.json:
            print(jsonlib.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
            return
        for line in lines:
            # Names come from outside: what would break the line, move the cursor or turn it round is out.
            print(sanitise(line))

    def agreed(self, content: dict[str, Any], lines: Iterable[str]) -> str:
        """The digest of what somebody is about to sign, once they saw it and said so; else nothing is."""
        if self.yes is not None:
            return self.yes
        digest = content_digest(content)
        asked = sys.stdin.isatty() and not self.json
        last = f"Nothing is signed yet. To sign exactly this, say the same with --yes {digest}"
        shown = {"to_sign": content, "digest": digest, "signed": False}
        self.show(shown, [*lines, *([] if asked else [last])])
        if asked and typer.confirm(f"Sign this ({digest})?"):
            return digest
        raise typer.Exit(3)

    def proposed(self, numbers: Sequence[int], what: str) -> tuple[list[str], bool]:
        """Return the message after a proposal; in a single-person ledger it is confirmed immediately."""
        if list_staff(self.book).single_person:
            confirm_proposals(self.book, numbers)
            return [what], True
        listed = " ".join(map(str, numbers))
        return [f"{what}: proposed.", f"Next, somebody else: anml-ledger confirm {listed} --by THEM"], False


def with_ledger_options(*names: str, every: tuple[str, ...] = COMMON_OPTIONS) -> Callable[[Command], Command]:
    """Give a command these of the shared options after its own, and it takes them as one desk."""

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command).parameters.values())[1:]
        # Who acts may also say with which key.
        chosen = {*names, *every, *(("sign",) if "by" in names else ())} - {p.name for p in own}
        made = [option.parameter() for option in OPTIONS if option.name in chosen]

        @wraps(command)
        def run(**given: Any) -> None:
            with ExitStack() as stack:
                command(LedgerContext(**{name: given.pop(name) for name in chosen}, stack=stack), **given)

        taken = [*(p.replace(kind=p.KEYWORD_ONLY) for p in own), *made]
        run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in taken}
        return run

    return decorate


def ask_password(path: Path) -> str:
    """The password of a key: asked for where somebody sits, else from ANML_KEY_PASSWORD."""
    if os.environ.get("ANML_KEY_PASSWORD") or not sys.stdin.isatty():
        return from_environment(path)
    return getpass(f"Password of {path}: ")
