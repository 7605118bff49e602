"""Sources of the bank: each is a function of its seed and matches its description."""

import numpy as np
import pytest

from experiments.bank.sources import (
    TEST_ROWS,
    blobs,
    clusters,
    coin_flips,
    digits,
    forests,
    heteroscedastic,
    moons,
    train_test_cut,
    xor,
)

pytestmark = pytest.mark.slow

MADE = {"clusters": clusters, "moons": moons, "xor": xor, "coin_flips": coin_flips}


@pytest.mark.parametrize("name", MADE)
def test_a_source_is_a_function_of_its_seed(name):
    one, two, other = MADE[name](3, 50), MADE[name](3, 50), MADE[name](4, 50)
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(one.x, other.x)
    assert (len(one.x), len(one.y), len(one.x_test), len(one.y_test)) == (50, 50, TEST_ROWS, TEST_ROWS)
    assert set(np.unique(one.y_test)) == {0, 1}


def test_rows_are_cut_where_they_are_said_to_be():
    x, y = np.arange(10.0)[:, None], np.arange(10)
    rows = train_test_cut(x, y, 4)
    assert rows.y.tolist() == [0, 1, 2, 3]
    assert rows.y_test.tolist() == [4, 5, 6, 7, 8, 9]
    assert (rows.x[:, 0] == rows.y).all()


def test_signs_agree_in_xor():
    rows = xor(0, 200)
    assert ((np.sign(rows.x[:, 0]) == np.sign(rows.x[:, 1])) == (rows.y == 1)).all()


def test_a_quarter_of_coin_flips_cannot_be_known():
    """The best prediction is the side of the plane: it errs on a quarter."""
    from sklearn.linear_model import LogisticRegression

    rows = coin_flips(0, 3_000)
    error = (LogisticRegression().fit(rows.x, rows.y).predict(rows.x_test) != rows.y_test).mean()
    assert error == pytest.approx(0.25, abs=0.03)


def test_a_class_may_be_common():
    rows = clusters(0, 500, common=0.95)
    assert (rows.y == 0).mean() == pytest.approx(0.95, abs=0.02)
    assert set(np.unique(clusters(0, 500, classes=4).y)) == {0, 1, 2, 3}


def test_waves_scatter_more_at_one_end_and_are_tested_without_noise():
    rows, everything = heteroscedastic(np.random.default_rng(0), 4_000)
    mean = 3 * np.sin(rows.x[:, 0]) + rows.x[:, 1] ** 2 + 2 * rows.x[:, 2]
    off = np.abs(rows.y - mean)
    # exp(0.75 * 3.5) and exp(0.75 * 0.5) at the middles of the outer quarters: about nine to one.
    assert off[rows.x[:, 3] > 1].mean() / off[rows.x[:, 3] < -1].mean() == pytest.approx(9.5, rel=0.2)
    test_mean = 3 * np.sin(rows.x_test[:, 0]) + rows.x_test[:, 1] ** 2 + 2 * rows.x_test[:, 2]
    assert rows.y_test == pytest.approx(test_mean)
    assert (everything[:4_000] == rows.y).all()


def test_blobs_and_digits_are_functions_of_their_seeds():
    for source in (lambda seed: blobs(seed, 60, 4, 6), lambda seed: digits(seed, 1_100)):
        one, two, other = source(3), source(3), source(4)
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
        assert not np.array_equal(one.x, other.x)
    rows = digits(0, 1_100)
    assert (rows.x.shape, rows.x_test.shape) == ((1_100, 36), (697, 36))
    assert set(np.unique(blobs(0, 60, 4, 6).y_test)) == {0, 1, 2, 3}


def test_some_cover_types_are_numbered_from_0(real_data):
    all_, subset = forests(0, 840), forests(0, 800, (1, 2, 4, 6))
    assert np.bincount(subset.y).tolist() == [200] * 4
    assert np.bincount(all_.y).tolist() == [120] * 7
    # Spruce is not among them; the highest cover type is one of both.
    assert subset.x[subset.y == 3][:, 0].mean() == pytest.approx(all_.x[all_.y == 6][:, 0].mean(), rel=0.05)
