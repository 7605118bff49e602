"""Expressions on rows worked out by hand, and laws over all their forms."""

import numpy as np
import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.core.stats import mean_interval, paired
from experiments.expressions import FORMS, PAIRED_TESTS, REDUCTIONS, NoRowsError, Results, interval

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("expression", "at", "expected"),
    [
        ("krum.error", {}, 12.0),
        ("krum.error@bad=0.3", {}, 24.0),
        ("*.error", {"method": "mine"}, 6.0),
        ("mine.gain", {}, 50.0),
        ("mine.gain@bad=0.3", {}, 0.0),
        (3, {}, 3.0),
        ({"ratio": ["krum.error", "mine.error"]}, {}, 2.0),
        ({"minus": ["krum.error", 2]}, {}, 10.0),
        ({"plus": ["krum.error", "mine.error", 1]}, {}, 19.0),
        ({"rise": ["krum.error@bad=0.3", "krum.error@bad=0.1"]}, {}, 100.0),
        ({"percent": ["mine.error", "krum.error"]}, {}, 50.0),
        ({"least": ["krum.error", "mine.error", 7]}, {}, 6.0),
        # A method without rows is none of those to choose from.
        ({"least": ["krum.error", "nobody.error"]}, {}, 12.0),
        ({"way_gone": ["krum.error", "mine.error", 4]}, {}, 75.0),
        ({"lowest": ["mine.gain"], "over": "bad"}, {}, 0.0),
        ({"highest": "mine.gain", "over": "bad"}, {}, 50.0),
        ({"mean": ["krum.error"], "over": "bad"}, {}, 18.0),
        ({"sum": "krum.error", "over": {"bad": "*"}}, {}, 36.0),
        ({"sum": "krum.error", "over": {"bad": [0.3]}}, {}, 24.0),
        # A value that was left out has no rows.
        ({"mean": "krum.error", "over": {"bad": [0.3, 0.5]}}, {}, 24.0),
        ({"pearson": ["krum.error", "mine.gain"], "over": "bad"}, {}, -1.0),
        ({"each_saving": ["mine.error", "krum.error"]}, {}, 50.0),
        # Differences 5, 6, 7, four times each: mean 6, spread sqrt(8 / 11).
        ({"cohens_d": ["krum.error", "mine.error"]}, {}, 6 / (8 / 11) ** 0.5),
    ],
)
def test_expressions_by_hand(results, expression, at, expected):
    assert results.value(expression, at)[0] == pytest.approx(expected)


def test_a_way_of_at_most_a_point_is_none(results):
    way = {"way_gone": ["krum.error", "mine.error", {"minus": ["krum.error", 1]}]}
    assert np.isnan(results.value(way, {})).all()
    # At bad = 0.1 undefined, at 0.3 nothing of the way is gone.
    goal = {"minus": ["krum.error", {"minus": ["krum.error", 11]}]}
    defined = {"mean_defined": {"way_gone": ["krum.error", "mine.error", goal]}, "over": "bad"}
    values = results.value(defined, {})
    assert values[0] == 0
    assert (values[1:] == 0).all()
    nowhere = {"mean_defined": way, "over": "bad"}
    assert np.isnan(results.value(nowhere, {})).all()


def test_nothing_to_choose_from_is_said(results):
    with pytest.raises(NoRowsError, match="no rows for any of"):
        results.value({"least": ["nobody.error", "noone.error"]}, {})
    with pytest.raises(NoRowsError, match="no rows for any of"):
        results.value({"mean": "krum.error", "over": {"bad": [0.5]}}, {})


def test_intervals_keep_pairs_together(results):
    # Half of the errors in every trial is half of them without any one trial.
    point, low, high = interval(results.value("mine.gain", {}))
    assert (point, low, high) == pytest.approx((50.0, 50.0, 50.0))


def test_the_interval_of_a_difference_is_the_paired_t_interval(results):
    krum, mine = results.trials("krum.error", {}), results.trials("mine.error", {})
    result = interval(results.value("krum.error", {}) - results.value("mine.error", {}))
    assert result == pytest.approx(paired(krum, mine).difference)
    assert interval(results.value("krum.error", {}), 0.1) == pytest.approx(mean_interval(krum, 0.9))


@pytest.mark.slow
def test_nineteen_in_twenty_intervals_of_ten_trials_hold_the_truth():
    """Of a difference, and of a saving; percentile bootstraps of so few trials hold it far less often."""
    rng, held = np.random.default_rng(0), np.zeros(2)
    for _ in range(400):
        base = rng.normal(20, 3, 10)
        better = base / 2 + rng.normal(0, 1, 10)
        but_one = np.vstack([np.full(10, 0.1), (1 - np.eye(10)) / 9])
        a, b = but_one @ better, but_one @ base
        for place, (values, truth) in enumerate([(a - b, -10.0), (100 * (1 - a / b), 50.0)]):
            _, low, high = interval(values)
            held[place] += low <= truth <= high
    assert (held / 400 > 0.92).all()


def test_shapiro_of_constant_errors_is_undefined(results):
    constant = Results(results.experiment, results.rows.with_columns(error=pl.lit(1.0)))
    assert np.isnan(constant.value({"shapiro": ["krum.error"]}, {})[0])


@pytest.mark.parametrize("form", [*FORMS, *PAIRED_TESTS])
def test_every_form_has_a_value_for_all_trials_and_without_each(results, form):
    terms = {"way_gone": 3, "shapiro": 1}.get(form, 2)
    result = results.value({form: ["krum.error", "mine.error", 1][:terms]}, {})
    assert result.shape == (13,)
    assert np.isfinite(result[0])


@pytest.mark.parametrize("form", REDUCTIONS)
def test_every_form_along_an_axis_lies_within_what_it_is_of(results, form):
    terms = ["krum.error", "mine.error"] if form == "pearson" else ["krum.error"]
    result = results.value({form: terms, "over": "bad"}, {})
    low, high = (-1 - 1e-9, 1 + 1e-9) if form == "pearson" else (10, 42)
    assert result.shape == (13,)
    assert low <= result[0] <= high


def test_weights_of_trials_sum_to_one_and_leave_each_out_once(results):
    assert results.weights.sum(axis=1) == pytest.approx(np.ones(13))
    assert ((results.weights == 0).sum(axis=0) == 1).all()
    again = Results(results.experiment, results.rows)
    assert (again.weights == results.weights).all()


def test_the_order_of_rows_leaves_no_trace(results):
    shuffled = Results(results.experiment, results.rows.sample(fraction=1.0, shuffle=True, seed=1))
    for expression in ("krum.error", {"ratio": ["krum.error", "mine.error"]}, "mine.gain@bad=0.3"):
        assert (shuffled.value(expression, {}) == results.value(expression, {})).all()


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ({"minus": ["krum.error", 1], "over": "bad"}, "unknown operator along an axis 'minus'"),
        ({"mean": ["krum.error"]}, "mean goes along an axis; say which with over, one of bad"),
        ({"over": "bad"}, "one operator"),
        ("krum.errors", "unknown metric 'errors'"),
        ("nobody.error", "has no rows for 'nobody.error'"),
        ("krum.error@worse=1", "unknown axis 'worse'"),
    ],
)
def test_expressions_that_mean_nothing(results, expression, says):
    with pytest.raises(AnmlError, match=says):
        results.value(expression, {})


def test_an_interval_of_one_trial_is_unknown():
    point, low, high = interval(np.array([3.0, np.nan, np.nan]))
    assert point == 3
    assert np.isnan([low, high]).all()
