"""Data sets by name: scikit-learn's own, two large ones, and those with real contributors.

These are read from a folder; the large ones may be fetched by scikit-learn.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn import datasets
from sklearn.preprocessing import OneHotEncoder

from anml.core.checks import Array, Floats, one_of
from anml.core.errors import InputError
from experiments.seen import Case, GroundTruth, MethodInput

# The folder with adult.csv.gz, adult_test.csv.gz and covtype.csv.gz.
FOLDER = "ANML_DATA"

# Adult comes in two parts; where it is fetched they are one table, the paper's 32,561 training samples first.
ADULT = {"train": ("adult.csv.gz", slice(0, 32_561)), "test": ("adult_test.csv.gz", slice(32_561, None))}
CATEGORIES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
)  # fmt: skip
HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
LABEL_SETS = ("aggre_label", "random_label1", "random_label2", "random_label3", "worse_label")


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
    messages = [part.select(pl.col(CATEGORIES).cast(pl.String).fill_null("?")).to_numpy() for part in parts]
    columns = OneHotEncoder(sparse_output=False).fit(np.vstack(messages))
    train, test = (
        Dataset(columns.transform(each), _income(part), 2) for each, part in zip(messages, parts, strict=True)
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
    """Return the path of a file in the data folder; None if it does not exist."""
    folder = os.environ.get(FOLDER)
    path = Path(folder) / name if folder else None
    return path if path is not None and path.exists() else None


def needed_file(name: str) -> Path:
    """Return the path of a file in the data folder; raise an error if it does not exist."""
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


def _music_genre(rng: np.random.Generator) -> Case:
    items, labels = _tables("music_genre")
    features = [name for name in items.columns if name not in ("item", "split", "truth")]
    train, test = (items.filter(pl.col("split") == split) for split in ("train", "test"))
    rows = labels.join(train, on="item", how="inner", maintain_order="left")
    return _joined(rows, rows.select(features).to_numpy(), test.select(features).to_numpy(), test["truth"])


def _weather_sentiment(rng: np.random.Generator) -> Case:
    """There is no split: models are measured on the tweets whose contributed labels they saw."""
    items, labels = _tables("weather_sentiment")
    x = _text_features(tuple(items["text"]))
    place = dict(zip(items["item"], range(len(items)), strict=True))
    rows = labels.join(items, on="item", how="inner", maintain_order="left")
    return _joined(rows, x[[place[item] for item in rows["item"]]], x, items["truth"])


def _joined(rows: pl.DataFrame, x: Floats, x_test: Floats, y_test: pl.Series) -> Case:
    label, contributor, truth = (_texts(rows[name]) for name in ("label", "contributor", "truth"))
    inputs = MethodInput(x, label, len(np.unique(label)), contributor, rows["item"].to_numpy())
    return Case(inputs, GroundTruth(x_test, _texts(y_test), truth))


def _texts(values: Any) -> Array:
    return np.asarray(list(values), dtype=str)


@cache
def _text_features(texts: tuple[str, ...]) -> Floats:
    """Words weighed by rarity, as directions: what `anml audit` makes of a column of text."""
    from anml.io.encode.text import TextColumn

    column = TextColumn.fit(pl.Series("text", texts), "text", 0)
    out = np.zeros((len(texts), len(column.names)), dtype=np.float32)
    column.fill(pl.Series("text", texts), out)
    return out.astype(np.float64)


def _cifar10n(rng: np.random.Generator) -> Case:
    """Five sets of labels of the same images; each image has one of its five labels, drawn at random."""
    data = cifar10n()
    sets = np.stack([data[name] for name in LABEL_SETS]).astype(np.int64)
    truth = data["clean_label"].astype(np.int64)
    drawn = rng.integers(0, len(sets), len(truth))
    x, x_test = (data[part] * data["scale"].astype(np.float64) for part in ("X_train", "X_test"))
    best = sets[int((sets == truth).mean(axis=1).argmax())]
    inputs = MethodInput(x, sets[drawn, np.arange(len(truth))], 10, np.array(LABEL_SETS)[drawn])
    return Case(inputs, GroundTruth(x_test, data["y_test"].astype(np.int64), truth, best=best))


def _heart_disease(hospital: str, rng: np.random.Generator) -> Case:
    """Train on three hospitals, test on the fourth. Missing values are the training part's medians."""
    frame = pl.read_csv(needed_file("heart_disease.csv.gz"), infer_schema_length=None)
    x = frame.drop("hospital", "num").cast(pl.Float64).fill_null(float("nan")).to_numpy()
    y = (frame["num"].to_numpy() > 0).astype(np.int64)
    where = _texts(frame["hospital"])
    train = where != hospital
    x = np.where(np.isnan(x), np.nanmedian(x[train], axis=0), x)
    return Case(MethodInput(x[train], y[train], 2, where[train]), GroundTruth(x[~train], y[~train]))


CONTRIBUTED: dict[str, Callable[[np.random.Generator], Case]] = {
    "music_genre": _music_genre,
    "cifar10n": _cifar10n,
    "weather_sentiment": _weather_sentiment,
    **{f"heart_disease-{name}": partial(_heart_disease, name) for name in HOSPITALS},
}


def load_contributed(name: str, rng: np.random.Generator) -> Case:
    """Load a set with real contributors; what is drawn at random in it comes from `rng`."""
    return CONTRIBUTED[one_of("data set", name, CONTRIBUTED)](rng)


def crowd_of(name: str) -> pl.DataFrame:
    """Labels of a crowd without features: item, contributor, label, truth."""
    labels, truth = (pl.read_csv(needed_file(f"crowd_{name}_{part}.csv.gz")) for part in ("labels", "truth"))
    return labels.join(truth, on="item", maintain_order="left")


def _tables(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.read_csv(needed_file(f"{name}_items.csv.gz")), pl.read_csv(needed_file(f"{name}_labels.csv.gz"))


def cifar10n() -> dict[str, Array]:
    """CIFAR-10 with the labels that people gave: features of photographs, and sets of labels by name."""
    return _archive(needed_file("cifar10n.npz"))


@cache
def _archive(path: Path) -> dict[str, Array]:
    with np.load(path) as data:
        return dict(data)
