"""`anml export`: a run in a standard format. Heavy imports are inside."""

from pathlib import Path
from typing import Annotated

import typer

from anml.cli.options import RunFolder, opt


def export(
    context: typer.Context,
    run: RunFolder,
    to: Annotated[str, opt("croissant, datasheet or prov.")],
    out: Annotated[Path, opt("File to write; of croissant a folder.")],
    names: Annotated[bool, opt("Show the names of contributors.", "--names")] = False,
    licence: Annotated[str | None, opt("Licence of the data, such as its URL.")] = None,
    data: Annotated[Path | None, opt("The data of the run, if they were moved.")] = None,
) -> None:
    """Export a run as Croissant, a data governance sheet or PROV."""
    from anml.pipeline.write import as_json
    from anml.report.export import write_export

    files = write_export(run, to, out, names=names, licence=licence, data=data)
    if context.obj.json:
        print(as_json({"to": to, "files": [str(file) for file in files]}))
    else:
        print(f"Wrote {' and '.join(map(str, files))}")
