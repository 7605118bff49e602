"""Sets with real contributors: their shapes, and what is said where they are not there."""

import os

import numpy as np
import pytest

from anml.core.errors import AnmlError
from experiments.data import CONTRIBUTED, HOSPITALS, LABEL_SETS, DataMissingError, load_contributed

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(
    not os.environ.get("ANML_DATA"), reason="needs the folder of data sets named by ANML_DATA"
)


@needs_data
def test_shapes_of_the_sets():
    rng = np.random.default_rng(0)
    music = load_contributed("music_genre", rng)
    assert music.seen.x.shape == (2945, 124)
    assert len(music.truth.y_test) == 300
    assert float((music.seen.y == music.truth.y).mean()) == pytest.approx(0.560, abs=0.001)
    weather = load_contributed("weather_sentiment", rng)
    assert (len(weather.seen.y), len(np.unique(weather.seen.contributor))) == (20_000, 102)
    images = load_contributed("cifar10n", rng)
    assert images.seen.x.shape == (50_000, 256)
    assert float((images.truth.best == images.truth.y).mean()) == pytest.approx(0.910, abs=0.001)
    heart = load_contributed("heart_disease-va", rng)
    assert (len(heart.seen.y), len(heart.truth.y_test)) == (720, 200)
    assert np.isfinite(heart.seen.x).all()
    assert "va" not in heart.seen.contributor


@needs_data
def test_the_labels_drawn_differ_by_trial_and_nothing_else():
    first, again, other = (load_contributed("cifar10n", np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.seen.y, again.seen.y)
    assert (first.seen.y != other.seen.y).any()
    np.testing.assert_array_equal(first.truth.y, other.truth.y)


@pytest.mark.parametrize("name", CONTRIBUTED)
def test_a_set_that_is_not_there_is_named_with_its_file(name, tmp_path, monkeypatch):
    from experiments import data as contributed

    monkeypatch.setenv("ANML_DATA", str(tmp_path))
    contributed._archive.cache_clear()
    with pytest.raises(DataMissingError, match=r"^[a-z_0-9.]+ is not in the folder named by ANML_DATA$"):
        load_contributed(name, np.random.default_rng(0))


def test_unknown_sets_are_named():
    with pytest.raises(AnmlError, match=r"unknown data set 'music' \(did you mean 'music_genre'\?\)"):
        load_contributed("music", np.random.default_rng(0))


@needs_data
@pytest.mark.parametrize("name", [name for name in CONTRIBUTED if name != "cifar10n"])
def test_every_row_has_a_label_a_contributor_and_features(name):
    data = load_contributed(name, np.random.default_rng(0))
    n = len(data.seen.y)
    assert data.seen.x.shape[0] == n == len(data.seen.contributor)
    assert np.isfinite(data.seen.x).all()
    assert np.isfinite(data.truth.x_test).all()
    assert data.seen.x.shape[1] == data.truth.x_test.shape[1]
    assert len(data.truth.x_test) == len(data.truth.y_test)
    assert data.seen.item is None or len(data.seen.item) == n
    assert data.truth.y is None or set(data.truth.y) <= {*data.seen.y, *data.truth.y_test}


@needs_data
@pytest.mark.parametrize("hospital", HOSPITALS)
def test_a_hospital_is_tested_on_and_never_trained_on(hospital):
    data = load_contributed(f"heart_disease-{hospital}", np.random.default_rng(0))
    assert set(data.seen.contributor) == set(HOSPITALS) - {hospital}
    # 920 patients in all four.
    assert len(data.truth.y_test) + len(data.seen.y) == 920


def test_sets_of_labels_are_five():
    assert len(set(LABEL_SETS)) == 5
