"""Data sets with real contributors, from the folder named by ANML_DATA; `truth` only scores."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.core.checks import Array, Floats, one_of
from anml.lab.data import needed_file

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
LABEL_SETS = ("aggre_label", "random_label1", "random_label2", "random_label3", "worse_label")


@dataclass(frozen=True)
class Contributed:
    """One row per contributed label, and a test part with right labels.

    `item` is None where every thing has one label. `truth`, where it is known, is for scoring only; `best`
    are labels of the best contributor, where one labelled everything: a bound, not a method.
    """

    x: Floats
    label: Array
    contributor: Array
    item: Array | None
    x_test: Floats
    y_test: Array
    truth: Array | None = None
    best: Array | None = None


def _music_genre(rng: np.random.Generator) -> Contributed:
    items, labels = _tables("music_genre")
    features = [name for name in items.columns if name not in ("item", "split", "truth")]
    train, test = (items.filter(pl.col("split") == split) for split in ("train", "test"))
    rows = labels.join(train, on="item", how="inner", maintain_order="left")
    return _joined(rows, rows.select(features).to_numpy(), test.select(features).to_numpy(), test["truth"])


def _weather_sentiment(rng: np.random.Generator) -> Contributed:
    """There is no split: models are measured on the tweets whose contributed labels they saw."""
    items, labels = _tables("weather_sentiment")
    x = _text_features(tuple(items["text"]))
    place = dict(zip(items["item"], range(len(items)), strict=True))
    rows = labels.join(items, on="item", how="inner", maintain_order="left")
    return _joined(rows, x[[place[item] for item in rows["item"]]], x, items["truth"])


def _joined(rows: pl.DataFrame, x: Floats, x_test: Floats, y_test: pl.Series) -> Contributed:
    label, contributor, item, truth = (
        rows[name].to_numpy() for name in ("label", "contributor", "item", "truth")
    )
    return Contributed(x, _texts(label), _texts(contributor), item, x_test, _texts(y_test), _texts(truth))


def _texts(values: Any) -> Array:
    return np.asarray(list(values), dtype=str)


@cache
def _text_features(texts: tuple[str, ...]) -> Floats:
    """Words weighed by rarity, as directions: what `anml audit` makes of a column of text."""
    from anml.intake.encode.text import TextColumn

    column = TextColumn.fit(pl.Series("text", texts), "text", 0)
    out = np.zeros((len(texts), len(column.names)), dtype=np.float32)
    column.fill(pl.Series("text", texts), out)
    return out.astype(np.float64)


def _cifar10n(rng: np.random.Generator) -> Contributed:
    """Five sets of labels of the same images; each image has one of its five labels, drawn at random."""
    data = cifar10n()
    sets = np.stack([data[name] for name in LABEL_SETS]).astype(np.int64)
    truth = data["clean_label"].astype(np.int64)
    drawn = rng.integers(0, len(sets), len(truth))
    scale = data["scale"].astype(np.float64)
    return Contributed(
        x=data["X_train"] * scale, label=sets[drawn, np.arange(len(truth))],
        contributor=np.array(LABEL_SETS)[drawn], item=None, x_test=data["X_test"] * scale,
        y_test=data["y_test"].astype(np.int64), truth=truth,
        best=sets[int((sets == truth).mean(axis=1).argmax())],
    )  # fmt: skip


def _heart_disease(hospital: str, rng: np.random.Generator) -> Contributed:
    """Train on three hospitals, test on the fourth. Missing values are the training part's medians."""
    frame = pl.read_csv(needed_file("heart_disease.csv.gz"), infer_schema_length=None)
    x = frame.drop("hospital", "num").cast(pl.Float64).fill_null(float("nan")).to_numpy()
    y = (frame["num"].to_numpy() > 0).astype(np.int64)
    where = _texts(frame["hospital"])
    train = where != hospital
    x = np.where(np.isnan(x), np.nanmedian(x[train], axis=0), x)
    return Contributed(x[train], y[train], where[train], None, x[~train], y[~train])


CONTRIBUTED: dict[str, Callable[[np.random.Generator], Contributed]] = {
    "music_genre": _music_genre,
    "cifar10n": _cifar10n,
    "weather_sentiment": _weather_sentiment,
    **{f"heart_disease-{name}": partial(_heart_disease, name) for name in HOSPITALS},
}


def load_contributed(name: str, rng: np.random.Generator) -> Contributed:
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
