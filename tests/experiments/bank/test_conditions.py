"""The bank's conditions: the same for the same seed, and each as it is described."""

import os
from dataclasses import astuple

import numpy as np
import pytest

from anml.core.errors import AnmlError
from experiments.bank.conditions import CONDITIONS, make_condition
from experiments.bank.people import CONTRIBUTOR_CONDITIONS
from experiments.data import DataMissingError, adult_categories
from experiments.spec import report_texts

pytestmark = pytest.mark.slow

# Rows, contributors, those who give wrong labels, and the lowest and highest share of wrong labels.
SHAPES = {
    "clean_moons": (800, 15, [], 0, 0),
    "clean_xor": (400, 15, [], 0, 0),
    "clean_bayes25": (800, 15, [], 0, 0),
    "clean_imb95": (900, 15, [], 0, 0),
    "clean_c20": (900, 15, [], 0, 0),
    "clean_adultcat": (900, 15, [], 0, 0),
    "specclass_0": (840, 21, [], 0, 0),
    "minority_concept": (800, 15, [], 0, 0),
    "num_hetero_0": (700, 15, [], 0, 0),
    "idn_moons": (800, 15, [], 0.09, 0.17),
    "asym20_all": (1_000, 20, [], 0.13, 0.22),
    "moons_20flip": (800, 15, [0, 1, 2], 0.15, 0.25),
    "adultcat_20flip": (900, 15, [0, 1, 2], 0.15, 0.25),
    "imb_rareflip": (1_200, 8, [0], 0.005, 0.04),
    "specclass_30": (840, 21, None, 0.2, 0.4),
    "lazy_bal4": (900, 15, [0, 1, 2, 3, 4], 0.18, 0.32),
    "experts2": (1_200, 22, list(range(2, 22)), 0.6, 0.75),
    "sybil_dups": (800, 20, [0, 1, 2, 3, 4], 0.2, 0.3),
    "backdoor_1contrib": (800, 20, [0], 0.05, 0.05),
    "num_hetero_bad": (700, 15, [0, 1, 2], 0.15, 0.25),
    "beta_skill_crowd": (1_200, 24, [], 0.1, 0.3),
    "expert_vs_crowd35": (1_200, 15, [], 0.27, 0.37),
    "llm60_confuses_pair": (1_100, 13, [], 0.06, 0.15),
    "ordinal_lenient_severe": (1_300, 12, [], 0.1, 0.4),
    "drift_lazy_second_half": (1_200, 10, [0, 1], 0.08, 0.16),
    "active_hard_guessers": (1_100, 14, [1, 2], 0.06, 0.14),
    "microtask_10spam": (None, 200, None, 0.08, 0.18),
    "one_class_attack": (950, 12, [0], 0.05, 0.13),
    "reg_units": (900, 10, [2], 0.2, 0.35),
    "weak_supervision_lf": (None, 9, [5], 0.2, 0.4),
}
# Where honest contributors give wrong labels too.
MISTAKEN = (
    "idn_moons",
    "asym20_all",
    "experts2",
    *(name for name in CONTRIBUTOR_CONDITIONS if name != "reg_units"),
)
# The digits that are not trained on, and four cover types.
FEWER_TESTS = {"llm60_confuses_pair": 697, "active_hard_guessers": 697, "drift_lazy_second_half": 1_120}
NAMES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name.startswith(("specclass", "adultcat", "clean_adultcat", "drift"))
            and not os.environ.get("ANML_DATA"),
            reason="needs Covertype or Adult, in the folder named by ANML_DATA",
        ),
    )
    for name in CONDITIONS
]


def flat(value):
    """Every array of a condition, in order."""
    if isinstance(value, tuple):
        return [array for part in value for array in flat(part)]
    return [np.asarray(value)]


def same(one, two):
    pairs = zip(flat(astuple(one)), flat(astuple(two)), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def test_every_condition_is_described_here():
    assert set(SHAPES) == set(CONDITIONS)
    assert list(report_texts("conditions")) == list(CONDITIONS)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_decides_a_condition(name):
    assert same(make_condition(name, 3), make_condition(name, 3))
    assert not same(make_condition(name, 3), make_condition(name, 4))


@pytest.mark.parametrize("name", NAMES)
def test_a_condition_has_what_it_promises(name):
    rows, contributors, liars, low, high = SHAPES[name]
    for seed in (0, 7):
        condition = make_condition(name, seed)
        inputs, truth = condition.seen, condition.truth
        assert (
            len(inputs.x)
            == len(inputs.y)
            == len(truth.y)
            == len(inputs.contributor)
            == (rows or len(inputs.x))
        )
        assert len(np.unique(inputs.contributor)) == contributors
        assert condition.truth.x_test.shape == (len(condition.truth.y_test), inputs.x.shape[1])
        assert len(condition.truth.y_test) >= FEWER_TESTS.get(name, 1_900)
        wrong = inputs.y != truth.y
        assert low <= wrong.mean() <= high
        if liars is not None:
            assert np.flatnonzero(condition.bad).tolist() == liars
        if name not in MISTAKEN:
            assert not wrong[~truth.bad].any()


@pytest.mark.parametrize("name", NAMES[: -len(CONTRIBUTOR_CONDITIONS)])
def test_credentials_mean_nothing_and_reputation_is_of_contributors(name):
    inputs = make_condition(name, 0).seen
    if name in ("experts2", "sybil_dups") or inputs.numeric:
        assert inputs.v is None
        assert inputs.r is None
        return
    for signal in (inputs.v, inputs.r):
        assert ((signal >= 0.2) & (signal <= 0.95)).all()
    pairs = set(zip(inputs.contributor.tolist(), inputs.r.tolist(), strict=True))
    assert len(pairs) == len(np.unique(inputs.contributor))


def test_mistakes_near_the_boundary_are_near_it():
    condition = make_condition("idn_moons", 0)
    wrong = condition.seen.y != condition.truth.y
    # A straight line errs on rows in the middle, where the mistakes are.
    middle = np.abs(condition.seen.x[:, 1] - 0.25) < 0.5
    assert wrong[middle].mean() > 1.5 * wrong[~middle].mean()


def test_even_classes_are_taken_for_the_next_by_everybody():
    condition = make_condition("asym20_all", 0)
    message, right = condition.seen.y, condition.truth.y
    wrong = message != right
    assert (right[wrong] % 2 == 0).all()
    assert (message[wrong] == right[wrong] + 1).all()
    assert wrong[right % 2 == 0].mean() == pytest.approx(0.35, abs=0.06)
    assert len(np.unique(condition.seen.contributor[wrong])) == 20


def test_who_does_not_look_gives_one_answer_and_experts_are_right():
    lazy = make_condition("lazy_bal4", 0).seen
    assert set(lazy.y[lazy.contributor < 5]) == {0}
    crowd = make_condition("experts2", 0)
    contributors, label = crowd.seen.contributor, crowd.seen.y
    assert np.bincount(crowd.seen.item).tolist() == [3] * 400
    assert len(set(zip(crowd.seen.item.tolist(), contributors.tolist(), strict=True))) == 1_200
    assert all(len(np.unique(label[contributors == code])) == 1 for code in range(2, 8))
    assert (label == crowd.truth.y)[contributors < 2].mean() > 0.9
    assert (label == crowd.truth.y)[contributors >= 8].mean() == pytest.approx(0.25, abs=0.06)


def test_rare_cases_are_called_common_by_one():
    condition = make_condition("imb_rareflip", 0)
    inputs, truth = condition.seen, condition.truth
    assert (inputs.contributor == 0).mean() == pytest.approx(0.35, abs=0.05)
    assert set(inputs.y[inputs.contributor == 0]) == {0}
    assert truth.y[inputs.contributor == 0].any()


def test_copies_are_near_rows_of_others_and_turned_round():
    condition = make_condition("sybil_dups", 0)
    inputs, truth = condition.seen, condition.truth
    own = inputs.contributor < 5
    away = np.linalg.norm(inputs.x[own][:, None] - inputs.x[~own][None], axis=2)
    assert away.min(axis=1).max() < 0.3
    assert len(np.unique(away.argmin(axis=1))) <= 10
    assert (inputs.y[own] == 1 - truth.y[own]).all()
    x, y = truth.clean
    np.testing.assert_array_equal(x[~own], inputs.x[~own])
    np.testing.assert_array_equal(y[~own], inputs.y[~own])


def test_the_backdoor_is_planted_by_one_and_tested_on_the_other_class():
    condition = make_condition("backdoor_1contrib", 0)
    inputs, truth = condition.seen, condition.truth
    planted = inputs.contributor == 0
    assert planted.sum() == 40
    assert (inputs.x[planted][:, -2:] == 4).all()
    assert (inputs.y[planted] == 1).all()
    assert (truth.y[planted] == 0).all()
    assert (condition.truth.trigger.x[:, -2:] == 4).all()
    assert (len(condition.truth.trigger.x), condition.truth.trigger.target) == (
        (condition.truth.y_test == 0).sum(),
        1,
    )
    assert (truth.clean[0][planted][:, -2:] != 4).all()


def test_a_site_where_a_measurement_means_the_opposite_is_told_by_a_feature():
    inputs = make_condition("minority_concept", 0).seen
    elsewhere = inputs.x[:, -1] == 1
    assert set(inputs.contributor[elsewhere]) == {0, 1}
    typical, other = (
        np.corrcoef(inputs.x[part, 0], inputs.y[part])[0, 1] for part in (~elsewhere, elsewhere)
    )
    assert typical > 0.5
    assert other < -0.5


def test_numbers_are_shifted_by_their_spread_and_tested_without_noise():
    plain, shifted = (make_condition(name, 0) for name in ("num_hetero_0", "num_hetero_bad"))
    liar = shifted.seen.contributor < 3
    moved = shifted.seen.y - plain.seen.y
    assert not moved[~liar].any()
    assert moved[liar].min() == pytest.approx(moved[liar].max())
    assert moved[liar].mean() == pytest.approx(plain.seen.y.std(), rel=0.1)
    x = plain.truth.x_test
    mean = 3 * np.sin(x[:, 0]) + x[:, 1] ** 2 + 2 * x[:, 2]
    np.testing.assert_allclose(plain.truth.y_test, mean)


def test_each_specialist_has_one_class_and_liars_call_it_the_next(real_data):
    condition = make_condition("specclass_30", 0)
    inputs, truth = condition.seen, condition.truth
    assert (inputs.contributor // 3 == truth.y).all()
    assert np.bincount(truth.y).tolist() == [120] * 7
    assert condition.bad.sum() == 6
    lied = truth.bad
    assert (inputs.y[lied] == (truth.y[lied] + 1) % 7).all()


def test_adult_by_its_categories(real_data):
    train, test = adult_categories()
    assert train.x.shape == (32_561, test.x.shape[1])
    assert len(test.y) == 16_281
    assert (train.x.sum(axis=1) == 8).all()
    assert train.y.mean() == pytest.approx(0.241, abs=0.001)


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    with pytest.raises(AnmlError, match="did you mean 'clean_moons'"):
        make_condition("clean_moon", 0)
    adult_categories.cache_clear()
    monkeypatch.setenv("ANML_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *_, **__: 1 / 0)
    with pytest.raises(DataMissingError, match="'adult' is not in the folder named by ANML_DATA"):
        make_condition("clean_adultcat", 0)
    adult_categories.cache_clear()
