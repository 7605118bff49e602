"""`anml compare`: differences of two runs. Heavy imports are inside the command."""

from pathlib import Path
from typing import Annotated

import typer

from anml.cli.options import arg, opt, resolve_run_folder
from anml.cli.text import columns
from anml.core.checks import one_of
from anml.report.printable import sanitise

PAGE = "comparison.html"
FAIL_IF = ("changed", "fell")


def compare(
    context: typer.Context,
    before: Annotated[Path, arg("Folder of the earlier run.")],
    after: Annotated[Path, arg("Folder of the later run, or latest.", callback=resolve_run_folder)],
    out: Annotated[Path | None, opt("Folder for contributors.csv, rows.csv and comparison.html.")] = None,
    fail_if: Annotated[str | None, opt("Exit with 1 where a contributor changed or fell.")] = None,
) -> None:
    """Compare two runs."""
    from anml.core.files import write_file
    from anml.pipeline.compare_runs import compare_runs
    from anml.pipeline.write import as_json, check_folder, write_frame
    from anml.report.comparison import comparison_figures, comparison_page, comparison_sentences

    if fail_if is not None:
        one_of("fail-if", fail_if, FAIL_IF)
    if out is not None:
        check_folder(out, PAGE)
    diff = compare_runs(before, after)
    if out is not None:
        write_frame(diff.people, out / "contributors.csv")
        write_frame(diff.rows, out / "rows.csv")
        write_file(out / PAGE, comparison_page(before.name, after.name, diff))
    if context.obj.json:
        figures = {name: list(pair) for name, pair in diff.figures.items()}
        print(as_json({"figures": figures, "n_shared_rows": diff.shared, "n_corrected": diff.mended,
                       "contributors": diff.people.to_dicts(), "n_changed_rows": diff.rows.height,
                       "out": out and str(out)}))  # fmt: skip
    else:
        for sentence in comparison_sentences(diff):
            print(sanitise(sentence))
        print("\n".join(columns(("", "before", "after"), comparison_figures(diff))))
        if out is not None:
            print(f"Report: {out / PAGE}")
    changed = diff.people.filter("changed")
    fell = (changed["difference"] < 0).sum()
    if {"changed": changed.height, "fell": fell}.get(fail_if or "", 0):
        raise typer.Exit(1)
