"""The Python surface: `anml.audit` on a frame or a file, with results as the user's own kind of frame."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl

from anml.app.audit import audit_table
from anml.app.files import write_file
from anml.app.media import Media, with_media
from anml.app.output import write_run
from anml.app.request import Request
from anml.app.result import Audited
from anml.core.domain import Gate, Recipe
from anml.core.errors import InputError
from anml.gradients.devices import on
from anml.gradients.scoring import Profile, profile_of
from anml.intake.tables import to_native
from anml.predictors.embed import Embed
from anml.surfaces.progress import progress_shown
from anml.surfaces.report import render_card, render_report
from anml.surfaces.slices import audit_in_slices, holds_parquet
from anml.surfaces.sources import Place, finish, fit, folder_of, read
from anml.surfaces.summary import summary
from anml.surfaces.tables import first_rows
from anml.surfaces.verdict import decided


class Audit:
    """What an audit found.

    Attributes
    ----------
    samples, contributors
        Frames of the kind that was audited (polars for a file): one row per sample, per contributor. Of
        a pandas frame, `samples` keeps the index of the rows that were used.
    items
        The like: one row per item, with the label that all of its labels make together and the
        probability that it is right; None where items have one label each.
    gate
        Which branch decided, and why.
    result
        Everything, as `anml.app.audit.Audited`.
    """

    def __init__(self, result: Audited, like: Any = None) -> None:
        self.result = result
        self.samples: Any = to_native(result.samples, like, result.samples["row"].to_numpy())
        self.contributors: Any = to_native(result.contributors, like)
        self.items: Any = None if result.items is None else to_native(result.items, like)

    @property
    def gate(self) -> Gate:
        """Which branch decided, and why."""
        return self.result.gate

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the report as one self-contained HTML file."""
        path = Path(path)
        write_file(path, render_report(self.result))
        return path

    def save(self, folder: str | Path) -> list[str]:
        """Write the run into a folder: samples, contributors, items, run.json and report.html."""
        return write_run(Path(folder), self.result, "audit", lambda draft: self._report_into(draft))

    def _report_into(self, folder: Path) -> None:
        self.report(folder / "report.html")

    def __repr__(self) -> str:
        said = summary(self.result)
        lines = [
            *([said.doubt] if said.doubt else []),
            *(f"{question}: {answer}" for question, answer in said.lines()),
            *decided(self.result),
            *(f"warning: {warning}" for warning in self.result.warnings),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return render_card(self.result)


def audit(
    data: Any,
    label: str | None = None,
    contributor: str | None = None,
    *,
    item: str | None = None,
    verification: str | None = None,
    reputation: str | None = None,
    time: str | None = None,
    derived_from: str | None = None,
    gold: str | None = None,
    known: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    task: str = "auto",
    recipe: str | Recipe | dict[str, Any] = "evidence",
    keep: float | None = None,
    profile: str | Profile | dict[str, Any] = "default",
    score: str | None = None,
    half_life: str | float | None = None,
    domain: str | None = None,
    now: datetime | date | str | None = None,
    r_min: float = 0.4,
    newcomer: int = 10,
    test: Any = None,
    compare: bool = True,
    seed: int = 0,
    format: str = "auto",
    ledger: str | Path | None = None,
    keys: str | Path | None = None,
    source: str | None = None,
    track_domain: str = "default",
    policy: str | Path | None = None,
    predictions: Any = None,
    embeddings: Any = None,
    key: str | None = None,
    image: str | None = None,
    text: str | None = None,
    embed: str | Embed | None = None,
    cache: str | Path | None = None,
    device: str = "auto",
    engine: str | None = None,
    address: str | None = None,
    out: str | Path | None = None,
    progress: bool | Callable[[str, int, int], None] | None = None,
) -> Audit:
    """Decide how far each row of a table can be trusted, and say why.

    Parameters
    ----------
    data
        Path of a CSV or Parquet file, of an export (Label Studio, Argilla, Croissant, Toloka, MTurk), or of
        a folder of pictures; or a pandas, polars or Arrow frame.
    label, contributor, item, verification, reputation, time, derived_from
        Names of columns; those not given are guessed from their names, and said in the notes.
    gold
        Name of a column that checks the result and is used for nothing else: the right label of some
        rows, or true for labels known to be right.
    known
        Name of a column whose content counts as observed: the right label of some rows, or true where
        the label given is right and false where it is wrong.
    features, ignore
        Columns to use, or not to use, as features.
    task
        `"classification"`, `"regression"`, or `"auto"`.
    recipe, keep
        How signals become weights, and the share of rows to keep where it is not the recipe's.
    profile, score
        How q is scored, and what it is made of where that is not the profile's.
    half_life, domain
        Freshness: the time in which it halves, or one of the paper's domains; 7 years when `time` is
        named and neither is given.
    now
        The moment ages are counted from; the newest time in the table by default.
    r_min, newcomer
        Floor on reputation for a contributor's first `newcomer` rows.
    test
        A table with right labels to measure on, where there is one.
    compare
        Whether to train with and without the weights to see what they change.
    seed
        The same seed gives the same result.
    format
        What kind of file it is, where that cannot be recognised.
    ledger, keys, source
        A ledger (a SQLite file or a PostgreSQL URL) that v and r are taken from, the folder of its keys,
        and the place that contributors' names belong to; the report then links every v to its evidence.
    track_domain, policy
        Domain of the track record in the ledger, and a TOML file that changes how evidence becomes v.
    predictions
        Held-out predictions, as an array, a frame or the path of a file: class probabilities with one
        column for each class, named by it or, in an array, in sorted order; or one column of numbers.
    embeddings
        Vectors in place of feature columns: an array (rows, dimensions), a frame or the path of a file.
    key
        A column that the table and the predictions or embeddings both have; without one, the rows of
        both are in the same order.
    image, text
        Column of paths of pictures (recognised by their endings; relative ones start where the file is),
        or of texts to embed.
    embed
        Features of pictures or texts: a function from a list of them to vectors, or the name of a model,
        `"torchvision:resnet18"`, `"timm:NAME"` or `"sentence-transformers:NAME"`. Without it pictures are
        seen by random convolutions and a small network trained on the spot, and texts by their words.
    cache
        A folder that keeps what a named model embedded, by content.
    device
        Where networks are trained: `"auto"` is a GPU where there is one.
    engine, address, out
        For a Parquet file, or a folder of them, that is judged slice by slice into the folder `out`:
        `"local"` in this process, or `"ray"`, on this machine or at the address of a cluster. `samples` is
        then a lazy frame. A run that was broken off goes on where it was.
    progress
        None shows a run that takes longer than two seconds, true shows any, false none; or a function
        of (what, done, of). Where there is no terminal and no notebook, lines go to the logger "anml".
    """
    chosen = profile if score is None else replace(profile_of(profile), method=score)
    if engine is not None or holds_parquet(data):
        if out is None:
            raise InputError("with an engine, or a folder of Parquet files, the output needs a folder: out")
        asked = Request(
            label=label, contributor=contributor, item=item, verification=verification, reputation=reputation,
            time=time, derived_from=derived_from, gold=gold, known=known, features=features, ignore=ignore,
            task=task, recipe=recipe, keep=keep, profile=chosen, seed=seed, compare=False,
            predictions=predictions, embeddings=embeddings,
        )  # fmt: skip
        with progress_shown(progress) as report:
            result = audit_in_slices(data, asked, engine or "local", address, Path(out), report)
        found_all = Audit(result)
        found_all.samples = pl.scan_parquet(Path(out) / "samples")
        return found_all
    given = {"label": label, "contributor": contributor, "item": item, "time": time}
    place = Place(
        None if ledger is None else str(ledger), None if keys is None else Path(keys), source, track_domain,
        None if policy is None else Path(policy),
    )  # fmt: skip
    found = read(data, format, given, place)
    request = Request(
        label=label, contributor=contributor, item=item, verification=verification, reputation=reputation,
        time=time, derived_from=derived_from, gold=gold, known=known, features=features, ignore=ignore,
        task=task, recipe=recipe, keep=keep, profile=chosen, half_life=half_life, domain=domain, now=now,
        r_min=r_min, newcomer=newcomer, compare=compare, seed=seed, predictions=predictions,
        embeddings=embeddings, key=key,
    )  # fmt: skip
    media = Media(image, text, embed, None if cache is None else Path(cache), folder_of(data), device)
    with progress_shown(progress) as report, on(device):
        asked, shown = with_media(found.source.table, fit(request, found), media, report)
        result, _, _ = audit_table(found.source.table, asked, test=test, progress=report)
    result = shown.of(result, first_rows(result))
    return Audit(finish(found)(result), None if isinstance(data, str | Path) else data)
