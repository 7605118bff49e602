"""Evaluation of a system on a trial, by hand."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.cited.outcome import (
    GRID,
    Tuned,
    final_models,
    measure_models,
    of_contributors,
    of_rows,
    select_learning_rate,
)
from experiments.cited.trials import make_trial
from experiments.measures import Outcome
from experiments.spec import Setting

pytestmark = pytest.mark.slow


def setting(attack, **more):
    return Setting(dataset="wine", attack=attack, contributors=20, bad=0.3, **more)


def test_a_perfect_outcome():
    case = make_trial(setting("flip"), 0, 3)
    perfect = Outcome(kept=case.right, quality=(~case.bad).astype(float))
    result = measure_models(case, perfect, Tuned(lambda x: case.truth.y_test, 1e-3))
    assert result["error"] == 0
    assert result["precision"] == 100
    assert result["ranked"] == 1
    assert result["paid_bad"] == 0
    assert result["honest_lost"] == 0
    chosen = of_contributors(case.seen, (~case.bad).astype(float))
    for kept in (chosen.kept, chosen.natural):
        assert (kept == ~case.truth.bad).all()


@cache
def by_hand():
    """Four contributors, one row each; the first two are bad, and the first one's row is wrong."""
    case = make_trial(setting("flip"), 0, 3)
    inputs = replace(case.seen, contributor=np.arange(4), x=case.seen.x[:4], y=case.seen.y[:4], malicious=2)
    wrong, bad = np.arange(4) < 1, np.arange(4) < 2
    return replace(case, seen=inputs, truth=replace(case.truth, wrong=wrong, bad=bad))


def test_measures_by_hand():
    case = by_hand()
    y_test = case.truth.y_test
    answer = Outcome(kept=np.array([True, True, True, False]), quality=np.array([1.0, -1.0, 2.0, 3.0]))
    result = measure_models(case, answer, Tuned(lambda x: 1 - (y_test == 0), 3e-3))
    # Two of three kept rows are right; of positive scores 1 of 6 goes to the bad.
    assert result["precision"] == pytest.approx(200 / 3)
    assert result["paid_bad"] == pytest.approx(100 / 6)
    # All pairs of a good and a bad one are in order.
    assert result["ranked"] == 1
    # Of the two rows of honest contributors one is lost.
    assert result["honest_lost"] == 50
    assert result["lr"] == 3e-3
    assert not {"backdoor", "error_natural"} & set(result)
    natural = Tuned(lambda x: y_test, 1e-3)
    assert measure_models(case, answer, natural, natural)["error_natural"] == 0


def test_what_a_system_does_not_say_is_not_measured():
    case = by_hand()
    result = measure_models(case, Outcome(), right := Tuned(lambda x: case.truth.y_test, 1e-3))
    assert result["error"] == 0
    assert not {"precision", "ranked", "paid_bad"} & set(result)
    # Who gives everybody the same score ranks nobody.
    assert measure_models(case, Outcome(quality=np.zeros(4)), right)["ranked"] == 0.5


def test_the_worst_contributors_are_dropped_as_many_as_there_are_attackers():
    inputs = by_hand().seen
    chosen = of_contributors(inputs, np.array([0.3, 0.1, -0.2, 0.9]))
    assert chosen.kept.tolist() == [True, False, False, True]
    # By their own threshold, values of at most zero, only one is.
    assert chosen.natural.tolist() == [True, True, False, True]
    # Ties are broken by place, so the same scores give the same rows; with no value above zero all stay.
    none = of_contributors(inputs, np.zeros(4))
    assert none.kept.tolist() == [False, False, True, True]
    assert none.natural.all()


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4))
def test_half_of_the_rows_are_kept_where_half_of_all_are_attackers(scores):
    inputs = by_hand().seen
    chosen, values = of_rows(inputs, np.array(scores)), np.array(scores)
    assert chosen.kept.sum() == 2
    assert min(values[chosen.kept]) >= max(values[~chosen.kept])
    assert (chosen.natural == (values > 0)).all() or (values <= 0).all()


def test_models_of_several_choices_are_those_of_each_alone():
    inputs = make_trial(setting("flip"), 0, 3).seen
    short = Setting(epochs=3, hidden=(4,))
    every, half = np.ones(len(inputs.y), dtype=bool), np.arange(len(inputs.y)) % 2 == 0
    both = final_models(inputs, [every, half, every.copy()], short)
    (alone,) = final_models(inputs, [half], short)
    assert both[1].rate == alone.rate
    assert (both[1].predict(inputs.x) == alone.predict(inputs.x)).all()
    # The same rows are trained on once.
    assert both[0] is both[2]
    assert final_models(inputs, [], short) == []


def test_the_rate_is_chosen_on_the_validation_part_by_the_labels_it_came_with():
    inputs = make_trial(setting("flip"), 0, 3).seen
    wrong = (inputs.held_y + 1) % 3
    assert (
        select_learning_rate(inputs, [lambda x: wrong, lambda x: inputs.held_y, lambda x: inputs.held_y]).rate
        == GRID[1]
    )
    assert select_learning_rate(inputs, [lambda x: wrong] * 3).rate == GRID[0]
