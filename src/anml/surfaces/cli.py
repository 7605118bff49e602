"""The command line: parse, call the use case, print. Heavy imports happen inside the commands."""

import sys

import typer

from anml.core.errors import AnmlError
from anml.surfaces.lab_cli import lab

app = typer.Typer(
    name="anml",
    help="Decide how far each contributed sample can be trusted, train on that, and say why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(lab)


@app.callback()
def _root() -> None:
    """Hold the commands together, even while there is only one."""


def main() -> None:
    """Run the command line; what the user can mend is one sentence and exit code 2."""
    try:
        app()
    except AnmlError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
