"""Simulated cases: laws over every attack and every scenario of credentials."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from anml.core.errors import InputError
from experiments.cases import ATTACKS, CREDENTIALS, make_case, split
from experiments.data import load_dataset
from experiments.door import ON_NUMBERS
from experiments.seen import Case
from experiments.spec import Setting, random_stream

pytestmark = pytest.mark.slow

ON_CLASSES = [name for name in ATTACKS if name not in ON_NUMBERS]


def setting(attack: str, **more) -> Setting:
    numbers = attack in ON_NUMBERS
    return Setting(dataset="diabetes" if numbers else "wine", attack=attack, contributors=10, **more)


def same(one: Case, two: Case) -> bool:
    parts = zip((one.seen, one.truth), (two.seen, two.truth), strict=True)
    pairs = [pair for subset, other in parts for pair in zip(astuple(subset), astuple(other), strict=True)]
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_case_is_a_function_of_setting_trial_and_seed(attack):
    assert same(make_case(setting(attack), 1, 2), make_case(setting(attack), 1, 2))
    assert not same(make_case(setting(attack), 1, 2), make_case(setting(attack), 2, 2))
    assert not same(make_case(setting(attack), 1, 2), make_case(setting(attack), 1, 3))


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_touches_rows_of_bad_contributors_alone(attack):
    clean = make_case(setting(attack, bad=0.0, seldom=0.0), 0, 0)
    attacked = make_case(setting(attack, bad=0.3, seldom=0.0), 0, 0)
    honest = ~attacked.truth.bad
    assert np.array_equal(clean.seen.x[honest], attacked.seen.x[honest])
    if attack in ON_NUMBERS:
        # Labels are in units of their own spread: compared where both are back in units of the set.
        back = attacked.seen.y * attacked.truth.unit - clean.seen.y * clean.truth.unit
        assert np.ptp(back[honest]) < 1e-8
    else:
        assert np.array_equal(clean.seen.y[honest], attacked.seen.y[honest])
        assert not attacked.truth.wrong[honest].any()


@pytest.mark.parametrize("attack", ATTACKS)
def test_nobody_is_bad_where_the_share_is_zero_and_everybody_where_it_is_one(attack):
    assert not make_case(setting(attack, bad=0.0), 0, 0).truth.bad.any()
    assert make_case(setting(attack, bad=1.0), 0, 0).truth.bad.all()


@pytest.mark.parametrize("attack", ON_CLASSES)
def test_labels_stay_classes_and_test_labels_stay_right(attack):
    case = make_case(setting(attack, bad=0.5), 0, 0)
    clean = make_case(setting(attack, bad=0.0, seldom=0.0), 0, 0)
    assert set(np.unique(case.seen.y)) <= {0, 1, 2}
    assert np.array_equal(case.truth.y_test, clean.truth.y_test)
    assert np.array_equal(case.truth.x_test, clean.truth.x_test)


@pytest.mark.parametrize("scenario", CREDENTIALS)
def test_credentials_lie_between_0_and_1_and_change_no_row(scenario):
    case = make_case(Setting(scenario=scenario, correlation=0.5), 0, 0)
    plain = make_case(Setting(scenario="none"), 0, 0)
    for values in (case.seen.v, case.seen.r):
        assert (values is None) == (scenario == "none")
        if values is not None:
            assert values.shape == case.seen.y.shape
            assert ((values >= 0) & (values <= 1)).all()
    assert np.array_equal(case.seen.x, plain.seen.x)
    if scenario != "tiers":  # whose honest groups err now and then
        assert np.array_equal(case.seen.y, plain.seen.y)
    else:
        assert case.truth.group is not None
        assert (case.truth.group[case.truth.bad] == 0).all()


def test_faked_credentials_are_of_the_bad_alone():
    plain, faked = (make_case(Setting(scenario="moderate", faked=share), 0, 0) for share in (0.0, 1.0))
    bad = plain.truth.bad
    assert np.array_equal(plain.seen.v[~bad], faked.seen.v[~bad])
    assert faked.seen.v[bad].mean() > plain.seen.v[bad].mean()


@pytest.mark.parametrize("purpose", ["split", "attack", "bad"])
def test_streams_differ_by_purpose_trial_seed_and_data(purpose):
    first = random_stream(0, 0, purpose, "wine").integers(2**31)
    assert random_stream(0, 0, purpose, "wine").integers(2**31) == first
    others = [
        random_stream(1, 0, purpose, "wine"),
        random_stream(0, 1, purpose, "wine"),
        random_stream(0, 0, purpose, "digits"),
        random_stream(0, 0, "other", "wine"),
    ]
    assert all(other.integers(2**31) != first for other in others)


@pytest.mark.parametrize(("size", "fraction"), [(0, 1.0), (100, 1.0), (0, 0.5), (100, 0.5)])
def test_parts_do_not_overlap_and_have_the_rows_asked_for(size, fraction):
    data = load_dataset("wine")
    chosen = replace(Setting(), size=size, fraction=fraction)
    train, test = split(data, chosen, np.random.default_rng(0))
    assert not set(train) & set(test)
    whole = size or 178
    assert len(test) == -(-3 * whole // 10)
    assert len(train) == pytest.approx(0.7 * whole * fraction, abs=1)
    # Classes stay in proportion.
    shares = np.bincount(data.y[train]) / len(train)
    assert shares == pytest.approx(np.bincount(data.y[test]) / len(test), abs=0.08)


def test_too_few_rows_are_said():
    with pytest.raises(InputError, match="wine has too few rows to be split at size = 4 and fraction = 1"):
        make_case(Setting(size=4), 0, 0)


def test_label_drift_grows_with_age():
    case = make_case(Setting(bad=0.0, drift="label", drift_rate=0.2, periods=4, oldest=3.0, decay=0.1), 0, 0)
    clean = make_case(Setting(bad=0.0, periods=4, oldest=3.0, decay=0.1), 0, 0)
    changed = case.seen.y != clean.seen.y
    assert not changed[case.seen.age == 0].any()
    assert changed[case.seen.age > 0].mean() > 0.1
