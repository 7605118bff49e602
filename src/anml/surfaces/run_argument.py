"""The folder of a run as an argument: its path, or the word latest."""

from pathlib import Path
from typing import Annotated

from anml.surfaces.options import arg

LATEST = "latest"


def newest(given: Path | None) -> Path | None:
    """The run written last in or below the current folder, where it is asked for by that word."""
    if given != Path(LATEST) or given.exists():
        return given
    from anml.app.audit.runs import latest_run

    return latest_run(Path())


RunFolder = Annotated[Path, arg("Folder of a run, or latest.", callback=newest)]
