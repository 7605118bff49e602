"""Predictions and embeddings beside a table: read from an array, a frame or a file, aligned, checked."""

import hashlib
import io
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.checks import Floats, Ints
from anml.core.errors import InputError
from anml.core.text import pluralise
from anml.io.labels import Labels
from anml.io.plain import as_text, codes_in
from anml.io.roles import format_names as listed
from anml.io.tables import PARQUET, SEPARATORS, Table, file_bytes, read_table

NUMPY = ".npy"
ENDINGS = (*SEPARATORS, *PARQUET, NUMPY)


class SideInputs(NamedTuple):
    """User-provided inputs beside the table; `key` is a column that both have for alignment."""

    predictions: Any = None
    embeddings: Any = None
    key: str | None = None


class AlignedArray(NamedTuple):
    """Numbers (rows, columns); `names` of the columns is None for an array, `about` says what was read."""

    values: Floats
    names: tuple[str, ...] | None
    about: dict[str, str]


def align_to_rows(source: Any, what: str, table: Table, rows: Ints, key: str | None) -> AlignedArray:
    """Align an array, frame or file to `rows` by position or key; `what` names it in messages."""
    read = read_numbers(source, what)
    if isinstance(read, Table):
        frame = read.frame
        at = _by_key(frame, what, table, rows, key) if key else _by_position(frame.height, what, table, rows)
        values, names = numeric_columns(frame.drop(key) if key else frame, what, table.frame.columns)
        return AlignedArray(values[at], names, {"name": read.name, "sha256": read.sha256})
    if key is not None:
        raise InputError(f"the {what} are an array without named columns, so key {key!r} cannot align them")
    at = _by_position(len(read), what, table, rows)
    name = Path(source).name if isinstance(source, str | Path) else "array"
    return AlignedArray(read[at], None, {"name": name, "sha256": array_hash(read)})


def array_hash(numbers: Floats) -> str:
    """The hash of an array: of its shape and its numbers."""
    return hashlib.sha256(repr(numbers.shape).encode() + np.ascontiguousarray(numbers).tobytes()).hexdigest()


def read_numbers(source: Any, what: str) -> Table | Floats:
    """Read a frame or a file with named columns as a table, and anything else as an array (rows, columns)."""
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        if path.name.lower().endswith(NUMPY):
            shown = f"{what} file {path.name!r}"
            content = io.BytesIO(file_bytes(path, shown))
            try:
                array = np.load(content, allow_pickle=False)
            except (ValueError, EOFError, BadZipFile):
                array = None
            if not isinstance(array, np.ndarray):  # also several arrays in one file
                raise InputError(f"{shown} is not a NumPy file with one array of numbers")
            return _as_array(array, what)
        if not path.is_dir() and not path.name.lower().endswith(ENDINGS):
            allowed = ", ".join(ENDINGS)
            raise InputError(f"{what} file {path.name!r} has an unknown ending; allowed: {allowed}")
        return read_table(path, name=what)
    if hasattr(source, "to_frame"):  # a single column of pandas or polars
        source = source.to_frame()
    known = isinstance(source, pl.DataFrame | pl.LazyFrame) or nw.dependencies.is_pandas_dataframe(source)
    if known or hasattr(source, "__arrow_c_stream__"):
        return read_table(source, name=what)
    return _as_array(source, what)


def column_names(source: Any, what: str) -> tuple[str, ...]:
    """Return the names of the columns of a frame or a file; an array has none."""
    read = read_numbers(source, what)
    return tuple(read.frame.columns) if isinstance(read, Table) else ()


def _as_array(source: Any, what: str) -> Floats:
    if hasattr(source, "detach"):  # a tensor, of any precision, on any device, in training or not
        source = source.detach().cpu().double()
    try:
        array = np.asarray(source)
        numbers = np.asarray(array, dtype=np.float64) if array.dtype.kind in "biuf" else None
    except (TypeError, ValueError):  # rows of different lengths, or not an array
        numbers = None
    if numbers is None:
        shown = repr(source) if isinstance(source, str | int | float) else type(source).__name__
        raise InputError(f"{what} must be an array of numbers, a frame or the path of a file, got {shown}")
    if numbers.ndim != 2 and (numbers.ndim != 1 or what == "embeddings"):
        raise InputError(f"{what} must be an array (rows, columns), got one of shape {numbers.shape}")
    return numbers[:, None] if numbers.ndim == 1 else numbers


def _by_position(height: int, what: str, table: Table, rows: Ints) -> Ints:
    if height != table.frame.height:
        why = f"the {what} have {height} rows and the table has {table.frame.height}"
        raise InputError(f"{why}; give one row for each, or name a column that both have as key")
    return rows


def _by_key(frame: pl.DataFrame, what: str, table: Table, rows: Ints, key: str) -> Ints:
    """For each row used, the position in `frame` of the row with the same key."""
    if key not in frame.columns:
        raise InputError(f"the {what} have no key column {key!r}; columns: {listed(frame.columns)}")
    theirs, ours = as_text(frame[key]), as_text(table.frame[key])[rows]
    for whose, keys in ((what, theirs), ("table", ours)):
        if gaps := keys.null_count():
            raise InputError(f"key {key!r} is empty in {gaps} rows of the {whose}; every row needs one")
    if (twice := theirs.filter(theirs.is_duplicated())).len():
        why = f"key {key!r} must name each row of the {what} once"
        raise InputError(f"{why}; {twice.n_unique()} values occur more often, the first {twice[0]!r}")
    at = codes_in(ours, theirs.to_list())
    if len(absent := ours.filter(at < 0)):
        count, first = absent.n_unique(), absent[0]
        problem = f"the {what} lack {count} values of key {key!r} that the table has"
        raise InputError(f"{problem}, the first {first!r}")
    return at


def numeric_columns(
    frame: pl.DataFrame, what: str, taken: Collection[str] = ()
) -> tuple[Floats, tuple[str, ...] | None]:
    """Columns of a frame as numbers, and their names; one that is `taken` by the table is a key not named."""
    if not frame.width:
        raise InputError(f"the {what} have no column beside the key")
    if frame.width == 1 and isinstance(frame.dtypes[0], pl.List | pl.Array):
        # A column of lists, as vectors are often kept.
        try:
            vectors = np.array(frame.to_series().to_list(), dtype=np.float64)
        except (TypeError, ValueError):
            vectors = np.empty(0)
        if vectors.ndim == 2:
            return vectors, None
        name = frame.columns[0]
        raise InputError(f"column {name!r} of the {what} must hold lists of numbers of one length")
    values = np.empty((frame.height, frame.width))
    for column, series in enumerate(frame.get_columns()):
        if series.name in taken and what == "embeddings":
            raise InputError(f"column {series.name!r} of the {what} is also in the table; name it as key")
        if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
            shared = series.name in taken
            hint = "; it is also in the table, so name it as key to align by it" if shared else ""
            raise InputError(f"column {series.name!r} of the {what} holds {series.dtype}, not numbers{hint}")
        values[:, column] = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return values, tuple(frame.columns)


# How far the probabilities of a row may be from a sum of one; within that they are divided by it.
TOLERANCE = 1e-3
# Largest negative value that is taken for rounding.
ROUNDING = 1e-9


def read_predictions(
    source: Any, table: Table, rows: Ints, labels: Labels, key: str | None = None
) -> tuple[Floats, dict[str, str]]:
    """Class probabilities (rows, classes) in the order of the classes, or predicted numbers (rows,)."""
    given = align_to_rows(source, "predictions", table, rows, key)
    if labels.task == "regression":
        if (width := given.values.shape[1]) != 1:
            named = "" if given.names is None else f" ({listed([*map(repr, given.names)])})"
            problem = "predictions of a quantity are one column"
            raise InputError(f"{problem}, got {width}{named}{_key_hint(given, table)}")
        _check_finite(given.values, "predictions", rows)
        return given.values[:, 0], given.about
    values = _by_class(given, table, labels.classes)
    _check_finite(values, "predictions", rows)
    if (low := values.min(axis=1) < -ROUNDING).any():
        at = int(low.argmax())
        why = "predictions must be probabilities, which are not negative"
        raise InputError(f"{why}, got {values[at].min():g} in row {rows[at]}")
    values = np.maximum(values, 0.0)
    total = values.sum(axis=1)
    if (off := np.abs(total - 1) > TOLERANCE).any():
        at = int(off.argmax())
        rest = f"off by more than {TOLERANCE:g} in {pluralise(int(off.sum()), 'row')}"
        got = f"got {total[at]:.4g} in row {rows[at]} ({rest})"
        raise InputError(f"the predictions of a row must sum to 1, {got}")
    return values / total[:, None], given.about


def read_embeddings(
    source: Any, table: Table, rows: Ints, key: str | None = None
) -> tuple[npt.NDArray[np.float32], dict[str, str]]:
    """Vectors (rows, dimensions) that stand in place of feature columns."""
    given = align_to_rows(source, "embeddings", table, rows, key)
    check_vectors(given.values, rows)
    return given.values.astype(np.float32), given.about


def read_vectors(source: Any, width: int) -> npt.NDArray[np.float32]:
    """Vectors to predict for, by a model that was trained on embeddings of `width` dimensions."""
    read = read_numbers(source, "embeddings")
    values = numeric_columns(read.frame, "embeddings")[0] if isinstance(read, Table) else read
    if values.shape[1] != width:
        raise InputError(f"the model was trained on embeddings of {width} dimensions, got {values.shape[1]}")
    check_vectors(values, np.arange(len(values)))
    return values.astype(np.float32)


def _by_class(given: AlignedArray, table: Table, classes: list[str]) -> Floats:
    """Put columns in the order of the classes; of two classes one is enough: without a name, the second."""
    width, known = given.values.shape[1], listed([*map(repr, classes)])
    if given.names is None:
        if width == 1 and len(classes) == 2:
            return np.column_stack([1 - given.values, given.values])
        if width != len(classes):
            need = f"predictions without names need one column for each of the {len(classes)} classes"
            raise InputError(f"{need} ({known}), got {width}")
        return given.values
    at: dict[str, int] = {}
    for column, name in enumerate(given.names):
        matched = _class_of(name, classes)
        if matched is None or matched in at:
            what = f"{'no' if matched is None else 'a second column of a'} class{_key_hint(given, table)}"
            raise InputError(f"column {name!r} of the predictions is {what}; classes: {known}")
        at[matched] = column
    absent = [name for name in classes if name not in at]
    if absent and not (len(classes) == 2 and len(at) == 1):
        why = f"the predictions have no column for class {absent[0]!r}"
        raise InputError(f"{why}; one for each is needed: {known}")
    if absent:
        first = given.values[:, 0]
        pair = np.column_stack([first, 1 - first])
        return pair if classes[0] in at else pair[:, ::-1]
    return given.values[:, [at[name] for name in classes]]


def _class_of(name: str, classes: Sequence[str]) -> str | None:
    """The class that a column is named by; True and true are one where only one of them is a class."""
    if name in classes:
        return name
    matches = [each for each in classes if each.lower() == name.lower()]
    return matches[0] if len(matches) == 1 else None


def _key_hint(given: AlignedArray, table: Table) -> str:
    both = [name for name in given.names or () if name in table.frame.columns]
    return f" (column {both[0]!r} is also in the table: name it as key to align by it)" if both else ""


def check_vectors(values: Floats, rows: Ints) -> None:
    """Refuse vectors that are empty, not finite or too large."""
    if values.shape[1] == 0:
        raise InputError("embeddings need at least one dimension, got none")
    _check_finite(values, "embeddings", rows)
    if np.abs(values).max(initial=0) > np.finfo(np.float32).max:
        raise InputError(f"embeddings are too large, such as {np.abs(values).max():g}; scale them")


def _check_finite(values: Floats, what: str, rows: Ints) -> None:
    if (bad := ~np.isfinite(values)).any():
        at = int(bad.any(axis=1).argmax())
        why = f"{what} must be finite numbers; {int(bad.sum())} values are missing or infinite"
        raise InputError(f"{why}, the first in row {rows[at]}")
