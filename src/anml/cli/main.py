"""The commands of `anml`; user errors are printed as one sentence."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer
from typer._completion_classes import completion_init

from anml.cli import audit, compare, contributor, export, judges, relabel, review, trace, value
from anml.cli.options import GlobalOptions, Json, Output, Quiet, opt
from anml.core.errors import AnmlError


def show_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        from importlib.metadata import version

        print(f"anml {version('attribution-native-ml')}")
        raise typer.Exit


app = typer.Typer(
    name="anml",
    cls=GlobalOptions,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
Version = Annotated[bool, opt("Show the version.", "--version", is_eager=True, callback=show_version)]


@app.callback(
    epilog="--json and --quiet are options of all commands. Records and payments: anml-ledger --help"
)
def root(context: typer.Context, json: Json = False, quiet: Quiet = False, version: Version = False) -> None:
    """Estimate which labels are wrong and how reliable each contributor is; weight rows accordingly."""
    context.obj = Output(json, quiet)


for command in (
    audit.audit,
    audit.train,
    audit.predict,
    relabel.relabel,
    relabel.apply,
    review.review,
    compare.compare,
    contributor.contributor,
    judges.judges,
    export.export,
    value.value,
    trace.trace,
    audit.demo,
):
    app.command()(command)


def run_program(program: Callable[..., object], name: str) -> None:
    """Run a command line; a user error is printed as one sentence with exit code 2."""
    # Enables `_ANML_COMPLETE=source_bash anml` without adding options.
    completion_init()
    try:
        program(prog_name=name)
    except (AnmlError, RecursionError, UnicodeError, OSError) as error:
        message = str(error)
        if isinstance(error, RecursionError):
            message = "the input is nested too deeply to be read"
        elif isinstance(error, UnicodeError):
            message = "a value is not valid UTF-8 text"
        elif isinstance(error, OSError):
            place = "" if error.filename is None else f": {error.filename}"
            message = f"{error.strerror or error}{place}"
        print(f"error: {message}", file=sys.stderr)
        raise SystemExit(2) from None


def main() -> None:
    """Run `anml`."""
    run_program(app, "anml")


if __name__ == "__main__":
    main()
