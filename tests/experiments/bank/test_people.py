"""The ten conditions in which people are easily misjudged: each as it is described."""

import numpy as np
import pytest

from experiments.bank.conditions import make_condition
from experiments.bank.people import CONTRIBUTOR_CONDITIONS, INVERTED, ONE_SIDED

pytestmark = pytest.mark.slow


def shares(condition):
    """Share of right labels of every contributor."""
    inputs, right = condition.seen, condition.seen.y == condition.truth.y
    return np.bincount(inputs.contributor, right) / np.bincount(inputs.contributor)


@pytest.mark.parametrize(
    "name", [n for n in CONTRIBUTOR_CONDITIONS if n not in ("reg_units", "drift_lazy_second_half")]
)
@pytest.mark.parametrize("seed", [0, 3])
def test_bad_is_only_who_is_far_below_the_others(name, seed):
    condition = make_condition(name, seed)
    right = shares(condition)
    bad = condition.bad
    if bad.any():
        assert right[bad].mean() < np.median(right[~bad]) - 0.25
    if name not in ("microtask_10spam", "weak_supervision_lf"):  # few rows; signs of unequal strength
        assert right[~bad].min() > np.median(right[~bad]) - 0.25


def test_everybody_has_a_skill_and_credentials_follow_it():
    condition = make_condition("beta_skill_crowd", 0)
    right, inputs = shares(condition), condition.seen
    assert right.std() > 0.05
    reputation = np.array([inputs.r[inputs.contributor == code][0] for code in range(24)])
    assert np.corrcoef(right, reputation)[0, 1] > 0.5
    wrong = inputs.y != condition.truth.y
    assert set((inputs.y - condition.truth.y)[wrong] % 4) == {1, 2, 3}


def test_the_expert_is_right_and_the_others_share_a_misconception():
    condition = make_condition("expert_vs_crowd35", 0)
    right = shares(condition)
    assert right[0] == 1
    assert right[1:].mean() == pytest.approx(0.65, abs=0.04)
    assert (condition.seen.contributor == 0).mean() == pytest.approx(0.08, abs=0.03)
    off = (condition.seen.y - condition.truth.y)[condition.seen.y != condition.truth.y] % 3
    assert (off == 1).mean() == pytest.approx(0.75, abs=0.08)


def test_the_machine_swaps_two_digits_and_nothing_else():
    condition = make_condition("llm60_confuses_pair", 0)
    machine = condition.seen.contributor == 0
    message, right = condition.seen.y[machine], condition.truth.y[machine]
    pair = np.isin(right, [4, 9])
    assert machine.mean() == pytest.approx(0.6, abs=0.06)
    assert (message[~pair] == right[~pair]).all()
    assert (message + right)[message != right].tolist() == [13] * int((message != right).sum())
    assert (message != right)[pair].mean() == pytest.approx(0.65, abs=0.12)


def test_raters_are_a_step_off_and_v_goes_by_the_grade():
    condition = make_condition("ordinal_lenient_severe", 0)
    inputs, off = condition.seen, condition.seen.y - condition.truth.y
    assert np.abs(off).max() == 1
    leaning = np.bincount(inputs.contributor, off) / np.bincount(inputs.contributor)
    assert leaning.min() < -0.1
    assert leaning.max() > 0.1
    assert inputs.v[inputs.y == 2].mean() > inputs.v[inputs.y == 0].mean() + 0.3


def test_two_stop_looking_halfway_and_the_model_of_people_is_told_the_time(real_data):
    condition = make_condition("drift_lazy_second_half", 0)
    inputs, right = condition.seen, condition.seen.y == condition.truth.y
    lazy = inputs.contributor < 2
    assert (np.diff(inputs.age) < 0).all()
    assert right[lazy & (inputs.age >= 0.5)].mean() > 0.9
    assert right[lazy & (inputs.age < 0.5)].mean() == pytest.approx(0.25, abs=0.12)
    assert right[~lazy].mean() > 0.9
    assert set(np.unique(condition.truth.y)) == set(np.unique(condition.truth.y_test)) == {0, 1, 2, 3}


def test_the_expert_has_the_hardest_rows_and_two_guess():
    condition = make_condition("active_hard_guessers", 0)
    right = shares(condition)
    assert (condition.seen.contributor == 0).sum() == 165
    assert right[0] == pytest.approx(0.9, abs=0.07)
    assert right[[1, 2]].max() < 0.75
    assert right[3:].min() > 0.85


def test_workers_have_three_to_eight_rows():
    condition = make_condition("microtask_10spam", 0)
    counts = np.bincount(condition.seen.contributor)
    assert (counts.min(), counts.max()) == (3, 8)
    spam = condition.truth.bad
    right = condition.seen.y == condition.truth.y
    assert condition.bad.sum() == 20
    assert right[spam].mean() == pytest.approx(0.25, abs=0.15)
    assert right[~spam].mean() > 0.92


def test_one_turns_every_case_of_a_class():
    condition = make_condition("one_class_attack", 0)
    one = condition.seen.contributor == 0
    assert set(condition.seen.y[one & (condition.truth.y == 2)]) == {0}
    assert one.mean() == pytest.approx(0.18, abs=0.04)
    assert (condition.seen.y == condition.truth.y)[one & (condition.truth.y == 1)].mean() > 0.9


def test_a_station_in_metres_per_second_and_one_on_a_mountain():
    condition = make_condition("reg_units", 0)
    inputs, wind = condition.seen, condition.truth.y
    other = inputs.contributor == 2
    np.testing.assert_allclose(inputs.y[other], 0.514 * wind[other])
    np.testing.assert_array_equal(inputs.y[~other], wind[~other])
    mountain = wind[inputs.contributor == 6].mean()
    assert mountain > wind[inputs.contributor != 6].mean() + 4
    assert inputs.numeric


def test_functions_speak_where_they_know_and_one_says_the_opposite():
    condition = make_condition("weak_supervision_lf", 0)
    inputs, right = condition.seen, shares(condition)
    for function in range(9):
        message = inputs.y[inputs.contributor == function]
        assert (max(message.mean(), 1 - message.mean()) > 0.9) == (function in ONE_SIDED)
        assert (right[function] > 0.6) == (function != INVERTED)
    assert right[INVERTED] < 0.35
    pairs = set(zip(inputs.item.tolist(), inputs.contributor.tolist(), strict=True))
    assert len(pairs) == len(inputs.item)
    assert len(np.unique(inputs.item)) == inputs.item.max() + 1
