"""Simulated cases: laws over every attack and every scenario of credentials."""

from dataclasses import fields, replace

import numpy as np
import pytest

from anml.core.errors import InputError
from anml.lab.cases import ATTACKS, CREDENTIALS, Case, make_case, split, stream
from anml.lab.data import load_dataset
from anml.lab.door import ON_NUMBERS
from anml.lab.spec import Setting

ON_CLASSES = [name for name in ATTACKS if name not in ON_NUMBERS]


def setting(attack: str, **more) -> Setting:
    numbers = attack in ON_NUMBERS
    return Setting(dataset="diabetes" if numbers else "wine", attack=attack, contributors=10, **more)


def same(one: Case, two: Case) -> bool:
    pairs = [(getattr(one, field.name), getattr(two, field.name)) for field in fields(Case)]
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_case_is_a_function_of_setting_trial_and_seed(attack):
    assert same(make_case(setting(attack), 1, 2), make_case(setting(attack), 1, 2))
    assert not same(make_case(setting(attack), 1, 2), make_case(setting(attack), 2, 2))
    assert not same(make_case(setting(attack), 1, 2), make_case(setting(attack), 1, 3))


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_touches_rows_of_bad_contributors_alone(attack):
    clean = make_case(setting(attack, bad=0.0, seldom=0.0), 0, 0)
    attacked = make_case(setting(attack, bad=0.3, seldom=0.0), 0, 0)
    honest = ~attacked.bad
    assert np.array_equal(clean.x[honest], attacked.x[honest])
    if attack in ON_NUMBERS:
        # Labels are in units of their own spread: compared where both are back in units of the set.
        back = attacked.y * attacked.unit - clean.y * clean.unit
        assert np.ptp(back[honest]) < 1e-8
    else:
        assert np.array_equal(clean.y[honest], attacked.y[honest])
        assert not attacked.wrong[honest].any()


@pytest.mark.parametrize("attack", ATTACKS)
def test_nobody_is_bad_where_the_share_is_zero_and_everybody_where_it_is_one(attack):
    assert not make_case(setting(attack, bad=0.0), 0, 0).bad.any()
    assert make_case(setting(attack, bad=1.0), 0, 0).bad.all()


@pytest.mark.parametrize("attack", ON_CLASSES)
def test_labels_stay_classes_and_test_labels_stay_right(attack):
    case = make_case(setting(attack, bad=0.5), 0, 0)
    clean = make_case(setting(attack, bad=0.0, seldom=0.0), 0, 0)
    assert set(np.unique(case.y)) <= {0, 1, 2}
    assert np.array_equal(case.y_test, clean.y_test)
    assert np.array_equal(case.x_test, clean.x_test)


@pytest.mark.parametrize("scenario", CREDENTIALS)
def test_credentials_lie_between_0_and_1_and_change_no_row(scenario):
    case = make_case(Setting(scenario=scenario, correlation=0.5), 0, 0)
    plain = make_case(Setting(scenario="none"), 0, 0)
    for values in (case.v, case.r):
        assert values.shape == case.y.shape
        assert ((values >= 0) & (values <= 1)).all()
    assert np.array_equal(case.x, plain.x)
    assert case.credentials == (scenario != "none")
    if scenario != "tiers":  # whose honest groups err now and then
        assert np.array_equal(case.y, plain.y)
    else:
        assert case.tier is not None
        assert (case.tier[case.bad] == 0).all()


def test_faked_credentials_are_of_the_bad_alone():
    plain, faked = (make_case(Setting(scenario="moderate", faked=share), 0, 0) for share in (0.0, 1.0))
    assert np.array_equal(plain.v[~plain.bad], faked.v[~plain.bad])
    assert faked.v[plain.bad].mean() > plain.v[plain.bad].mean()


@pytest.mark.parametrize("purpose", ["split", "attack", "bad"])
def test_streams_differ_by_purpose_trial_seed_and_data(purpose):
    first = stream(0, 0, purpose, "wine").integers(2**31)
    assert stream(0, 0, purpose, "wine").integers(2**31) == first
    others = [stream(1, 0, purpose, "wine"), stream(0, 1, purpose, "wine"), stream(0, 0, purpose, "digits"),
              stream(0, 0, "other", "wine")]  # fmt: skip
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
    changed = case.y != clean.y
    assert not changed[case.t == 1].any()
    assert changed[case.t < 1].mean() > 0.1
