"""Options and arguments of several commands."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

# Options of all commands, accepted before and after the name of the command.
EVERYWHERE = ("--json", "--quiet")


class Output(NamedTuple):
    """Output options: JSON instead of text, and no progress."""

    json: bool = False
    quiet: bool = False


class GlobalOptions(TyperGroup):
    """Command group that accepts --json and --quiet anywhere in the line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move --json and --quiet to the front, unless they follow `--`."""
        end = args.index("--") if "--" in args else len(args)
        first = [word for word in args[:end] if word in EVERYWHERE]
        rest = [word for word in args[:end] if word not in EVERYWHERE]
        return super().parse_args(ctx, [*first, *rest, *args[end:]])


def opt(help: str, *names: str, **more: Any) -> Any:
    """Return an option with its help; `names` if it is not named like its parameter."""
    return typer.Option(*names, help=help, **more)


def arg(help: str, **more: Any) -> Any:
    """Return an argument with its help."""
    return typer.Argument(help=help, **{"show_default": False, **more})


def resolve_run_folder(given: Path | None) -> Path | None:
    """Return a run folder; `latest` is the newest run in or below the current folder."""
    if given != Path("latest") or given.exists():
        return given
    from anml.pipeline.read import latest_run

    return latest_run(Path())


def split_names(text: str | None) -> Sequence[str] | None:
    """Return names separated by commas as a list."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


Json = Annotated[bool, opt("Print one JSON object and nothing else.", "--json")]
Quiet = Annotated[bool, opt("Show no progress.", "--quiet")]
RunFolder = Annotated[Path, arg("Folder of a run, or latest.", callback=resolve_run_folder)]
Table = Annotated[Path, arg("A table: .csv, .csv.gz, .tsv, .parquet or .xlsx.")]
Data = Annotated[Path, arg("A table, an export of a labelling tool, or a folder of images.")]
Label = Annotated[str | None, opt("Column with the given label.")]
Contributor = Annotated[str | None, opt("Column with the person or source of the label.")]
Item = Annotated[str | None, opt("Column with the labelled item.")]
Columns = Annotated[
    list[str] | None, opt("Column with another role, such as time=created_at.", metavar="ROLE=NAME")
]
TaskName = Annotated[
    str | None,
    opt("classification, regression, ordinal, preferences, tags, spans or boxes; detected otherwise."),
]
Predictions = Annotated[Path | None, opt("Held-out predictions: .csv, .parquet or .npy.")]
Embeddings = Annotated[str | None, opt("File of vectors, or an encoder such as torchvision:resnet18.")]
RecipeName = Annotated[
    str | None, opt("evidence (default), guarded, adaptive, softmax, multiplicative, krum or uniform.")
]
Test = Annotated[Path | None, opt("Table with correct labels; measures the effect on the model.")]
FailIf = Annotated[str | None, opt("Exit with 1 if this holds, such as 'label_error_rate>10%'.")]
Config = Annotated[Path | None, opt("TOML file with settings, or the run.json of a run.")]
Settings = Annotated[
    list[str] | None, opt("One setting, such as recipe.half_life=90d.", "--set", metavar="KEY=VALUE")
]
Seed = Annotated[int | None, opt("Random seed; 0 by default.")]
