"""The options of `anml audit` and `anml train`, and the request they make."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from anml.app.request import Request

Data = Annotated[
    Path,
    typer.Argument(
        help="A table (.csv, .csv.gz, .tsv, .parquet), an export of a labelling tool, a folder of pictures.",
        show_default=False,
    ),
]
Table = Annotated[Path, typer.Argument(help="A table: .csv, .csv.gz, .tsv or .parquet.", show_default=False)]
Label = Annotated[
    str | None, typer.Option(help="Column with the labels; guessed from its name when not given.")
]
Contributor = Annotated[
    str | None, typer.Option(help="Column with who contributed each row; guessed likewise.")
]
Item = Annotated[str | None, typer.Option(help="Column that says which rows are labels of the same thing.")]
Verification = Annotated[
    str | None, typer.Option(help="Column with verification levels, or numbers in [0, 1].")
]
Reputation = Annotated[str | None, typer.Option(help="Column with reputation levels, or numbers in [0, 1].")]
Time = Annotated[str | None, typer.Option(help="Column with the time of each contribution.")]
HalfLife = Annotated[
    str | None,
    typer.Option(help="Time in which freshness halves, such as 90d; 7y when only --time is given."),
]
Domain = Annotated[
    str | None, typer.Option(help="Freshness by domain: mathematics, science, machine-learning or news.")
]
DerivedFrom = Annotated[
    str | None, typer.Option(help="Column with the items a row was derived from, separated by ';'.")
]
GoldColumn = Annotated[
    str | None,
    typer.Option("--gold", help="Column with right labels, or true for labels known right; only checks."),
]
KnownColumn = Annotated[
    str | None,
    typer.Option("--known", help="Column with right labels, or true and false, that count as observed."),
]
Predictions = Annotated[
    Path | None,
    typer.Option(help="Held-out predictions: a .csv, .parquet or .npy file, one column for each class."),
]
Embeddings = Annotated[
    Path | None,
    typer.Option(help="Vectors in place of feature columns: a .npy, .parquet or .csv file."),
]
Key = Annotated[
    str | None,
    typer.Option(help="Column that aligns predictions and embeddings with the table; by position without."),
]
Image = Annotated[
    str | None, typer.Option(help="Column with paths of pictures; recognised by their endings otherwise.")
]
Text = Annotated[str | None, typer.Option(help="Column with texts to embed.")]
EmbedBy = Annotated[
    str | None,
    typer.Option(
        "--embed", help="Model of pictures or texts: torchvision, timm or sentence-transformers:NAME."
    ),
]
Cache = Annotated[Path | None, typer.Option(help="Folder that keeps what a model embedded, by content.")]
Device = Annotated[str, typer.Option(help="Where networks are trained: auto, cpu, cuda or mps.")]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Slice by slice instead of in memory, for Parquet files: local (this process) or ray.",
    ),
]
Address = Annotated[
    str | None, typer.Option(help="Address of a Ray cluster; without it Ray is started on this machine.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress on the error stream.")]
Features = Annotated[str | None, typer.Option(help="Columns to use as features, separated by commas.")]
Ignore = Annotated[str | None, typer.Option(help="Columns not to use as features, separated by commas.")]
Task = Annotated[str, typer.Option(help="classification, regression or auto.")]
RecipeName = Annotated[
    str,
    typer.Option("--recipe", help="evidence, guarded, adaptive, softmax, multiplicative, krum or uniform."),
]
Keep = Annotated[float | None, typer.Option(help="Share of rows to keep, overriding the recipe's.")]
ProfileName = Annotated[
    str, typer.Option("--profile", help="How q is scored: default (early-stopped) or paper.")
]
Score = Annotated[str, typer.Option(help="What q is made of: krum, norm, loss or confidence.")]
Test = Annotated[Path | None, typer.Option(help="A table with right labels to measure on.")]
Now = Annotated[
    str | None, typer.Option(help="Moment ages count from, such as 2026-01-31; default: the newest.")
]
RMin = Annotated[float, typer.Option(help="Floor on reputation for newcomers, in [0, 1].")]
Newcomer = Annotated[int, typer.Option(help="For how many first rows of a contributor the floor holds.")]
Compare = Annotated[bool, typer.Option("--compare/--no-compare", help="Measure what the weights change.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Out = Annotated[
    Path | None, typer.Option(help="Folder for the report and the files; nothing is written without.")
]


def request_of(
    label: str | None = None, contributor: str | None = None, item: str | None = None,
    verification: str | None = None, reputation: str | None = None, time: str | None = None,
    half_life: str | None = None, domain: str | None = None, derived_from: str | None = None,
    gold: str | None = None, features: str | None = None, ignore: str | None = None,
    task: str = "auto", recipe: str = "evidence", keep: float | None = None, profile: str = "default",
    score: str = "krum", now: str | None = None, r_min: float = 0.4, newcomer: int = 10,
    compare: bool = True, seed: int = 0, known: str | None = None, predictions: Path | None = None,
    embeddings: Path | None = None, key: str | None = None,
) -> "Request":  # fmt: skip
    """Turn options into a request; names are checked before any file is read."""
    from dataclasses import replace

    from anml.app.request import Request
    from anml.core.profile import profile_of

    request = Request(
        label=label, contributor=contributor, item=item, verification=verification, reputation=reputation,
        time=time, derived_from=derived_from, gold=gold, features=_listed(features),
        ignore=_listed(ignore) or (), task=task, recipe=recipe, keep=keep,
        profile=replace(profile_of(profile), method=score), half_life=half_life, domain=domain,
        now=now, r_min=r_min, newcomer=newcomer, seed=seed, compare=compare, known=known,
        predictions=predictions, embeddings=embeddings, key=key,
    )  # fmt: skip
    request.policy()
    return request


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
