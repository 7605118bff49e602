"""Crowds of a folder: files of labels and files of true labels, as arrays."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from anml.core.checks import Array, Bools, Floats, Ints, as_codes
from anml.core.errors import InputError
from anml.io.plain import as_text
from anml.io.roles import ALIASES, GOLD_ALIASES, find_column, format_names
from anml.io.tables import read_table

ENDINGS = (".csv", ".csv.gz")
LABELS, PREFIX = "_labels", "crowd_"
# Names of the file that holds the true labels.
TRUTHS = ("_truth", "_items")


@dataclass(frozen=True, eq=False)
class Crowd:
    """Labels of a crowd and the true labels of its items.

    `item`, `contributor` and `label` are codes, one for each row. `truth` is the code of the true label of
    each item: -1 where it is not known, and the number of classes where no contributor ever gave it.
    """

    name: str
    item: Ints
    contributor: Ints
    label: Ints
    truth: Ints
    classes: tuple[str, ...]

    @property
    def n_items(self) -> int:
        """Number of items with a label."""
        return len(self.truth)

    @property
    def n_contributors(self) -> int:
        """Number of contributors."""
        return int(self.contributor.max()) + 1

    @property
    def known(self) -> Bools:
        """Items whose true label is known."""
        return self.truth >= 0

    @property
    def votes(self) -> Floats:
        """Number of labels of each item and class."""
        counts = np.zeros((self.n_items, len(self.classes)))
        np.add.at(counts, (self.item, self.label), 1.0)
        return counts


def read_crowds(folder: Path) -> list[Crowd]:
    """Read every crowd of a folder, in the order of their names."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the folder of the files NAME_labels.csv")
    files = {path.name: path for path in sorted(folder.iterdir()) if path.name.endswith(ENDINGS)}
    stems = [_stem(name) for name in files]
    if twice := next((stem for stem in stems if stems.count(stem) > 1), None):
        raise InputError(f"{folder} has {twice}.csv and {twice}.csv.gz; keep one of them")
    by_stem = dict(zip(stems, files.values(), strict=True))
    for stem, path in by_stem.items():
        if stem.endswith(TRUTHS[0]) and stem.removesuffix(TRUTHS[0]) + LABELS not in by_stem:
            raise InputError(f"{path.name} has no file {stem.removesuffix(TRUTHS[0])}{LABELS}.csv beside it")
    sets = [stem.removesuffix(LABELS) for stem in by_stem if stem.endswith(LABELS)]
    if not sets:
        raise InputError(f"{folder} has no file NAME{LABELS}.csv or NAME{LABELS}.csv.gz")
    crowds = [read_crowd(stem, by_stem) for stem in sets]
    return sorted(crowds, key=lambda crowd: crowd.name)


def read_crowd(stem: str, files: dict[str, Path]) -> Crowd:
    """Read one crowd; `files` are paths by name without ending."""
    labels = files[f"{stem}{LABELS}"]
    truths = next((files[stem + end] for end in TRUTHS if stem + end in files), None)
    if truths is None:
        wanted = " or ".join(f"{stem}{end}.csv" for end in TRUTHS)
        raise InputError(f"{labels.name} has no true labels beside it: {wanted} is needed")
    item, contributor, label = _columns(labels, ("item", "contributor", "label"))
    asked, truth = _columns(truths, ("item", "truth"))
    codes, items = as_codes("item", item.to_list(), len(item))
    classes = _sorted_classes(label)
    right = _true_codes(asked, truth, items, classes, truths.name)
    return Crowd(
        name=stem.removeprefix(PREFIX),
        item=codes,
        contributor=as_codes("contributor", contributor.to_list(), len(item))[0],
        label=_codes_in(label, classes),
        truth=right,
        classes=classes,
    )


def _stem(name: str) -> str:
    return next(name.removesuffix(end) for end in reversed(ENDINGS) if name.endswith(end))


def _columns(path: Path, roles: tuple[str, ...]) -> list[pl.Series]:
    """Return the columns of a file that play these roles, as text; only a true label may be missing."""
    frame, result = read_table(path, path.name).frame, dict[str, str]()
    for role in roles:
        names = GOLD_ALIASES if role == "truth" else ALIASES[role]
        column = find_column(frame.columns, result, role, names)
        if column is None:
            raise InputError(f"{path.name} has no column for {role}; columns: {format_names(frame.columns)}")
        result[role] = column
        if role != "truth" and (gaps := frame[column].null_count()):
            raise InputError(f"{path.name}: column {column!r} ({role}) is empty in {gaps:,} rows")
    for role in {"label", "truth"} & set(roles):
        values = frame[result[role]]
        if values.dtype.is_float() and not (values.drop_nulls() == values.drop_nulls().round()).all():
            raise InputError(
                f"{path.name}: column {result[role]!r} ({role}) has numbers with decimals; classes are needed"
            )
    return [as_text(frame[result[role]]) for role in roles]


def _sorted_classes(label: pl.Series) -> tuple[str, ...]:
    """Return the classes in the order of their numbers, or of their names."""
    names = sorted(label.unique().to_list())
    numbers = pl.Series(names).cast(pl.Float64, strict=False)
    return tuple(names if numbers.null_count() else [names[at] for at in numbers.arg_sort()])


def _true_codes(
    asked: pl.Series, truth: pl.Series, items: list[str], classes: tuple[str, ...], name: str
) -> Ints:
    """Return the code of the true label of each labelled item; -1 where it is not known."""
    known = pl.DataFrame({"item": asked, "truth": truth}).drop_nulls().unique()
    if twice := known["item"].filter(known["item"].is_duplicated()).to_list():
        raise InputError(f"{name} has several true labels for item {min(twice)!r}")
    place = {item: at for at, item in enumerate(items)}
    rows = [(place[item], value) for item, value in known.iter_rows() if item in place]
    if not rows:
        raise InputError(f"{name} has a true label for none of the labelled items")
    right = np.full(len(items), -1)
    right[[at for at, _ in rows]] = _codes_in(pl.Series([value for _, value in rows]), classes)
    if (right[right >= 0] == len(classes)).all():
        given, wanted = format_names(classes), format_names(sorted(known["truth"].unique().to_list()))
        raise InputError(f"{name} has the true labels {wanted}, and contributors gave other labels: {given}")
    return right


def _codes_in(values: pl.Series, classes: tuple[str, ...]) -> Ints:
    """Return the place of each value among the classes; their number where it is not among them."""
    place = {name: at for at, name in enumerate(classes)}
    codes: Array = np.array([place.get(value, len(classes)) for value in values.to_list()], dtype=np.int64)
    return codes
