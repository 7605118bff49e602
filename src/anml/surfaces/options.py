"""Options and arguments of commands, in one line each: `Annotated[bool, opt("What it does.", "--flag")]`."""

from typing import Any

import typer


def opt(help: str, *names: str, **more: Any) -> Any:
    """An option with its help; `names` where it is not spelt like its parameter."""
    return typer.Option(*names, help=help, **more)


def arg(help: str, **more: Any) -> Any:
    """An argument with its help."""
    return typer.Argument(help=help, **{"show_default": False, **more})
