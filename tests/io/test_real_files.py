"""The public files, as they lie on a user's disk."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anml.io.tables import read_table
from intake_tables import prepared

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_training", "shared_results")]


def test_adult(real_data: Path) -> None:
    made = prepared(real_data / "adult.csv.gz", label="income")
    assert made.classes == ["<=50K", ">50K"]
    assert np.bincount(made.y).tolist() == [24720, 7841]
    assert made.notes == [
        "missing feature values were filled in and marked: 'occupation' 1843, 'workclass' 1836, "
        "'native-country' 583"
    ]
    assert np.isfinite(made.x).all()
    # Six numbers are centred and scaled; the other columns are zeros and ones.
    numbers = [made.preparation.feature_names.index(name) for name in ("age", "fnlwgt", "capital-gain")]
    np.testing.assert_allclose(made.x[:, numbers].mean(axis=0, dtype=np.float64), 0, atol=1e-6)
    np.testing.assert_allclose(made.x[:, numbers].std(axis=0, dtype=np.float64), 1, atol=1e-6)
    test = made.preparation.transform(read_table(real_data / "adult_test.csv.gz").frame)
    assert test.shape == (16281, made.x.shape[1])


def test_heart_disease(real_data: Path) -> None:
    made = prepared(real_data / "heart_disease.csv.gz", label="num")
    assert made.contributor is not None
    assert len(set(made.contributor.tolist())) == 4
    assert made.classes == ["0", "1", "2", "3", "4"]
    assert len(made.y) == 920


def test_weather_sentiment(real_data: Path) -> None:
    items = read_table(real_data / "weather_sentiment_items.csv.gz").frame
    labels = read_table(real_data / "weather_sentiment_labels.csv.gz").frame
    made = prepared(labels.join(items, on="item"), ignore=["truth_confidence"])
    assert made.x.shape == (20000, 100)
    assert made.item is not None
    assert len(set(made.item.tolist())) == 1000
    assert made.contributor is not None
    assert len(set(made.contributor.tolist())) == 102
    assert len(made.classes) == 5
    # Rows of one tweet have the same features.
    row = np.flatnonzero(made.item == made.item[0])
    assert (made.x[row] == made.x[row[0]]).all()


def test_music_genre(real_data: Path) -> None:
    items = read_table(real_data / "music_genre_items.csv.gz").frame
    labels = read_table(real_data / "music_genre_labels.csv.gz").frame
    made = prepared(labels.join(items.filter(pl.col("split") == "train"), on="item"))
    assert made.x.shape == (2945, 124)
    assert len(made.classes) == 10
