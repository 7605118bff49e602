"""`python -m experiments federation`: a federation in this process. Heavy imports happen inside."""

import sys
from pathlib import Path
from typing import Annotated, Any

from anml.cli.options import Json, opt


def federation(
    out: Annotated[Path, opt("Folder for the report and the record.")] = Path("anml-federation"),
    rounds: Annotated[int, opt("Rounds of training.")] = 10,
    recipe: Annotated[str, opt("How clients are weighed; a recipe as `anml audit` takes it.")] = "evidence",
    seed: Annotated[int, opt("Seed of everything random.")] = 0,
    json: Json = False,
) -> None:
    """Train on digits at ten clients, four of whom lie together. Writes the report of all rounds."""
    from anml.pipeline.write import as_json, check_folder, write_run
    from anml.report.html import write_report
    from anml.report.progress import progress_shown
    from experiments.federation_demo import run_demo

    check_folder(out)
    with progress_shown(wanted=False if json or not sys.stderr.isatty() else None) as progress:
        done = run_demo(seed, rounds, recipe, progress)
    files = write_run(out, done.report, "federate", lambda draft: _extra(done, draft, write_report))
    errors = {name: float(wrong.mean()) for name, wrong in done.wrong.items()}
    if json:
        last = done.federation.history[-1]
        reputation = {name: done.federation.reputation_of(name) for name in done.case.names}
        print(as_json({"errors": errors, "rounds": rounds, "weights": last.weights(),
                       "reputation": reputation, "gate": last.gate.to_dict(), "out": str(out)}))  # fmt: skip
        return
    print(f"Error on {len(done.case.y_test)} test digits after {rounds} rounds:")
    for name, words in (("uniform", "averaged"), ("q only", "by q alone"), ("chosen", f"by {recipe}")):
        print(f"  {words:<12}{100 * errors[name]:5.1f}%")
    print("\nclient        weight     r   honest")
    for line in done.federation.history[-1].lines:
        honest = "" if line.honest != line.honest else f"{line.honest:6.2f}"
        print(f"{line.client:<12}{line.weight:8.3f}{line.r:6.2f}   {honest}  {line.why}".rstrip())
    print(f"\nWrote {', '.join(files)} to {out}")
    print(f"Report: {out / 'report.html'}")


def _extra(done: Any, draft: Path, write_report: Any) -> None:
    """The report, and every client's line in every round."""
    import polars as pl

    write_report(done.report, draft)
    rows = [
        {"round": each.number, "branch": each.gate.branch, **line._asdict()}
        for each in done.federation.history
        for line in each.lines
    ]
    pl.DataFrame(rows).fill_nan(None).write_csv(draft / "rounds.csv")
