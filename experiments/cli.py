"""`python -m experiments`: list, run and report experiments. Heavy imports happen inside the commands."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.cli.main import run_program
from anml.cli.options import arg, opt
from anml.core.errors import InputError
from experiments.crowds_table.command import crowds_table
from experiments.federation_cli import federation

if TYPE_CHECKING:
    from experiments.spec import Experiment

_ABOUT = "Reproduce the paper's tables beside its own numbers."
app = typer.Typer(
    name="experiments",
    help=_ABOUT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("federation")(federation)
app.command("crowds-table")(crowds_table)

AsJson = Annotated[bool, opt("Print JSON instead of text.", "--json")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the experiments."""
    from experiments.spec import list_experiments

    experiments = [e for room in ("paper", "beyond", "field") for e in list_experiments(room).values()]
    if as_json:
        names = ("name", "title", "trials", "about")
        entries = [{name: getattr(experiment, name) for name in names} for experiment in experiments]
        print(json.dumps({"experiments": entries}, indent=1))
    else:
        print("\n".join(f"{e.name:<16}{e.trials:>4} trials  {e.title}" for e in experiments))


@app.command("run")
def run_(
    names: Annotated[list[str] | None, arg("Experiments, or your TOML files.", metavar="NAME...")] = None,
    everything: Annotated[bool, opt("Run every experiment.", "--all")] = False,
    trials: Annotated[int | None, opt("Trials instead of the experiment's own number.")] = None,
    seeds: Annotated[int | None, opt("Number of the experiment's seeds to use.")] = None,
    seed: Annotated[int | None, opt("One seed instead of the experiment's own.")] = None,
    jobs: Annotated[int, opt("Processes; 0 takes one per core, or a few on a GPU.")] = 0,
    device: Annotated[str, opt("cpu, cuda, or auto: a GPU when there is one.")] = "auto",
    fresh: Annotated[bool, opt("Throw away earlier rows first.", "--fresh")] = False,
    out: Annotated[Path, opt("Folder of results.")] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Run experiments. Rows that are in the folder of results are not run again."""
    from anml.report.progress import progress_shown
    from experiments.door import check_experiment
    from experiments.runner import default_jobs, resolve_device, run
    from experiments.spec import EXPERIMENT, find_experiments, list_experiments
    from experiments.store import keep_files, own_experiments, rows_file
    from experiments.summary import write_summary

    if bool(names) == everything:
        raise InputError("name experiments (see `python -m experiments list`), or give --all")
    if jobs < 0:
        raise InputError(f"--jobs must be 0 (one per core) or more, got {jobs}")
    experiments = list(list_experiments().values()) if everything else find_experiments(names or [])
    if seed is not None:
        EXPERIMENT["seed"]("--seed", seed)
        experiments = [replace(experiment, seed=seed, seeds=()) for experiment in experiments]
    for experiment in experiments:
        check_experiment(experiment)
    place = resolve_device(device)
    watched = sys.stderr.isatty() and not as_json
    with progress_shown(None if watched else False, bar_after=0.0) as progress:
        missing = run(
            experiments, out, trials=trials, seeds=seeds, jobs=jobs or default_jobs(place), device=place,
            fresh=fresh, command=" ".join(["python -m experiments", *sys.argv[1:]]), progress=progress,
        )  # fmt: skip
    if not any(rows_file(experiment, out).exists() for experiment in experiments):
        wanted = ", ".join(dict.fromkeys(name for datasets in missing.values() for name in datasets))
        raise InputError(f"none of the data sets is here (set ANML_DATA to their folder): {wanted}")
    files = [Path(name) for name in names or [] if name.endswith(".toml")]
    keep_files(experiments, files, out)
    # Whatever else has rows in the folder stays in its summary, also what goes beyond the paper.
    others = [e for room in ("beyond", "field") for e in list_experiments(room).values()]
    summary = write_summary(out, [*others, *own_experiments(out), *experiments])
    if as_json:
        own = {experiment.name for experiment in experiments}
        chosen = [entry for entry in summary["experiments"] if entry["name"] in own]
        print(json.dumps({**summary, "experiments": chosen, "left_out": missing}, indent=1))
        return
    for name, datasets in missing.items():
        print(f"{name}: left out {', '.join(datasets)}, which is not here (set ANML_DATA to its folder)")
    for name in summary["stale"]:
        print(f"{name}: its rows in {out} were made with other settings; run it again")
    own = {path.stem for path in files}
    _print_entries(summary, [replace(e, tabled=e.tabled or e.name in own) for e in experiments])
    print(f"rows and summary.json are in {out}")
    print(f"`python -m experiments report {out}` makes the page and the figures")


@app.command("report")
def report_(
    folder: Annotated[Path, arg("Folder of results.")] = Path("results"),
    page: Annotated[Path | None, opt("The page to write; else one in the folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write figures and pages from the rows of earlier runs. Experiments of your own get report.md."""
    from experiments.door import check_experiment
    from experiments.report import write_report
    from experiments.spec import list_experiments
    from experiments.store import own_experiments, rows_file

    own = {experiment.name: experiment for experiment in own_experiments(folder)}
    for experiment in own.values():
        check_experiment(experiment)

    def has_rows(room: str, place: Path) -> bool:
        known = (e for e in list_experiments(room).values() if e.name not in own)
        return any(rows_file(experiment, place).exists() for experiment in known)

    room = "paper"
    if not has_rows("paper", folder):
        room = "own" if own else "field" if has_rows("field", folder) else "paper"
    if page is None:
        page = folder / {"paper": "paper.md", "own": "report.md", "field": "cited.md"}[room]
        page = Path("docs/paper.md") if (room, folder) == ("paper", Path("results")) else page
    written = write_report(folder, page, list(own.values()), room)
    for room, name in (("beyond", "beyond"), ("field", "cited")):
        if has_rows(room, folder / name):
            written += write_report(folder / name, page.with_name(f"{name}.md"), room=room)
    if as_json:
        print(json.dumps({"written": [str(path) for path in written]}, indent=1))
    else:
        print("\n".join(str(path) for path in written))


def _print_entries(summary: dict[str, Any], experiments: list["Experiment"]) -> None:
    from experiments.layouts import laid_out, reading_guide
    from experiments.report import trials_of

    chosen = {experiment.name: experiment for experiment in experiments}
    for entry in (each for each in summary["experiments"] if each["name"] in chosen):
        spec = chosen[entry["name"]]
        print(f"\n{entry['name']} ({trials_of(entry)}): {entry['title']}")
        if spec.tabled:
            print("\n".join(["", *reading_guide(spec), "", *laid_out(spec, entry), ""]))
        for claim in entry["claims"]:
            print(f"  {claim['verdict']}: {claim['text']}\n    {claim['detail']}")


def main() -> None:
    """Run `python -m experiments`."""
    run_program(app, "python -m experiments")
