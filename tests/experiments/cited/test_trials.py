"""Trials of the cited systems: what they are told is apart from what is true, for every attack."""

import numpy as np
import pytest

from experiments.cases import ATTACKS as ON_LABELS
from experiments.cited.trials import ATTACKS, HELD_OUT, MARK, PATTERN, ROOT, make_trial
from experiments.door import ON_NUMBERS
from experiments.spec import Setting

pytestmark = pytest.mark.slow


def setting(attack, **more):
    return Setting(dataset="wine", attack=attack, contributors=20, bad=0.3, **more)


@pytest.mark.parametrize(
    "attack", [a for a in ATTACKS if a not in ("shift", "bias", "noisy", "unit", "random")]
)
def test_trials_are_repeatable_and_truth_is_apart(attack):
    case = make_trial(setting(attack), 0, 3)
    inputs, truth = case.seen, case.truth
    again = make_trial(setting(attack), 0, 3).seen
    assert (inputs.x == again.x).all()
    assert (inputs.y == again.y).all()
    assert case.bad.sum() == 6
    assert inputs.malicious == 6
    # Where everybody is confused, honest ones are wrong now and then.
    assert attack == "confused" or not truth.wrong[~truth.bad].any()
    assert not case.bad[inputs.trusted].any()
    test = {row.tobytes() for row in truth.x_test}
    assert not any(row.tobytes() in test for row in inputs.root_x)
    assert set(np.unique(inputs.root_y)) == set(np.unique(truth.y_test))


def test_free_riders_copy_or_make_up():
    case = make_trial(setting("copies"), 0, 3)
    inputs, truth = case.seen, case.truth
    honest = {row.tobytes() for row in (*inputs.x[~truth.bad], *inputs.held_x)}
    assert all(row.tobytes() in honest for row in inputs.x[truth.bad])
    assert not truth.wrong.any()
    case = make_trial(setting("made-up"), 0, 3)
    inputs, truth = case.seen, case.truth
    assert (inputs.noise_updates == case.bad).all()


def test_sybils_are_more_than_systems_are_told():
    case = make_trial(setting("flip", sybils=3), 0, 3)
    assert case.bad.sum() > case.seen.malicious == 6


def test_attacks_are_those_on_labels_and_three_more():
    assert set(ATTACKS) == {*ON_LABELS, "copies", "made-up", "backdoor"}


def test_a_backdoor_is_a_pattern_with_a_label_in_rows_of_attackers_alone():
    case = make_trial(setting("backdoor"), 0, 3)
    inputs, truth = case.seen, case.truth
    marked = (inputs.x[:, -PATTERN:] == MARK).all(axis=1)
    assert marked.any()
    assert truth.bad[marked].all()
    assert (inputs.y[marked] == truth.trigger.target).all()
    assert (truth.trigger.x[:, -PATTERN:] == MARK).all()
    # Rows that are tested for the backdoor are of the other classes.
    assert (
        len(truth.trigger.x) == (np.concatenate([truth.y_test, inputs.root_y]) != truth.trigger.target).sum()
    )


@pytest.mark.parametrize("attack", ["flip", "copies", "made-up", "backdoor"])
def test_without_bad_contributors_nothing_is_wrong_and_there_is_nobody_to_find(attack):
    case = make_trial(Setting(dataset="wine", attack=attack, contributors=10, bad=0.0), 0, 3)
    inputs, truth = case.seen, case.truth
    assert not truth.wrong.any()
    assert not truth.bad.any()
    assert inputs.malicious == 0


@pytest.mark.parametrize("sybils", [1, 3])
def test_the_validation_part_is_of_contributed_rows_and_leaves_everybody_some(sybils):
    case = make_trial(setting("flip", sybils=sybils), 0, 3)
    inputs, truth = case.seen, case.truth
    whole = len(inputs.y) + len(inputs.held_y)
    assert len(inputs.held_y) == whole // HELD_OUT
    assert np.bincount(inputs.contributor).min() >= 1
    assert len(truth.wrong) == len(inputs.y) == len(inputs.v)
    assert len({row.tobytes() for row in (*inputs.x, *inputs.held_x)}) == whole


def test_the_servers_set_is_small():
    case = make_trial(Setting(dataset="digits", attack="flip", contributors=10), 0, 3)
    inputs, truth = case.seen, case.truth
    assert len(inputs.root_y) == ROOT
    assert len(inputs.root_y) + len(truth.y_test) == 540


def test_means_of_rows_by_contributor_by_hand():
    inputs = make_trial(setting("flip"), 0, 3).seen
    values = np.arange(len(inputs.y), dtype=float)
    slow = [values[inputs.contributor == client].mean() for client in range(inputs.clients)]
    assert inputs.mean(values) == pytest.approx(slow)


def test_attacks_on_numbers_are_not_on_classes():
    assert set(ON_NUMBERS) < set(ON_LABELS)
