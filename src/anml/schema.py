"""`Schema`: which column has which role. `Encoder`: how images or texts become vectors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from anml.core.checks import one_of
from anml.core.errors import InputError, UnknownNameError

Options = TypeVar("Options")


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Columns with a role other than label, contributor, item and feature, and the format of the file.

    Parameters
    ----------
    verification, reputation
        Signals v and r: level names of the paper, or numbers in [0, 1].
    time
        Time of each label: changes in accuracy over time, and freshness T where the recipe has a half-life.
    derived_from
        Items that a row was derived from, separated by `;`.
    true_label
        Labels known to be correct, or true and false for whether the given label is; used in the fit.
    test_label
        Labels known to be correct, or true and false; only scored, never used in the fit.
    retracted
        True where a row was retracted: its verification is the level `flagged`.
    licence
        Licence of each row; kept beside the samples, never a feature.
    key
        Name of each row; aligns predictions, embeddings and weights.
    ignore
        Columns that are not features.
    batch
        Batch of each row, where item numbers begin again in every batch.
    answers
        `all` answers of a contributor to an item, or the `last` one, by time or by the order of the rows.
    clean
        True joins spellings of a label or contributor that cannot be different, `"all"` also joins similar
        ones, False changes nothing. The mapping is in the notes and in run.json.
    missing
        Labels that are not answers, in place of the usual ones such as `skip`; their rows are excluded. An
        empty list keeps all labels. A usual one that predictions or true labels name as a class is kept.
    format
        `auto`, `table`, or the format of an export: `label-studio`, `argilla`, `crowd-long`, `crowd-wide`,
        `toloka`, `mturk`, `langfuse`, `phoenix`, `prodigy`, `doccano`, `conll`.
    """

    verification: str | None = None
    reputation: str | None = None
    time: str | None = None
    derived_from: str | None = None
    true_label: str | None = None
    test_label: str | None = None
    retracted: str | None = None
    licence: str | None = None
    key: str | None = None
    ignore: Sequence[str] = ()
    batch: str | None = None
    answers: Literal["all", "last"] = "all"
    clean: bool | str = True
    missing: Sequence[str] | None = None
    format: str = "auto"

    def __post_init__(self) -> None:
        if self.clean not in (True, False, "all"):
            raise InputError(f"clean must be true, false or all, got {self.clean!r}")
        one_of("answers", self.answers, ("all", "last"))
        for name in ("ignore", "missing"):
            names = getattr(self, name)
            # One name is a list of one.
            names = (names,) if isinstance(names, str) else names
            object.__setattr__(self, name, None if names is None else tuple(map(str, names)))


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Settings that convert images or texts to vectors.

    Parameters
    ----------
    model
        `torchvision:NAME`, `timm:NAME`, `sentence-transformers:NAME`, or a function from a list to vectors.
        Without a model, images are encoded by random convolutions and texts by TF-IDF.
    column
        Column with paths of images, or with texts; recognised by its values otherwise.
    kind
        `image`, `text`, or `auto`.
    cache_dir
        Folder that keeps the vectors, by content.
    device
        Device of the networks: `auto`, `cpu`, `cuda` or `mps`.
    """

    model: str | Callable[[list[Any]], Any] | None = None
    column: str | None = None
    kind: Literal["auto", "image", "text"] = "auto"
    cache_dir: str | Path | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        one_of("kind of encoder", self.kind, ("auto", "image", "text"))
        if self.kind == "auto" and self.column is not None and isinstance(self.model, str):
            texts = self.model.startswith("sentence-transformers:")
            object.__setattr__(self, "kind", "text" if texts else "image")


def options_from(kind: type[Options], given: "Options | Mapping[str, Any] | None") -> Options:
    """Options of a class from an object of it, from a mapping of its fields, or its defaults."""
    if given is None:
        return kind()
    if isinstance(given, kind):
        return given
    name = kind.__name__
    if not isinstance(given, Mapping):
        raise InputError(f"{name.lower()} must be a {name} or a dict of its fields, got {given!r}")
    allowed = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for key in given:
        if key not in allowed:
            raise UnknownNameError(f"key of {name}", key, allowed)
    return kind(**given)
