"""Options and arguments of commands, in one line each: `Annotated[bool, opt("What it does.", "--flag")]`."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer


def opt(help: str, *names: str, **more: Any) -> Any:
    """An option with its help; `names` where it is not spelt like its parameter."""
    return typer.Option(*names, help=help, **more)


def arg(help: str, **more: Any) -> Any:
    """An argument with its help."""
    return typer.Argument(help=help, **{"show_default": False, **more})


def newest(given: Path | None) -> Path | None:
    """The run written last in or below the current folder, where it is asked for by the word latest."""
    if given != Path("latest") or given.exists():
        return given
    from anml.app.audit.runs import latest_run

    return latest_run(Path())


# What need not be given.
Some: TypeAlias = str | None
Several: TypeAlias = list[str] | None
RunFolder = Annotated[Path, arg("Folder of a run, or latest.", callback=newest)]
