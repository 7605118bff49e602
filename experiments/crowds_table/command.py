"""`python -m experiments crowds-table`: the page of public crowds. Heavy imports happen inside."""

import json
import sys
from pathlib import Path
from typing import Annotated

from anml.cli.options import arg, opt
from anml.core.errors import InputError


def crowds_table(
    source: Annotated[
        Path, arg("Folder of labels and true labels, or rows.json of a run.", metavar="FOLDER")
    ],
    out: Annotated[Path | None, opt("The page to write; printed unless given.")] = None,
    rows: Annotated[Path | None, opt("Folder for the rows behind the page.")] = None,
    ordinal: Annotated[list[str] | None, opt("A set whose labels are ordered grades.")] = None,
) -> None:
    """Compare anml with published methods on public crowds."""
    from anml.core.files import check_writable, write_file
    from experiments.crowds_table.page import known_sets, render_page

    file = None if rows is None else rows / "rows.json"
    for path in filter(None, (out, file)):
        check_writable(path)
    if source.is_file():
        result = _read_rows(source)
    else:
        from experiments.crowds_table.read import read_crowds
        from experiments.crowds_table.run import measure_crowds

        crowds = read_crowds(source)
        graded = {c.name for c in crowds if known_sets().get(c.name, {}).get("ordinal")}
        result = measure_crowds(crowds, sorted(graded | set(ordinal or ())), _progress)
    if file is not None:
        write_file(file, json.dumps(result, indent=1) + "\n")
    page = render_page(result)
    if out is None:
        print(page)
        return
    write_file(out, page)
    print("\n".join(str(path) for path in (out, file) if path is not None))


def _read_rows(path: Path) -> dict[str, object]:
    from anml.core.files import read_text

    try:
        result = json.loads(read_text(path, "rows"))
    except json.JSONDecodeError:
        result = None
    if not isinstance(result, dict) or not {"sets", "versions"} <= set(result):
        raise InputError(f"{path} is neither a folder nor rows.json of an earlier run")
    return result


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
