"""Numbers in mixed units: detected, named, and separated from noise, bias and regions that really differ."""

import numpy as np
import pytest

from anml.annotators.units import detect_units


def measured(factor=1.0, shift=0.0, noise=0.5, seed=0, share=0.1):
    rng = np.random.default_rng(seed)
    truth, who = rng.uniform(5, 25, 600), rng.integers(1, 10, 600)
    who[rng.random(600) < share] = 0
    seen = truth + rng.normal(0, noise, 600)
    values = np.where(who == 0, factor * seen + shift, seen)
    return detect_units(values, truth, who, np.ones(600))


@pytest.mark.parametrize(
    ("factor", "shift", "word"),
    [(0.5144, 0, "knots"), (1.8, 32, "Fahrenheit"), (100, 0, "100"), (0.001, 0, "1000"), (0.3048, 0, "feet")],
)
def test_units_are_found_and_named(factor, shift, word):
    found = measured(factor, shift)
    assert np.flatnonzero(found.other).tolist() == [0]
    assert word in found.named(0)
    assert found.named(1) == ""


@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
def test_also_of_somebody_with_many_rows(share):
    assert np.flatnonzero(measured(2.54, share=share).other).tolist() == [0]


@pytest.mark.parametrize("seed", range(10))
def test_nobody_where_all_are_alike(seed):
    assert not measured(seed=seed).other.any()


@pytest.mark.parametrize(("factor", "shift"), [(1.0, 3.0), (1.1, 0.0), (0.9, 1.0)])
def test_a_bias_or_a_slight_scale_is_no_other_unit(factor, shift):
    assert not measured(factor, shift).other.any()


def test_noise_is_no_other_unit():
    rng = np.random.default_rng(0)
    truth, who = rng.uniform(5, 25, 400), np.arange(400) % 8
    values = np.where(who == 0, rng.uniform(5, 25, 400), truth + rng.normal(0, 0.5, 400))
    assert not detect_units(values, truth, who, np.ones(400)).other.any()


@pytest.mark.parametrize("seed", range(8))
def test_nor_are_numbers_dealt_anew_about_zero_or_one_number_for_all(seed):
    """Any noise about 0 has some slope through 0, and a constant has none."""
    rng = np.random.default_rng(seed)
    truth, who = rng.normal(0, 2.5, 900), np.arange(900) % 15
    values = truth + rng.normal(0, 0.4, 900)
    values = np.where(who == 2, rng.permutation(values), np.where(who == 3, 7.0, values))
    predicted = 0.9 * truth + rng.normal(0, 0.5, 900)
    assert not detect_units(values, predicted, who, np.ones(900)).other.any()


def test_a_line_that_does_not_go_through_zero_is_named_by_no_factor():
    """Predictions that are timid make the line of Fahrenheit as steep as that of knots."""
    rng = np.random.default_rng(1)
    truth, who = rng.normal(15, 6, 900), np.arange(900) % 10
    seen = truth + rng.normal(0, 1, 900)
    predicted = 15 + 0.9 * (truth - 15) + rng.normal(0, 1.5, 900)
    found = detect_units(np.where(who == 0, 1.8 * seen + 32, seen), predicted, who, np.ones(900))
    assert found.named(0) == "uses another unit: Fahrenheit for Celsius"
    found = detect_units(np.where(who == 0, 3 * seen - 100, seen), predicted, who, np.ones(900))
    assert found.named(0).startswith("uses another unit: ×")
    assert "knots" not in found.named(0)
