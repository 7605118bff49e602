"""Weights of an audit for the rows of a dataset, matched by key, pandas index or position."""

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

# Name of the column of row numbers; no table has a column of this name.
PLACE = "\0row"


def weights_for(
    result: AuditResult, table: pl.DataFrame, data: Any, key: str | None = None, index: Any = None
) -> Weighting:
    """Return the weights of the rows of `data`, in their order; `table` is the audited table."""
    rule = result.policy.recipe
    label = result.columns.label
    return _weights(result.samples, result.kind, result.gate, rule, table, data, key, index, label)


def _weights(
    samples: pl.DataFrame, kind: str | None, gate: Gate, recipe: Recipe, table: pl.DataFrame, data: Any,
    key: str | None, index: Any, label: str,
) -> Weighting:  # fmt: skip
    if kind not in (None, PREFERENCE, ORDINAL):
        why = f"weights of {kind} belong to labels of candidates, not to rows of the table"
        raise UnsupportedError(f"{why}; take them from samples, by item and contributor")
    positions = _row_positions(table, _unwrap(data), key, index)
    if key is not None:
        _require_same_labels(table, _unwrap(data), positions, label)
    sample_of_row = np.full(table.height, -1)
    sample_of_row[samples["row"].to_numpy()] = np.arange(samples.height)
    rows = sample_of_row[positions]
    has_weight = rows >= 0
    w = np.where(has_weight, samples["weight"].to_numpy()[rows], 0.0)
    kept = has_weight & samples["kept"].to_numpy()[rows]
    if not kept.any():
        raise InputError("the audit kept none of the rows of this dataset")
    key_column = None if key is None else (key, _column(_unwrap(data), key) or [])
    return Weighting(w, kept, gate, recipe, key_column)


def weights_from_run(
    samples: pl.DataFrame, record: Mapping[str, Any], weighting: Weighting, data: Any, key: str | None = None
) -> Weighting:
    """Return the weights of a run on disk; only the columns needed to match rows are read."""
    name = record["task"]["name"]
    kind = name if name in TASK_TYPES else None
    data_info = record["data"]
    if "path" not in data_info:
        raise InputError("this run has no data path, since a frame was audited; audit the frame again")
    path = Path(data_info["path"])
    if files := parquet_files(path):
        table = pl.scan_parquet(files, row_index_name=PLACE)
        names, dataset = table.collect_schema().names(), _unwrap(data)
        selected = [name for name in names if name == PLACE or _column(dataset, name) is not None]
        label = record["schema"]["label"]
        selected = selected if key is None else [name for name in names if name in (key, label)]
        frame = table.select(selected).collect()
    else:
        frame = read_source(path, str(data_info["format"]), record.get("schema_given") or {}).table.frame
    label = record["schema"]["label"]
    return _weights(samples, kind, weighting.gate, weighting.recipe, frame, data, key, None, label)


def _unwrap(data: Any) -> Any:
    """Return the dataset of a DataLoader, without a format of Hugging Face; else the data."""
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
    has_index = index is not None and nw.dependencies.is_pandas_dataframe(data)
    if has_index:
        if not index.is_unique:
            raise InputError("the index of the audited frame has duplicates; name a column as key")
        if ((positions := index.get_indexer(data.index)) < 0).any():
            raise InputError(f"the audited frame has no row {data.index[int(np.argmin(positions))]!r}")
    else:
        if not hasattr(data, "__len__"):
            raise InputError(f"a {type(data).__name__} has no length; name a shared column as key")
        if len(data) != table.height:
            lengths = f"the data have {len(data)} rows and the audited table {table.height}"
            raise InputError(f"{lengths}; name a shared column as key")
        positions = np.arange(table.height)
    if not _require_equal_columns(table, data, positions) and not (
        has_index and type(data.index).__name__ != "RangeIndex"
    ):
        why = "the data and the audited table share no column, so rows cannot be matched"
        raise InputError(f"{why}; name a key, or use the weights of the audited rows")
    return np.asarray(positions)


def _by_key(names: list[str] | None, data: Any, key: str) -> Ints:
    keys = _column(data, key)
    if names is None or keys is None:
        source = "audited table" if names is None else "dataset"
        raise InputError(f"the {source} has no key column {key!r}")
    name, n_equal = Counter(names).most_common(1)[0]
    if n_equal > 1:
        raise InputError(f"key {key!r} must be unique in the audited table, {name!r} is duplicated")
    texts = _texts(keys)
    if ((positions := codes_in(pl.Series(texts, dtype=pl.String), names)) < 0).any():
        raise InputError(f"the audited table has no row whose {key!r} is {texts[int(positions.argmin())]!r}")
    return positions


def _require_equal_columns(table: pl.DataFrame, data: Any, positions: Array) -> bool:
    """Require equal values in columns with the same name; return True if there are such columns."""
    shared = {name: values for name in table.columns if (values := _column(data, name)) is not None}
    for name, values_of_data in shared.items():
        audited = _texts(table[name].to_list())
        for row, (given, position) in enumerate(zip(_texts(values_of_data), positions, strict=True)):
            if given != audited[position]:
                both = f"{given[:40]!r} as {name!r}, the audited table {audited[position][:40]!r}"
                why = f"row {row} of the data has {both}: the rows or their order differ"
                raise InputError(f"{why}; name a key")
    return bool(shared)


def _require_same_labels(table: pl.DataFrame, data: Any, positions: Array, label: str) -> None:
    """Refuse rows whose label has changed since the audit: the weight is that of the former label."""
    values = _column(data, label) if label in table.columns else None
    if values is None:
        return
    audited, given = np.array(_texts(table[label].to_list()))[positions], np.array(_texts(values))
    # A dataset may hold codes in place of the names of classes.
    if (changed := given != audited).any() and np.isin(given[given != ""], audited).any():
        row = int(changed.argmax())
        both = f"{str(given[row])!r} as {label!r}, the audited table {str(audited[row])!r}"
        raise InputError(f"row {row} of the data has {both}; audit the data with the new labels")


def _column(data: Any, name: str) -> list[Any] | None:
    """Return a column of a frame, a Hugging Face dataset or a list of examples; None if it has none."""
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
    """Return values as text for comparison: 1, 1.0, "1" and a tensor of 1 are equal."""
    plain = [_plain(each) for each in values]
    if any(isinstance(each, list | dict | tuple) for each in plain):
        return [chat_text(each) for each in plain]
    return as_text(pl.Series(plain, strict=False)).fill_null("").to_list()


def _plain(value: Any) -> Any:
    if isinstance(value, pl.Series) or (isinstance(value, np.ndarray) and value.ndim):
        return list(value)
    value = getattr(value, "as_py", getattr(value, "item", lambda: value))()
    return None if isinstance(value, float) and np.isnan(value) else value
