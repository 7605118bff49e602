"""The command line: all commands in one place, and what the user can mend as one sentence."""

import sys
from typing import Annotated

import typer

from anml.core.errors import AnmlError
from anml.surfaces import (
    audit_cli,
    changes_cli,
    dispute_cli,
    federate_cli,
    ledger_cli,
    person_cli,
    relabel_cli,
    reputation_cli,
    settle_cli,
    staff_cli,
    statement_cli,
    value_cli,
    verify_cli,
)
from anml.surfaces.lab_cli import lab
from anml.surfaces.options import opt


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"anml {version('attribution-native-ml')}")
        raise typer.Exit


app = typer.Typer(name="anml", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


Version = Annotated[bool, opt("Show the version and exit.", "--version", is_eager=True, callback=_version)]


@app.callback()
def top(version: Version = False) -> None:
    """Decide how far each contributed sample can be trusted, train on that, and say why."""


for command in (audit_cli.audit, audit_cli.train, audit_cli.predict, audit_cli.demo):
    app.command()(command)
app.command()(relabel_cli.relabel)
app.command()(changes_cli.changes)
app.command()(person_cli.person)
app.command()(value_cli.value)
app.add_typer(lab)
app.add_typer(federate_cli.app, name="federate")
for check in (verify_cli.verify, verify_cli.checkpoint, verify_cli.watch):
    ledger_cli.app.command()(check)
ledger_cli.app.add_typer(staff_cli.keys, name="keys")
ledger_cli.app.add_typer(staff_cli.app, name="staff")
ledger_cli.app.command()(staff_cli.proposals)
ledger_cli.app.command()(staff_cli.confirm)
ledger_cli.app.command()(staff_cli.clock)
app.add_typer(ledger_cli.app, name="ledger")
app.add_typer(reputation_cli.app, name="reputation")
app.command()(settle_cli.settle)
app.add_typer(dispute_cli.disputes, name="dispute")
app.command()(statement_cli.statement)
app.command()(statement_cli.payout)


def main() -> None:
    """Run the command line; what the user can mend is one sentence and exit code 2."""
    try:
        app(prog_name="anml")
    except (AnmlError, RecursionError, UnicodeError, OSError) as error:
        said = str(error)
        if isinstance(error, RecursionError):
            said = "the input is nested too deeply to be read"
        elif isinstance(error, UnicodeError):
            said = "a value holds bytes that are no text"
        elif isinstance(error, OSError):
            # A full disk, a folder without rights: no fault of the program, and no door saw it coming.
            said = f"{error.strerror or error}" + ("" if error.filename is None else f": {error.filename}")
        print(f"error: {said}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
