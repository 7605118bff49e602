"""The options of `anml audit`, `anml train` and `anml.audit`: one table that every surface is made from."""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from anml.core.profile import profile_of
from anml.surfaces.options import arg, opt

if TYPE_CHECKING:
    from anml.app.audit.request import Request

AUDIT, TRAIN, PYTHON = "audit", "train", "python"
EVERYWHERE, COMMANDS, IN_MEMORY = (AUDIT, TRAIN, PYTHON), (AUDIT, TRAIN), (AUDIT, PYTHON)


class Names(str):
    """Names of columns: separated by commas on the command line, a list in Python."""


class Option(NamedTuple):
    """One option; `kind` is None where it is Python's alone, `python` what is said there beside `help`."""

    name: str
    kind: Any
    default: Any
    help: str
    on: tuple[str, ...] = EVERYWHERE
    flag: str = ""
    python: str = ""
    envvar: str | None = None
    metavar: str | None = None


_COLUMN = str | None
OPTIONS = (
    Option("label", _COLUMN, None, "Column with the labels; guessed from its name when not given."),
    Option("contributor", _COLUMN, None, "Column with who contributed each row; guessed likewise."),
    Option("item", _COLUMN, None, "Column that says which rows are labels of the same thing."),
    Option("verification", _COLUMN, None, "Column with verification levels, or numbers in [0, 1]."),
    Option("reputation", _COLUMN, None, "Column with reputation levels, or numbers in [0, 1]."),
    Option("time", _COLUMN, None, "Column with the time of each contribution."),
    Option("derived_from", _COLUMN, None, "Column with the items a row was derived from, separated by ';'."),
    Option("gold", _COLUMN, None, "Column with right labels, or true where a label is right; only checks."),
    Option("known", _COLUMN, None, "Column with right labels, or true and false, that count as observed."),
    Option("key", _COLUMN, None, "Column that names the rows; aligns predictions and embeddings.",
           python="The samples keep it. Without one, all are in the order of the rows."),
    Option("features", Names | None, None, "Columns to use as features, separated by commas.",
           python="In Python one name or a list."),
    Option("ignore", Names | None, (), "Columns not to use as features, separated by commas.",
           python="In Python one name or a list."),
    Option("task", str, "auto",
           "classification, regression, preference, ordinal, tags, spans, boxes or auto."),
    Option("first", _COLUMN, None, "Preferences: column with the candidate that was shown first.", IN_MEMORY),
    Option("second", _COLUMN, None, "Preferences: column with the one it was compared with.", IN_MEMORY),
    Option("choice", _COLUMN, None, "Preferences: column with what was chosen: first, second or equal.",
           IN_MEMORY),
    Option("group", Names | None, None, "Preferences: columns within which candidates are compared.",
           IN_MEMORY, python="One name or a list."),
    Option("order", Names | None, None, "Grades: their names, lowest first, separated by commas.",
           IN_MEMORY, python="A list will do."),
    Option("start", _COLUMN, None, "Spans: column with where a mark begins.", IN_MEMORY),
    Option("end", _COLUMN, None, "Spans: column with where it ends.", IN_MEMORY),
    Option("seen", Path | None, None, "Spans and boxes: a table of who saw which document.", IN_MEMORY),
    Option("nested", bool, False, "Spans: let spans of the consensus lie within each other.", IN_MEMORY,
           flag="--nested"),
    Option("recipe", str, "evidence",
           "evidence, guarded, adaptive, softmax, multiplicative, krum or uniform.",
           python="A Recipe, or a dict of what differs from the default, will do as well."),
    Option("keep", float | None, None, "Share of rows to keep, overriding the recipe's."),
    Option("profile", str, "default", "How models learn: default (early-stopped), paper, or quick (rough).",
           python="A Profile, or a dict of what differs from the default, will do as well."),
    Option("score", str | None, None, "What q is made of: krum (default), norm, loss or confidence."),
    Option("half_life", _COLUMN, None, "Time in which freshness halves, such as 90d; with --time alone 7y."),
    Option("domain", _COLUMN, None, "Freshness by domain: mathematics, science, machine-learning or news."),
    Option("now", _COLUMN, None, "Moment ages count from, such as 2026-01-31; default: the newest."),
    Option("r_min", float, 0.4, "Floor on reputation for newcomers, in [0, 1]."),
    Option("newcomer", int, 10, "How many of a contributor's first rows the floor holds for."),
    Option("predictions", Path | None, None,
           "Held-out predictions: a .csv, .parquet or .npy file, one column for each class.",
           python="An array, with classes in sorted order, or a frame will do; of numbers one column."),
    Option("embeddings", Path | None, None,
           "Vectors in place of feature columns: a .npy, .parquet or .csv file; of preferences by candidate.",
           python="An array (rows, dimensions) or a frame will do as well; of preferences a dict, too."),
    Option("image", _COLUMN, None, "Column with paths of pictures; recognised by their endings otherwise.",
           IN_MEMORY, python="Relative paths start where the file is."),
    Option("text", _COLUMN, None, "Column with texts to embed.", IN_MEMORY),
    Option("embed", _COLUMN, None,
           "Model of pictures or texts: torchvision, timm or sentence-transformers:NAME.", IN_MEMORY,
           python="A function from a list of them to vectors will do. Without it pictures are seen by "
           "random convolutions and a small network trained on the spot, and texts by their words."),
    Option("cache", Path | None, None, "Folder that keeps what a model embedded, by content.", IN_MEMORY),
    Option("device", str, "auto", "Where networks are trained: auto, cpu, cuda or mps.", IN_MEMORY),
    Option("engine", _COLUMN, None,
           "Slice by slice instead of in memory, for Parquet files: local (this process) or ray.", IN_MEMORY,
           python="The samples are then a lazy frame; a run that was broken off goes on where it was."),
    Option("address", _COLUMN, None, "Address of a Ray cluster; without it Ray is started on this machine.",
           IN_MEMORY),
    Option("test", Path | None, None, "A table with right labels to measure on.", python="A path or frame."),
    Option("compare", bool, True, "Measure what the weights change.", flag="--compare/--no-compare"),
    Option("seed", int, 0, "The same seed gives the same result."),
    Option("format", str, "auto",
           "table, label-studio, argilla, croissant, crowd-long, crowd-wide, toloka, mturk, prodigy, "
           "doccano, conll."),
    Option("ledger", _COLUMN, None, "A ledger to take v and r from: a SQLite file, or a PostgreSQL URL.",
           envvar="ANML_LEDGER"),
    Option("keys", Path | None, None, "Folder with the ledger's keys; beside a SQLite file by default.",
           envvar="ANML_KEYS"),
    Option("source", _COLUMN, None, "Place the contributors' names belong to, in the ledger."),
    Option("track_domain", str, "default", "Domain of the track record in the ledger."),
    Option("policy", Path | None, None, "TOML file that changes how evidence becomes v."),
    Option("out", Path | None, None, "Folder for the report and the files; nothing is written without.",
           IN_MEMORY, python="In Python for what an engine judges; other results are written by `save`."),
    Option("fail_if", _COLUMN, None,
           "Exit with 1 where this holds of a contributor or the run: 'quality<0.6'.", COMMANDS),
    Option("json", bool, False, "Print one JSON object and nothing else.", COMMANDS, flag="--json"),
    Option("quiet", bool, False, "Show no progress on the error stream.", COMMANDS, flag="--quiet"),
    Option("progress", None, None,
           "None shows a run that takes longer than two seconds, true shows any, false none; or a function "
           "of (what, done, of). Without a terminal or a notebook, lines go to the logger \"anml\".",
           (PYTHON,)),
)  # fmt: skip
BY_NAME = {option.name: option for option in OPTIONS}

_READ = "A table (.csv, .csv.gz, .tsv, .parquet, .xlsx), an export of a labelling tool, a folder of pictures."
Data = Annotated[Path, arg(_READ)]
Table = Annotated[Path, arg("A table: .csv, .csv.gz, .tsv, .parquet or .xlsx.")]
Seed = Annotated[int, opt(BY_NAME["seed"].help)]
Json = Annotated[bool, opt(BY_NAME["json"].help, "--json")]


def options_on(surface: str) -> tuple[Option, ...]:
    """The options that a surface has, in the order of the table."""
    return tuple(option for option in OPTIONS if surface in option.on)


def with_options(*shared: Option) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options of the table as keywords; names of columns arrive as lists."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        named = {p.name for p in own}
        made = [parameter(option) for option in shared if option.name not in named]

        @wraps(command)
        def run(*arguments: Any, **given: Any) -> None:
            chosen = {option.name: option.default for option in shared if option.name not in named} | given
            for option in shared:
                if option.kind == Names | None and isinstance(chosen.get(option.name), str):
                    chosen[option.name] = listed(chosen[option.name])
            command(*arguments, **chosen)

        first = [p for p in own if p.default is p.empty]
        rest = [p.replace(kind=p.KEYWORD_ONLY) for p in own if p.default is not p.empty]
        run.__signature__ = inspect.Signature([*first, *made, *rest])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in (*first, *made, *rest)}
        return run

    return decorate


def parameter(option: Option) -> inspect.Parameter:
    """The option as typer reads it from a signature."""
    kind, default = (str | None, None) if option.kind == Names | None else (option.kind, option.default)
    about = opt(
        option.help, option.flag or f"--{option.name.replace('_', '-')}", envvar=option.envvar,
        metavar=option.metavar, show_default=option.default not in (None, (), False),
    )  # fmt: skip
    only = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, only, default=default, annotation=Annotated[kind, about])


def listed(text: str) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def documented(function: Callable[..., Any], options: Sequence[Option] = OPTIONS) -> str:
    """The docstring of a Python function, with those of its parameters that the table has at its end."""
    known, lines = {option.name: option for option in options}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if (option := known.get(name)) is None:
            continue
        shown = str(parameter.annotation).replace("typing.", "").replace("collections.abc.", "")
        shown = parameter.annotation.__name__ if isinstance(parameter.annotation, type) else shown
        said = f"{option.help} {option.python}".strip()
        lines += [f"    {name} : {shown}", *(f"        {line}" for line in textwrap.wrap(said, 100))]
    return inspect.cleandoc(function.__doc__ or "") + "\n" + inspect.cleandoc("\n".join(["x", *lines]))[2:]


def request_of(chosen: Mapping[str, Any]) -> "Request":
    """The request that options make; names are checked here, before the work begins."""
    from anml.app.audit.request import Request

    asked = {field.name: chosen[field.name] for field in fields(Request) if field.name in chosen}
    if chosen.get("score") is not None:
        asked["profile"] = replace(profile_of(asked.get("profile", "default")), method=chosen["score"])
    request = Request(**{name: value for name, value in asked.items() if (name, value) != ("ignore", None)})
    request.policy()
    return request
