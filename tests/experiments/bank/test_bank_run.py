"""Rows of the bank: one per condition, method and seed, and no method but the oracle sees the truth."""

from dataclasses import replace

import numpy as np
import pytest
from bank_small import BANK, small
from sklearn.base import BaseEstimator, ClassifierMixin

from experiments.bank.conditions import make_condition
from experiments.bank.run import run_method
from experiments.kinds import MEASURES, run_block
from experiments.seen import GroundTruth

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_forests", "short_training", "shared_results")]


def test_a_seed_of_its_own_gives_other_conditions():
    bank = small(["clean_xor"], ["uniform"])
    first, second = run_block(bank, [0, 1], "clean_xor")
    [other] = run_block(replace(bank, seed=1), [0], "clean_xor")
    assert other["error_rf"] == second["error_rf"] != first["error_rf"]


@pytest.mark.parametrize(
    ("method", "name"),
    [*((method, "moons_20flip") for method in BANK.compared), ("evidence", "num_hetero_bad")],
)
def test_truth_changes_nothing_but_the_oracle(method, name):
    condition = make_condition(name, 0).part(np.arange(200))
    mixed = np.random.default_rng(0).permutation(200)
    known = condition.truth
    bad = np.isin(condition.seen.contributor, [9, 10])
    truth = GroundTruth(known.x_test, known.y_test[::-1], known.y[mixed], bad=bad)
    lied = replace(condition, truth=truth)
    one, two = (run_method(BANK, each, method) for each in (condition, lied))
    if one is None:
        assert (method, two) == ("cleanlab", None)
        return
    if method == "oracle":
        seen_x, given = trained_on(two)
        np.testing.assert_array_equal(seen_x, condition.seen.x)
        np.testing.assert_array_equal(given, truth.y)
        return
    for a, b in ((one.kept, two.kept), (one.score, two.score), (one.p_correct, two.p_correct)):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.verdict, two.verdict)
    for a, b in zip(trained_on(one), trained_on(two), strict=True):
        np.testing.assert_array_equal(a, b)


class Recorder(ClassifierMixin, BaseEstimator):
    """An estimator that gives back what it is trained on."""

    def fit(self, X, y):
        return X, y


def trained_on(outcome):
    """Features and labels that a method hands to an estimator."""
    return outcome.train(Recorder())


def test_a_class_that_nobody_names_any_more_is_no_matter(real_data):
    bank = small(["specclass_30"], ["uniform", "cleanlab", "zdrop"])
    seeds = [s for s in range(20) if len(np.unique(make_condition("specclass_30", s).seen.y)) < 7]
    rows = run_block(replace(bank, seed=seeds[0]), [0], "specclass_30")
    assert [row["method"] for row in rows] == ["uniform", "cleanlab", "zdrop"]


def test_a_row_has_every_measure_and_says_where_it_is_from():
    (row,) = run_block(small(["clean_xor"], ["uniform"]), [3], "clean_xor")
    assert (row["trial"], row["dataset"], row["method"]) == (3, "clean_xor", "uniform")
    assert set(row) == {"trial", "dataset", "method", "seconds", *MEASURES["bank"]}
    assert row["right_dropped"] == 0
