"""Plain columns: text, numbers, truth values, dates, instants (UTC); NaN and empty text are missing."""

import hashlib
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.errors import InputError

# Numbers with commas between thousands, and the share of numbers from which a text column holds numbers.
THOUSANDS_COMMA, MIN_NUMERIC = r"^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$", 0.95


def normalise_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Reduce every column to a plain kind, so that pandas, polars and Arrow give the same arrays."""
    return to_frame([_plain_series(series) for series in frame.get_columns()]).rechunk()


def to_frame(columns: list[pl.Series]) -> pl.DataFrame:
    """Put columns together under their own names, also where a name is empty as that of a saved index."""
    frame = pl.DataFrame(columns)
    frame.columns = [series.name for series in columns]
    return frame


def _plain_series(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if dtype.is_float() or dtype.is_decimal():
        return series.cast(pl.Float64).fill_nan(None)
    if dtype.is_integer():
        if (whole := series.cast(pl.Int64, strict=False)).null_count() == series.null_count():
            return whole
        # Too large for 64 bits: kept as floats, or as text where different ones would become the same.
        floats = series.cast(pl.Float64)
        return floats if floats.n_unique() == series.n_unique() else series.cast(pl.String)
    if isinstance(dtype, pl.Datetime):
        instants = series.cast(pl.Datetime("us", dtype.time_zone))
        return instants.dt.convert_time_zone("UTC") if dtype.time_zone else instants
    if isinstance(dtype, pl.Duration):
        return series.dt.total_microseconds() / 1e6
    if isinstance(dtype, pl.Time):
        return series.cast(pl.Int64) / 1e9
    if isinstance(dtype, pl.Object):
        return pl.Series(series.name, [None if v is None else str(v) for v in series.to_list()], pl.String)
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Null):
        texts = series.cast(pl.String)
        # Empty text is a missing value, as in a CSV file.
        return texts.set(texts == "", None) if (texts == "").any() else texts
    return series


def is_nested(dtype: pl.DataType) -> bool:
    """Say whether a column holds lists, records, bytes or another kind that is never a feature."""
    return not (dtype.is_numeric() or isinstance(dtype, pl.String | pl.Boolean | pl.Date | pl.Datetime))


def as_text(series: pl.Series) -> pl.Series:
    """Identifiers or labels as text; 7.0, as pandas stores 7 in a column with gaps, reads as 7."""
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        raise InputError(f"column {series.name!r} holds {series.dtype}, which is no identifier and no label")
    if series.dtype.is_float():
        known = series.drop_nulls()
        if bool(((known == known.round()) & (known.abs() < 2**53)).all()):
            series = series.cast(pl.Int64)
    return series if series.dtype == pl.String else series.cast(pl.String)


def numbers_in_text(texts: pl.Series) -> pl.Series | None:
    """Return the numbers of a text column, with a decimal comma or with commas between thousands.

    Return None if fewer than 95% of the values are numbers, or if some begin with a zero, as codes do.
    """
    if texts.dtype != pl.String or not texts.head(100).str.contains(r"^[-+]?\d").any():
        return None
    parted = texts.str.contains(THOUSANDS_COMMA).fill_null(False)
    forms = (
        texts,
        texts.str.replace_all(",", "", literal=True).zip_with(parted, texts),
        texts.str.replace(",", ".", literal=True),
    )
    numbers = max((form.cast(pl.Float64, strict=False) for form in forms), key=pl.Series.count)
    codes = texts.str.contains(r"^0\d").any()
    return None if codes or numbers.count() < MIN_NUMERIC * texts.count() else numbers


def from_text(series: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Convert the text of `as_text` back to its data type; null for invalid text."""
    if dtype.is_numeric():
        return series.cast(dtype, strict=False)
    texts = series.unique().drop_nulls().to_list()
    values = pl.Series([_parse_as(text, dtype) for text in texts], dtype=dtype)
    return series.replace_strict(pl.Series(texts, dtype=pl.String), values, default=None, return_dtype=dtype)


def _parse_as(text: str, dtype: pl.DataType) -> Any:
    if dtype == pl.Boolean:
        return {"true": True, "false": False}.get(text)
    try:
        return date.fromisoformat(text) if dtype == pl.Date else datetime.fromisoformat(text)
    except ValueError:
        return None


def text_array(series: pl.Series) -> npt.NDArray[np.str_]:
    """Return a text column without gaps as a numpy array; each distinct text is converted once."""
    names = series.unique().sort().to_list()
    return np.array(names, dtype=np.str_)[codes_in(series, names)]


def codes_in(series: pl.Series, levels: list[Any]) -> npt.NDArray[np.int64]:
    """Return the position of each value in `levels`, and -1 for what is not among them."""
    if not levels:
        return np.full(len(series), -1, dtype=np.int64)
    coded = series.replace_strict(levels, list(range(len(levels))), default=-1, return_dtype=pl.Int64)
    return coded.fill_null(-1).to_numpy().astype(np.int64)


def fingerprint(frame: pl.DataFrame) -> str:
    """Hash names, kinds and values, alike in pandas, polars or Arrow, whatever lies under missing values."""
    digest = hashlib.sha256()
    for series in frame.get_columns():
        digest.update(f"{series.name}\x00{series.dtype}\x00{len(series)}\x00".encode())
        digest.update(np.packbits(series.is_null().to_numpy()).tobytes())
        digest.update(_value_bytes(series))
    return digest.hexdigest()


def _value_bytes(series: pl.Series) -> bytes:
    if is_nested(series.dtype):
        return repr(series.to_list()).encode()
    if series.dtype == pl.String:
        lengths = series.str.len_bytes().cast(pl.Int64).fill_null(0).to_numpy()
        joined = series.fill_null("").str.join("").item() if len(series) else ""
        return lengths.tobytes() + str(joined).encode()
    if series.dtype == pl.Boolean:
        return series.cast(pl.UInt8).fill_null(0).to_numpy().tobytes()
    return series.to_physical().fill_null(0).to_numpy().tobytes()
