"""Data sets by name: their shapes, loaded once, and what is said where one cannot be had."""

import numpy as np
import pytest

from anml.core.errors import AnmlError
from experiments import data
from experiments.data import DATASETS, DataMissingError, file_of, load_dataset
from experiments.door import NUMERIC

pytestmark = pytest.mark.slow

# Rows, features, classes.
SHAPES = {
    "wine": (178, 13, 3), "breast-cancer": (569, 30, 2), "digits": (1_797, 64, 10), "diabetes": (442, 10, 1),
    "friedman": (800, 10, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    result = load_dataset(name)
    assert (*result.x.shape, result.classes) == SHAPES[name]
    assert result.x.dtype == np.float64
    assert np.isfinite(result.x).all()
    assert (result.classes == 1) == (name in NUMERIC)
    if result.classes > 1:
        assert set(np.unique(result.y)) == set(range(result.classes))


def test_every_set_that_needs_no_file_is_tried_above():
    assert set(SHAPES) == set(DATASETS) - {"adult", "covertype"}


def test_adult_as_the_paper_counts_it(real_data):
    result = load_dataset("adult")
    assert (*result.x.shape, result.classes) == (32_561, 14, 2)
    # A quarter earns more than 50,000.
    assert result.y.mean() == pytest.approx(0.241, abs=0.001)


def test_a_set_is_loaded_once():
    assert load_dataset("wine") is load_dataset("wine")


def test_an_unknown_set_is_named():
    with pytest.raises(AnmlError, match=r"unknown data set 'wines' \(did you mean 'wine'\?\)"):
        load_dataset("wines")


@pytest.mark.parametrize("name", ["adult", "covertype"])
def test_what_is_neither_in_the_folder_nor_to_be_fetched_is_said(name, tmp_path, monkeypatch):
    from sklearn import datasets

    def unreachable(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setenv("ANML_DATA", str(tmp_path))
    for fetcher in ("fetch_openml", "fetch_covtype"):
        monkeypatch.setattr(datasets, fetcher, unreachable)
    with pytest.raises(
        DataMissingError, match=f"the data set '{name}' is not in the folder named by ANML_DATA"
    ):
        DATASETS[name]()


def test_a_file_is_looked_for_in_the_folder_that_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("ANML_DATA", raising=False)
    assert file_of("x.csv") is None
    monkeypatch.setenv("ANML_DATA", str(tmp_path))
    assert file_of("x.csv") is None
    (tmp_path / "x.csv").write_text("")
    assert file_of("x.csv") == tmp_path / "x.csv"


def test_incomes_are_read_with_and_without_a_point():
    import polars as pl

    frame = pl.DataFrame({"income": [" <=50K", ">50K", ">50K.", "<=50K."]})
    assert data._income(frame).tolist() == [0, 1, 1, 0]
