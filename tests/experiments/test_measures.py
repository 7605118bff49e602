"""Measures by hand: errors, labels, contributors, backdoors; those of the bank among them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.calibration import calibration_curve
from anml.weighting.weigh import RECIPES
from experiments.bank.run import LEARNERS, apply_recipe, learner, measures
from experiments.kinds import MEASURES as OF_KINDS
from experiments.measures import (
    Outcome,
    auroc_of_quality,
    count_verdicts,
    error_of,
    from_columns,
    of_items,
    of_labels,
    of_quality,
    percent,
    rank_correlation,
    run_methods,
    to_columns,
    weight_on_wrong,
)
from experiments.seen import Case, GroundTruth, MethodInput, Trigger

pytestmark = pytest.mark.slow

MEASURES = OF_KINDS["bank"]


class Sure:
    """An outcome whose model answers by the first feature."""

    @staticmethod
    def predict(x):
        return x[:, 0].astype(int)


def outcome_of(**parts):
    return Outcome(train=lambda learner: Sure(), **parts)


def four_labels(**parts):
    inputs = MethodInput(np.zeros((4, 1)), np.array([0, 1, 1, 0]), 2, np.array([0, 0, 1, 2]))
    x_test, right = np.array([[0.0], [1.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    truth = GroundTruth(x_test, np.array([0, 1, 1, 0]), right, inputs.y != right, inputs.contributor > 0)
    return Case(inputs, replace(truth, **parts))


@pytest.mark.parametrize(
    ("verdict", "honest", "liars"),
    [
        (["no better than guessing", "contradicts the others", "inconclusive"], (1, 0), (1, 0)),
        (["reliable", "less reliable", "reliable"], (0, 1), (1, 1)),
        (["less reliable", "reliable", "no better than guessing"], (0, 0), (1, 1)),
    ],
)
def test_measures_by_hand(verdict, honest, liars):
    trigger = Trigger(np.array([[1.0], [0.0]]), 1)
    result = measures(
        four_labels(trigger=trigger),
        outcome_of(
            kept=np.array([True, False, True, True]), score=np.array([0.9, 0.8, 0.1, 0.85]),
            p_correct=np.array([0.9, 0.7, 0.1, 0.2]), verdict=np.array(verdict),
        ),
    )  # fmt: skip
    assert set(MEASURES) - set(result) == {"seconds"}
    assert (result["error_lr"], result["error_rf"]) == (25, 25)
    assert (result["right_dropped"], result["wrong_kept"]) == (50, 100)
    assert (result["honest"], result["liars"]) == (1, 2)
    assert (result["honest_convicted"], result["honest_reliable"]) == honest
    assert (result["liars_found"], result["liars_reliable"]) == liars
    assert result["calibration"] == pytest.approx((0.1 + 0.3 + 0.1 + 0.2) / 4)
    assert result["ranking"] == 0.75
    assert (result["attack_lr"], result["attack_rf"]) == (50, 50)


def test_what_is_not_defined_is_not_measured():
    result = measures(four_labels(), outcome_of())
    assert set(MEASURES) - set(result) - {"seconds"} == {
        "right_dropped", "wrong_kept", "calibration", "ranking", "attack_lr", "attack_rf"
    }  # fmt: skip
    assert result["liars_found"] == 0


def test_where_one_class_is_left_it_is_predicted():
    answer = replace(apply_recipe(four_labels().seen, RECIPES["uniform"]), kept=np.array([0, 1, 1, 0]) > 0)
    assert measures(four_labels(), answer)["error_lr"] == 50


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20))
def test_errors_of_classes_are_percent_of_what_differs(pairs):
    predicted, truth = np.array(pairs).T
    result = error_of(predicted, truth, numeric=False)
    assert result == pytest.approx(100 * sum(a != b for a, b in pairs) / len(pairs))


@given(
    st.lists(st.floats(-9, 9), min_size=2, max_size=20).filter(lambda v: np.std(v) > 1e-3), st.floats(0.1, 5)
)
def test_errors_of_numbers_do_not_depend_on_their_unit(truth, unit):
    """A thermometer in other degrees is not better or worse: guessing the mean errs by all of the spread."""
    y = np.array(truth)
    guess = np.full(len(y), y.mean())
    assert error_of(guess, y, numeric=True) == pytest.approx(100)
    assert error_of(unit * (y + 1), unit * y, numeric=True) == pytest.approx(error_of(y + 1, y, numeric=True))
    assert error_of(y, y, numeric=True) == 0


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_final_model_learns_and_is_the_same_for_the_same_seed(name, numeric):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y = 3 * x[:, 0] if numeric else (x[:, 0] > 0).astype(int)
    one, two = (learner(name, numeric, 1).fit(x, y).predict(x) for _ in range(2))
    assert (one == two).all()
    assert error_of(one, y, numeric) < 30


def test_measures_are_named_once():
    assert len(set(MEASURES)) == len(MEASURES)
    assert {f"error_{name}" for name in LEARNERS} <= set(MEASURES)


def test_what_is_kept_by_hand():
    """Of four labels the last two are wrong; of people the last two are bad."""
    result = of_labels(four_labels(), Outcome(kept=np.array([True, False, True, False])))
    assert (result["kept"], result["precision"]) == (50, 50)
    assert (result["right_dropped"], result["wrong_kept"], result["honest_lost"]) == (50, 50, 50)
    # Weights count in place of what is kept.
    assert of_labels(four_labels(), Outcome(weights=np.array([3.0, 0, 1, 0])))["precision"] == 75
    assert "precision" not in of_labels(four_labels(), Outcome(weights=np.zeros(4)))


def test_how_good_people_are_said_to_be_by_hand():
    result = of_quality(four_labels(), np.array([3.0, 1.0, -1.0]))
    assert (result["ranked"], result["paid_bad"]) == (1, 25)
    assert result["ranks"] == pytest.approx(0.866, abs=0.001)  # one is right, two are wrong
    assert "correlation" not in result  # nobody has twenty labels
    assert auroc_of_quality(np.zeros(3), np.array([True, True, False])) == 0.5


def test_small_measures_by_hand():
    assert percent([True, False]) == 50
    assert np.isnan(percent([]))
    assert weight_on_wrong(np.array([1.0, 3.0]), np.array([True, False])) == 25
    assert rank_correlation(np.array([1, 5, 9]), np.array([2, 3, 100])) == pytest.approx(1)
    assert np.isnan(rank_correlation(np.array([1, 2]), np.array([False, False])))
    words = ["reliable", "inconclusive", "reliable"]
    assert count_verdicts(words, {"some": (np.array([True, True, False]), ["reliable"])}) == {"some": 1}


def test_items_whose_truth_was_told_do_not_count():
    posterior = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    right = np.array([0, 0, 0])
    assert of_items(Outcome(posterior=posterior), right)["consensus"] == pytest.approx(200 / 3)
    assert of_items(Outcome(posterior=posterior, told=[1]), right)["consensus"] == 100


def test_methods_that_do_not_apply_have_no_row_and_shared_time_is_kept():
    answers = {"a": Outcome(kept=np.ones(1)), "b": None, "c": Outcome(seconds=7.0)}
    result = dict(run_methods(list(answers), answers.get, lambda answer: {"x": 1.0}))
    assert list(result) == ["a", "c"]
    assert result["c"] == {"x": 1.0, "seconds": 7.0}
    assert 0 <= result["a"]["seconds"] < 1


def test_trials_are_joined_label_by_label():
    parts = [([0.15, 0.95], [True, True]), ([0.15, 0.55], [False, True])]
    joined = from_columns(*(to_columns(calibration_curve(*part)) for part in parts))
    once = calibration_curve([0.15, 0.95, 0.15, 0.55], [True, True, False, True])
    np.testing.assert_array_equal(joined.count, once.count)
    np.testing.assert_allclose(joined.mean_p, once.mean_p)
    np.testing.assert_allclose(joined.right, once.right)
    assert joined.error == pytest.approx(once.error)


def test_bins_fit_into_a_row_and_come_back():
    result = calibration_curve([0.15, 0.95], [True, True])
    back = from_columns({**to_columns(result), "accuracy": 70.0})
    np.testing.assert_array_equal(back.count, result.count)
    np.testing.assert_array_equal(back.right, result.right)
    assert back.error == result.error
