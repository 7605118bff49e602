"""Data sets by name: scikit-learn's own, and two large ones from a folder or scikit-learn's fetchers."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn import datasets
from sklearn.preprocessing import OneHotEncoder

from anml.core.checks import Floats, one_of
from anml.core.errors import InputError

# The folder with adult.csv.gz, adult_test.csv.gz and covtype.csv.gz.
FOLDER = "ANML_DATA"

# Adult comes in two parts; where it is fetched they are one table, the paper's 32,561 training samples first.
ADULT = {"train": ("adult.csv.gz", slice(0, 32_561)), "test": ("adult_test.csv.gz", slice(32_561, None))}
CATEGORIES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
)  # fmt: skip


class DataMissingError(InputError):
    """A data set is neither in the folder nor to be had from scikit-learn's fetchers."""


class Dataset(NamedTuple):
    """Features (n, d), labels (n,): codes below `classes`, or numbers where classes is 1."""

    x: Floats
    y: np.ndarray[Any, Any]
    classes: int


def _embedded(name: str) -> Dataset:
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "diabetes":
        return Dataset(x, y.astype(np.float64), 1)
    return Dataset(x.astype(np.float64), y.astype(np.int64), int(y.max()) + 1)


def _adult() -> Dataset:
    """14 features as the paper counts them: categories become codes, in order of name."""
    frame = _adult_part("train")
    columns = [
        column.cast(pl.Float64)
        if column.dtype.is_numeric()
        else column.cast(pl.String).fill_null("?").rank("dense").cast(pl.Float64)
        for column in frame.drop("income").iter_columns()
    ]
    return Dataset(np.column_stack([c.to_numpy() for c in columns]), _income(frame), 2)


def _adult_part(part: str) -> Any:
    name, rows = ADULT[part]
    path = file_of(name)
    if path is not None:
        return pl.read_csv(path)
    frame = pl.from_pandas(_fetched("adult", lambda sk: sk.fetch_openml("adult", version=2).frame))
    return frame.rename({"class": "income"})[rows]


def _income(frame: Any) -> np.ndarray[Any, Any]:
    label = frame["income"].cast(pl.String).str.strip_chars(" .").str.starts_with(">")
    return np.asarray(label.cast(pl.Int64).to_numpy())


@cache
def adult_categories() -> tuple[Dataset, Dataset]:
    """Training and test part of Adult with its categories alone, each value a column of 0 and 1."""
    parts = [_adult_part("train"), _adult_part("test")]
    said = [part.select(pl.col(CATEGORIES).cast(pl.String).fill_null("?")).to_numpy() for part in parts]
    columns = OneHotEncoder(sparse_output=False).fit(np.vstack(said))
    train, test = (
        Dataset(columns.transform(each), _income(part), 2) for each, part in zip(said, parts, strict=True)
    )
    return train, test


def _covertype() -> Dataset:
    path = file_of("covtype.csv.gz")
    if path is not None:
        frame = pl.read_csv(path)
        y = frame["Cover_Type"].to_numpy()
        x = frame.drop("Cover_Type").to_numpy()
    else:
        x, y = _fetched("covertype", lambda sk: sk.fetch_covtype(return_X_y=True))
    return Dataset(x.astype(np.float64), y.astype(np.int64) - 1, 7)


DATASETS: dict[str, Callable[[], Dataset]] = {
    "wine": lambda: _embedded("wine"),
    "breast-cancer": lambda: _embedded("breast_cancer"),
    "digits": lambda: _embedded("digits"),
    "diabetes": lambda: _embedded("diabetes"),
    # Friedman's first function of ten features, five of which count, with normal noise.
    "friedman": lambda: Dataset._make((*datasets.make_friedman1(800, noise=1.0, random_state=0), 1)),
    "adult": _adult,
    "covertype": _covertype,
}


@cache
def load_dataset(name: str) -> Dataset:
    """Load a data set once per process."""
    return DATASETS[one_of("data set", name, DATASETS)]()


def file_of(name: str) -> Path | None:
    """Where a file of the folder of data sets is; None where there is none."""
    folder = os.environ.get(FOLDER)
    path = Path(folder) / name if folder else None
    return path if path is not None and path.exists() else None


def needed_file(name: str) -> Path:
    """Where a file of the folder of data sets is, or that it is missing."""
    path = file_of(name)
    if path is None:
        raise DataMissingError(f"{name} is not in the folder named by {FOLDER}")
    return path


def _fetched(name: str, fetch: Callable[[Any], Any]) -> Any:
    try:
        return fetch(datasets)
    except Exception as error:
        raise DataMissingError(
            f"the data set {name!r} is not in the folder named by {FOLDER} and could not be fetched "
            f"({type(error).__name__})"
        ) from error
