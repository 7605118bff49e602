"""`anml relabel`: a file of what to look at first, and what came of it. Heavy imports are inside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.core.errors import InputError
from anml.surfaces.audit_options import Json
from anml.surfaces.run_argument import RunFolder

if TYPE_CHECKING:
    from anml.app.relabel_apply import Applied


def relabel(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option(help="File to write; with --apply, the folder of the run after it.")
    ] = None,
    format: Annotated[
        str, typer.Option(help="label-studio, argilla or csv; auto is what the data came in.")
    ] = "auto",
    top: Annotated[int, typer.Option(help="How many items somebody has time to look at.")] = 200,
    data: Annotated[
        Path | None, typer.Option(help="The data of the run, where they no longer lie where they did.")
    ] = None,
    apply: Annotated[
        Path | None, typer.Option(help="The file with the answers: shows what they change.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="With --apply: a table with right labels to measure on.")
    ] = None,
    json: Json = False,
) -> None:
    """List what to relabel first, or apply the answers. Most to gain comes first."""
    if apply is not None:
        _apply(run, apply, data, test, out, json)
        return
    if test is not None:
        raise InputError("--test measures what answers change; it goes with --apply")
    from anml.app.files import check_place, write_file
    from anml.app.relabel import of_run, source_of, where_to_look
    from anml.app.relabel_files import relabel_file

    if out is not None:
        check_place(out)
    found = of_run(run)
    looking = where_to_look(found, top)
    source = source_of(found, run, data)
    place = data or Path(run, str(found.data.get("path")))
    text = relabel_file(looking, source, place, format)
    if out is not None:
        write_file(out, text)
    if json:
        from anml.app.output import as_json

        rows = looking.rows.to_dicts()
        print(as_json({"items": len(rows), "candidates": looking.candidates, "doubtful": looking.doubtful,
                       "expected": looking.expected, "rows": rows, "out": out and str(out)}))  # fmt: skip
    elif out is None:
        print(text, end="")
        return
    else:
        print(looking.sentence())
        if looking.doubtful:
            print(f"warning: the run is doubtful, so suggestions may be wrong: {looking.doubtful}")
        print(f"Wrote {out}")


def _apply(run: Path, file: Path, data: Path | None, test: Path | None, out: Path | None, json: bool) -> None:
    from anml.app.output import as_json, check_folder, write_run
    from anml.app.relabel_apply import apply_answers
    from anml.app.result import run_record
    from anml.surfaces.progress import progress_shown
    from anml.surfaces.report import write_report

    if out is not None:
        check_folder(out)
    with progress_shown(False if json else None, bar_after=0.0, lines_after=10.0) as progress:
        applied = apply_answers(run, file, data=data, test=test, progress=progress)
    result = applied.after
    if out is not None:
        write_run(out, result, "relabel", lambda draft: write_report(result, draft))
    if json:
        figures = {name: list(pair) for name, pair in changes(applied).items()}
        print(as_json({"looked": applied.looked, "changed": applied.changed, "expected": applied.expected,
                       "changes": figures, "after": run_record(result, "relabel")}))  # fmt: skip
        return
    print(looked(applied))
    rows = [("", "before", "after"), *((name, *pair) for name, pair in changes(applied).items())]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if out is not None:
        print(f"Report: {out / 'report.html'}")


def looked(applied: "Applied") -> str:
    """How many were looked at, and how many changed, in one sentence."""
    expected = "" if applied.expected is None else f"; about {applied.expected:.0f} were expected to"
    share = f"{applied.changed / applied.looked:.0%}"
    return f"{applied.looked:,} items have an answer; {applied.changed:,} labels changed ({share}){expected}."


def changes(applied: "Applied") -> dict[str, tuple[str, str]]:
    """Figures of the run before and after, as text."""
    from anml.core.verdicts import ACCUSED

    before, after = applied.before, applied.after
    people = after.contributors
    accused = (
        people.filter(people["verdict"].is_in(list(ACCUSED)))["contributor"].to_list()
        if "verdict" in people.columns
        else []
    )
    found = {
        "wrong labels nobody has mended": (f"{applied.unmended[0]:.0f}", f"{applied.unmended[1]:.0f}"),
        "labels given that look wrong": (f"{before['wrong']['mean']:.1%}", f"{after.wrong.mean:.1%}"),
        "rows kept": (
            f"{before['kept']:,} of {before['rows']:,}",
            f"{after.kept:,} of {after.samples.height:,}",
        ),
        "accused": (_names(applied.accused_before), _names(accused)),
        "doubtful": ("yes" if before.get("doubtful") else "no", "yes" if after.doubtful else "no"),
    }
    was, now = before.get("comparison"), after.comparison
    # Only on the same rows with right labels do errors before and after say anything.
    if was and now and was["on"] == now.on == "test data" and was["rows"] == now.rows:
        found["error on test data"] = (_error(was["ways"][-1]["error"]["mean"], now.metric),
                                       _error(now.ways[-1].error.mean, now.metric))  # fmt: skip
    return found


def _error(mean: Any, metric: str) -> str:
    return f"{mean:.3g}" if metric == "mean absolute error" else f"{mean:.1%}"


def _names(names: list[str]) -> str:
    from anml.surfaces.names import printable

    shown = ", ".join(printable(name) for name in sorted(names)[:5])
    return f"{shown} and {len(names) - 5:,} more" if len(names) > 5 else shown or "nobody"
