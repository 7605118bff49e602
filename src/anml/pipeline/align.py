"""The weights of an audit for a dataset's rows, by key, pandas index or place; equal columns must agree."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from anml.core.checks import Array, Ints
from anml.core.errors import InputError, UnsupportedError
from anml.core.types import ORDINAL, PREFERENCE, TASK_TYPES, Gate, Recipe, Weighting
from anml.io.plain import as_text, codes_in
from anml.io.source import read_source
from anml.io.tables import parquet_files
from anml.io.tasks.preferences import chat_text
from anml.pipeline.result import AuditResult

# The column that numbers the rows of files; no table has one of this name.
PLACE = "\0row"


def weights_for(
    result: AuditResult, table: pl.DataFrame, data: Any, key: str | None = None, index: Any = None
) -> Weighting:
    """Return the weights of the rows of `data`, in their order; `table` is all that was audited."""
    rule = result.policy.recipe
    return _weights(result.samples, result.kind, result.gate, rule, table, data, key, index)


def _weights(
    found: pl.DataFrame, kind: str | None, gate: Gate, recipe: Recipe, table: pl.DataFrame, data: Any,
    key: str | None, index: Any,
) -> Weighting:  # fmt: skip
    if kind not in (None, PREFERENCE, ORDINAL):
        why = f"weights of {kind} are of labels of candidates, not of rows of the table"
        raise UnsupportedError(f"{why}; take them from samples, by item and contributor")
    at = _row_positions(table, _unwrap(data), key, index)
    judged = np.full(table.height, -1)
    judged[found["row"].to_numpy()] = np.arange(found.height)
    rows = judged[at]
    seen = rows >= 0
    w = np.where(seen, found["weight"].to_numpy()[rows], 0.0)
    kept = seen & found["kept"].to_numpy()[rows]
    if not kept.any():
        raise InputError("the audit kept none of these rows")
    named = None if key is None else (key, _column(_unwrap(data), key) or [])
    return Weighting(w, kept, gate, recipe, named)


def weights_from_run(
    samples: pl.DataFrame, record: Mapping[str, Any], weighting: Weighting, data: Any, key: str | None = None
) -> Weighting:
    """Return the weights of a run on disk; of its table only the columns that find the rows are read."""
    name = record["task"]["name"]
    kind = name if name in TASK_TYPES else None
    about = record["data"]
    if "path" not in about:
        raise InputError("this run was made of a frame; audit the frame again to find weights for its rows")
    place = Path(about["path"])
    if files := parquet_files(place):
        table = pl.scan_parquet(files, row_index_name=PLACE)
        names, inner = table.collect_schema().names(), _unwrap(data)
        some = [name for name in names if name == PLACE or _column(inner, name) is not None]
        some = some if key is None else [name for name in names if name == key]
        frame = table.select(some).collect()
    else:
        frame = read_source(place, str(about["format"]), record.get("schema_given") or {}).table.frame
    return _weights(samples, kind, weighting.gate, weighting.recipe, frame, data, key, None)


def _unwrap(data: Any) -> Any:
    """The dataset of a DataLoader, or the data themselves; of Hugging Face's the values as they are kept."""
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    inner = getattr(data, "dataset", None) if hasattr(data, "batch_size") else None
    inner = data if inner is None else inner
    return inner.with_format(None) if hasattr(inner, "with_format") else inner


def _row_positions(table: pl.DataFrame, data: Any, key: str | None, index: Any) -> Ints:
    if hasattr(data, "indices") and hasattr(data, "dataset"):  # a Subset of torch
        return np.asarray(_row_positions(table, data.dataset, key, index)[np.asarray(data.indices)])
    if key is not None:
        return _by_key(_texts(table[key].to_list()) if key in table.columns else None, data, key)
    named = index is not None and nw.dependencies.is_pandas_dataframe(data)
    if named:
        if not index.is_unique:
            raise InputError("the index of the audited frame names rows twice; name a column as key")
        if ((at := index.get_indexer(data.index)) < 0).any():
            raise InputError(f"the audited frame has no row {data.index[int(np.argmin(at))]!r}")
    else:
        if not hasattr(data, "__len__"):
            raise InputError(f"a {type(data).__name__} has no length; name a column of both as key")
        if len(data) != table.height:
            said = f"the data have {len(data)} rows and the audited table {table.height}"
            raise InputError(f"{said}; name a column that both have as key")
        at = np.arange(table.height)
    if not _require_equal_columns(table, data, at) and not (
        named and type(data.index).__name__ != "RangeIndex"
    ):
        why = "the data and the audited table share no column, so rows cannot be matched"
        raise InputError(f"{why}; name a key, or use the weights of the audited rows")
    return np.asarray(at)


def _by_key(names: list[str] | None, data: Any, key: str) -> Ints:
    theirs = _column(data, key)
    if names is None or theirs is None:
        which = "audited table" if names is None else "dataset"
        raise InputError(f"the {which} has no column {key!r} to find rows by")
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise InputError(f"key {key!r} must name each row of the audited table once, {name!r} comes again")
    wanted = _texts(theirs)
    if ((places := codes_in(pl.Series(wanted, dtype=pl.String), names)) < 0).any():
        raise InputError(f"the audited table has no row whose {key!r} is {wanted[int(places.argmin())]!r}")
    return places


def _require_equal_columns(table: pl.DataFrame, data: Any, at: Array) -> bool:
    """Require equal values in columns with the same name; return True if there are such columns."""
    found = {name: each for name in table.columns if (each := _column(data, name)) is not None}
    for name, theirs in found.items():
        ours = _texts(table[name].to_list())
        for row, (given, place) in enumerate(zip(_texts(theirs), at, strict=True)):
            if given != ours[place]:
                both = f"{given[:40]!r} as {name!r}, the audited table {ours[place][:40]!r}"
                why = f"row {row} of the data has {both}: these are other rows, or another order"
                raise InputError(f"{why}; name a key")
    return bool(found)


def _column(data: Any, name: str) -> list[Any] | None:
    """A column of a frame, a dataset of Hugging Face, or of examples; None where it has none."""
    columns = getattr(data, "column_names", getattr(data, "columns", None))
    if columns is not None:
        return list(data[name]) if name in list(columns) else None
    try:
        first = data[0]
    except Exception:
        return None
    if not isinstance(first, Mapping) or name not in first:
        return None
    return [data[at][name] for at in range(len(data))]


def _texts(values: list[Any]) -> list[str]:
    """Values as they are compared: 1, 1.0 and "1" name the same row, and a tensor its number."""
    plain = [_plain(each) for each in values]
    if any(isinstance(each, list | dict | tuple) for each in plain):
        return [chat_text(each) for each in plain]
    return as_text(pl.Series(plain, strict=False)).fill_null("").to_list()


def _plain(value: Any) -> Any:
    if isinstance(value, pl.Series) or (isinstance(value, np.ndarray) and value.ndim):
        return list(value)
    value = getattr(value, "as_py", getattr(value, "item", lambda: value))()
    return None if isinstance(value, float) and np.isnan(value) else value
