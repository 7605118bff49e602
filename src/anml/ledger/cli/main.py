"""The command tree of `anml-ledger`: records, staff, settlements and payouts."""

from typing import Annotated

import typer

from anml.cli.main import run_program, show_version
from anml.cli.options import opt
from anml.core.extras import require_extra

app = typer.Typer(
    name="anml-ledger", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)
Version = Annotated[
    bool, opt("Show the version and exit.", "--version", is_eager=True, callback=show_version)
]
# Packages of the extra `ledger`, without which the commands cannot be imported.
PACKAGES = ("sqlalchemy", "cryptography", "iso4217", "stdnum", "confusable_homoglyphs")


@app.callback()
def root(version: Version = False) -> None:
    """Record contributions, attestations and payments in a ledger that an outsider can verify."""
    for package in PACKAGES:
        require_extra(package, "ledger", "anml-ledger")


try:
    from anml.ledger.cli import money, people, verify
except ModuleNotFoundError as error:
    if error.name not in PACKAGES:
        raise
else:
    for command in (people.init, people.key, people.import_, people.show, people.confirm, money.settle,
                    money.release, money.pay, money.statement, money.appeal, verify.verify, verify.export,
                    people.erase):  # fmt: skip
        app.command(command.__name__.rstrip("_"))(command)


def _run(prog_name: str) -> None:
    # Without the extra there are no commands, so typer would reject the name of every command.
    root()
    app(prog_name=prog_name)


def main() -> None:
    """Run `anml-ledger`."""
    run_program(_run, "anml-ledger")


if __name__ == "__main__":
    main()
