import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anml.core.errors import InputError
from experiments import attacks

CLASSES = 4


@st.composite
def labelled(draw):
    n = draw(st.integers(1, 30))
    y = draw(arrays(np.int64, n, elements=st.integers(0, CLASSES - 1)))
    case = draw(arrays(np.bool_, n))
    x = draw(arrays(np.float64, (n, 3), elements=st.floats(-5, 5)))
    return x, y, case, np.random.default_rng(draw(st.integers(0, 2**32)))


@given(st.integers(1, 200), st.floats(0, 1), st.integers(0, 2**32))
def test_choose_marks_the_nearest_whole_number(n, share, seed):
    assert attacks.random_subset(n, share, np.random.default_rng(seed)).sum() == round(share * n)


@given(labelled())
def test_flips_change_exactly_the_marked_labels(case):
    _, y, choice, rng = case
    before = y.copy()
    for changed in (
        attacks.flip_labels(y, choice, CLASSES, rng),
        attacks.offset_labels(y, choice, CLASSES, 1),
    ):
        assert ((changed != y) == choice).all()
        assert changed.min() >= 0
        assert changed.max() < CLASSES
    assert (y == before).all()


@given(labelled())
def test_lookalikes_and_aligned_poison_change_exactly_the_marked_samples(case):
    x, y, choice, _ = case
    if len(np.unique(y)) < 2:
        return  # no other class to look like
    assert ((attacks.lookalike_labels(x, y, choice, CLASSES) != y) == choice).all()
    moved, labels = attacks.aligned_poison(x, y, choice, CLASSES, pull=0.4)
    assert ((labels != y) == choice).all()
    assert (moved[~choice] == x[~choice]).all()


@given(labelled(), st.floats(0, 1))
def test_aligned_poison_moves_towards_the_centre_of_its_new_class(case, pull):
    x, y, choice, _ = case
    if len(np.unique(y)) < 2:
        return
    moved, labels = attacks.aligned_poison(x, y, choice, CLASSES, pull)
    for i in np.flatnonzero(choice):
        centre = x[y == labels[i]].mean(axis=0)
        far, near = np.linalg.norm(x[i] - centre), np.linalg.norm(moved[i] - centre)
        assert near == pytest.approx((1 - pull) * far, abs=1e-9)


@given(labelled())
def test_shifted_targets_move_by_two_standard_deviations(case):
    x, _, choice, rng = case
    y = x[:, 0]
    shifted = attacks.shift_targets(y, choice, rng)
    assert (shifted[~choice] == y[~choice]).all()
    assert np.allclose(np.abs(shifted - y)[choice], 2 * y.std())


def test_uniform_flips_reach_every_wrong_class_alike():
    y = np.zeros(30_000, dtype=np.int64)
    flipped = attacks.flip_labels(y, np.ones(len(y), bool), CLASSES, np.random.default_rng(0))
    assert np.bincount(flipped, minlength=CLASSES)[0] == 0
    assert np.allclose(np.bincount(flipped)[1:] / len(y), 1 / 3, atol=0.01)


def test_nearest_classes_by_hand():
    # Centres at 0, 1, 5 and 6: neighbours pair up.
    x = [[0.0], [1.0], [5.0], [6.0]]
    assert attacks.nearest_classes(x, [0, 1, 2, 3], 4).tolist() == [1, 0, 3, 2]


def test_nearest_class_is_never_one_without_samples():
    assert attacks.nearest_classes([[0.0], [9.0]], [0, 2], 3)[[0, 2]].tolist() == [2, 0]


@settings(max_examples=30)
@given(st.floats(0, 1), st.integers(0, 2**32))
def test_labels_go_stale_with_age(rate, seed):
    age = np.repeat([0.0, 1.0, 2.0], 2_000)
    stale = attacks.stale_labels(age, rate, np.random.default_rng(seed))
    shares = stale.reshape(3, -1).mean(axis=1)
    assert shares[0] == 0
    assert np.allclose(shares, [0, rate / 2, rate], atol=0.06)


def test_no_label_goes_stale_without_time():
    assert not attacks.stale_labels([0.0, 0.0], 1.0, np.random.default_rng(0)).any()


def test_feature_drift_leaves_the_newest_and_moves_the_oldest_by_the_rate():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 9))
    age = np.arange(400) % 5
    drifted = attacks.drift_features(x, age, 2.0, rng)
    moved = (drifted - x) / x.std(axis=0)
    assert (moved[age == 0] == 0).all()
    assert np.allclose(np.sqrt(np.square(moved[age == 4]).mean(axis=1)), 2.0)
    assert np.allclose(moved[age == 2], moved[age == 4][0] / 2)


def test_colluders_tell_the_same_lie():
    assert attacks.shift_to_next_class([0, 1, 2, 2], [True, True, True, False], 3).tolist() == [1, 2, 0, 2]


def test_sybils_split_attackers_and_nobody_else():
    contributor = np.repeat([0, 1, 2], 100)
    mask = contributor == 1
    split = attacks.sybil_split(contributor, mask, 10, np.random.default_rng(0))
    assert (split[~mask] == contributor[~mask]).all()
    assert set(split[mask]) == set(range(3, 13))
    two = attacks.sybil_split(contributor, contributor > 0, 4, np.random.default_rng(0))
    # Two attackers never share an identity.
    assert set(two[contributor == 1]) == {3, 4, 5, 6}
    assert set(two[contributor == 2]) == {7, 8, 9, 10}


def test_turncoats_are_honest_first():
    contributor = np.array([0, 1, 0, 1, 0, 1, 0])
    mask = contributor == 0
    assert attacks.delay_attack(contributor, mask, 0.5).tolist() == [False] * 4 + [True, False, True]
    assert (attacks.delay_attack(contributor, mask, 0.0) == mask).all()
    assert not attacks.delay_attack(contributor, mask, 1.0).any()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: attacks.sybil_split([0], [True], 0, np.random.default_rng(0)), "at least 1 identity"),
        (lambda: attacks.sybil_split([0], [1], 2, np.random.default_rng(0)), "one True or False"),
        (lambda: attacks.delay_attack([0], [True], 1.5), "share must lie in"),
        (lambda: attacks.flip_labels([0, 1], [True], 2, np.random.default_rng(0)), "one True or False"),
        (lambda: attacks.flip_labels([0, 2], [True, True], 2, np.random.default_rng(0)), "from 0 to 1"),
        (lambda: attacks.flip_labels([0], [True], 1, np.random.default_rng(0)), "two classes"),
        (lambda: attacks.offset_labels([0, 1], [True, True], 5, 5), "changes nothing"),
        (lambda: attacks.aligned_poison([[0.0]], [0], [True], 2, 1.5), "pull must lie in"),
        (lambda: attacks.random_subset(3, 1.5, np.random.default_rng(0)), "share must lie in"),
    ],
)
def test_bad_input_is_one_sentence(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_numbers_are_changed_only_where_marked_and_as_named():
    rng = np.random.default_rng(0)
    y = rng.normal(10, 2, 4_000)
    mask = np.arange(4_000) < 2_000
    noisy, unit, any_of = (
        attacks.noisy_targets(y, mask, rng),
        attacks.rescale_targets(y, mask),
        attacks.random_targets(y, mask, rng),
    )
    for changed in (noisy, unit, any_of):
        np.testing.assert_array_equal(changed[2_000:], y[2_000:])
    assert (noisy - y)[mask].std() == pytest.approx(2 * y.std(), rel=0.05)
    np.testing.assert_allclose(unit[mask], 2.54 * y[mask])
    assert set(any_of) <= set(y)
    assert abs(np.corrcoef(any_of[mask], y[mask])[0, 1]) < 0.1


@pytest.mark.parametrize("factor", [1.0, np.nan, np.inf])
def test_a_factor_that_is_no_other_unit_is_refused(factor):
    with pytest.raises(InputError, match="factor between units"):
        attacks.rescale_targets([1.0, 2.0], np.array([True, False]), factor)


@pytest.mark.parametrize("y", [[1.0, np.nan], [[1.0], [2.0]]])
def test_what_are_no_numbers_is_refused(y):
    with pytest.raises(InputError, match="one finite value per sample"):
        attacks.random_targets(y, np.array([True, False]), np.random.default_rng(0))


def marked_by(name):
    """Attacks that are told which samples to change, by their signature."""
    return "attacked" in inspect.signature(name).parameters


ATTACKS = {
    name: attack
    for name, attack in inspect.getmembers(attacks, inspect.isfunction)
    if attack.__module__ == attacks.__name__ and not name.startswith("_") and marked_by(attack)
}


def made_case(seed, n=40):
    """Arguments by name, for any attack; whole contributors are marked."""
    rng = np.random.default_rng(seed)
    contributor = np.arange(n) % 8
    return {
        "x": rng.normal(size=(n, 3)),
        "y": np.arange(n) // 2 % CLASSES,
        "attacked": np.isin(contributor, [1, 4]),
        "classes": CLASSES,
        "rng": np.random.default_rng(seed),
        "contributor": contributor,
        "identities": 3,
        "share": 0.5,
    }


def launched(name, case):
    """Return the parts that an attack changed, and each part before the attack."""
    asked = inspect.signature(ATTACKS[name]).parameters
    results = ATTACKS[name](**{key: value for key, value in case.items() if key in asked})
    before = {"aligned_poison": ("x", "y"), "sybil_split": ("contributor",), "delay_attack": ("attacked",)}
    parts = results if isinstance(results, tuple) else (results,)
    return [
        (np.asarray(case[total]), part) for total, part in zip(before.get(name, ("y",)), parts, strict=True)
    ]


@pytest.mark.parametrize("name", ATTACKS)
class TestEveryAttack:
    @given(seed=st.integers(0, 99))
    @settings(max_examples=10)
    def test_changes_marked_samples_only_and_some_of_them(self, name, seed):
        case = made_case(seed)
        changed = np.zeros(40, dtype=bool)
        for before, after in launched(name, case):
            assert after.shape == before.shape
            changed |= (before != after).reshape(40, -1).any(axis=1)
        assert changed.any()
        assert not changed[~case["attacked"]].any()

    def test_leaves_what_it_was_given_alone(self, name):
        case = made_case(0)
        kept = {key: value.copy() for key, value in case.items() if isinstance(value, np.ndarray)}
        launched(name, case)
        for key, value in kept.items():
            np.testing.assert_array_equal(case[key], value)

    def test_the_same_seed_gives_the_same_attack(self, name):
        for (_, one), (_, two) in zip(
            launched(name, made_case(3)), launched(name, made_case(3)), strict=True
        ):
            np.testing.assert_array_equal(one, two)

    def test_nobody_marked_is_nobody_attacked(self, name):
        case = made_case(1) | {"attacked": np.zeros(40, dtype=bool)}
        for before, after in launched(name, case):
            np.testing.assert_array_equal(before, after)

    @pytest.mark.parametrize("case", [np.ones(39, dtype=bool), np.ones(40), np.ones((40, 1), dtype=bool)])
    def test_marks_are_one_true_or_false_per_sample(self, name, case):
        with pytest.raises(InputError, match="attacked must be one True or False per sample: 40 expected"):
            launched(name, made_case(0) | {"attacked": case})


def test_every_attack_of_the_module_is_covered():
    assert len(ATTACKS) >= 11
