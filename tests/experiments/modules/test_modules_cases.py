"""Cases of pictures and texts under every attack."""

import os

import numpy as np
import pytest
import torch

from experiments.modules import cases
from experiments.modules.cases import (
    ATTACKS,
    BAD,
    CLASSES,
    HUMAN_LABELS,
    N_CONTRIBUTORS,
    SETS,
    TABLE_TEST,
    TABLES,
    TARGET,
    TEST,
    TRAIN,
    make_case,
    make_module,
)

pytestmark = pytest.mark.slow

DATA_THERE = bool(os.environ.get("ANML_DATA"))
# Photographs are read from the folder of real data.
CASES = [name for name in cases.CASES if DATA_THERE or not name.startswith(("cifar10n", "covertype"))]
ATTACKED = [name for name in CASES if name not in (HUMAN_LABELS, *TABLES)]


@pytest.mark.parametrize("name", ATTACKED)
def test_a_case_is_a_function_of_its_seed_and_bad_rows_are_of_bad_contributors(name):
    one, two, other = make_case(name, 3), make_case(name, 3), make_case(name, 4)
    assert torch.equal(one.seen.x, two.seen.x)
    assert (one.seen.y == two.seen.y).all()
    assert not torch.equal(one.seen.x, other.seen.x)
    assert (one.seen.contributor[one.wrong] < BAD).all()
    assert 0.15 < one.wrong.mean() < 0.4
    assert make_module(name)(one.seen.x[:3]).shape == (3, len(SETS[name.split("-")[0]].alike))
    assert (one.truth.trigger is not None) == name.endswith("backdoor")


def test_only_the_attacked_rows_are_changed():
    backdoor, aligned = make_case("texts-backdoor", 0), make_case("pictures-aligned", 0)
    for case in (backdoor, aligned):
        changed = (case.seen.x != case.bound[0]).flatten(1).any(1).numpy()
        assert (case.seen.contributor[changed] < BAD).all()
        assert changed.any()
    assert (backdoor.seen.y[(backdoor.seen.x != backdoor.bound[0]).any(1).numpy()] == TARGET).all()


def test_cases_are_sets_times_attacks():
    assert len(cases.CASES) == len(SETS) * len(ATTACKS) + 1 + len(TABLES)
    assert len(set(cases.CASES)) == len(cases.CASES)


@pytest.mark.parametrize("name", ATTACKED)
def test_shapes_credentials_and_the_test_part(name):
    case = make_case(name, 0)
    assert len(case.seen.x) == len(case.seen.y) == len(case.seen.contributor)
    assert len(case.seen.x) == (cases.PHOTOGRAPHS if name.startswith("cifar10n") else TRAIN)
    assert len(case.truth.x_test) == len(case.truth.y_test) == TEST
    assert set(np.unique(case.seen.contributor)) == set(range(N_CONTRIBUTORS))
    assert ((case.seen.v >= 0.2) & (case.seen.v <= 0.95)).all()
    assert (case.wrong == (case.seen.y != case.truth.y)).all()
    # Only who fakes credentials shows good ones.
    shown = case.seen.v[case.seen.contributor < BAD].mean()
    assert (shown > 0.65) == name.endswith("faked")


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("alike")])
def test_alike_is_the_class_that_looks_alike(name):
    case = make_case(name, 0)
    similar = SETS[name.split("-")[0]].alike
    assert (case.seen.y[case.wrong] == similar[case.truth.y[case.wrong]]).all()
    assert (similar[similar] == np.arange(len(similar))).all()
    assert (similar != np.arange(len(similar))).all()


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("shift")])
def test_those_who_see_things_in_another_light_are_honest(name):
    case, plain = make_case(name, 0), make_case(name.replace("shift", "flip"), 0)
    assert torch.equal(case.seen.x, case.bound[0])
    assert case.seen.x.shape == plain.seen.x.shape
    assert not case.wrong[case.seen.contributor >= BAD].any()


def test_rows_with_a_backdoor_are_of_the_other_classes():
    case = make_case("pictures-backdoor", 0)
    assert len(case.truth.trigger.x) == (case.truth.y_test != TARGET).sum()
    assert 0 <= TARGET < CLASSES


@pytest.mark.skipif(not DATA_THERE, reason="needs Covertype, in the folder named by ANML_DATA")
def test_a_table_has_as_many_rows_as_its_name_says_and_bad_ones_are_flipped():
    assert TABLES[0] == "covertype-600"
    case, again = make_case(TABLES[0], 1), make_case(TABLES[0], 1)
    assert torch.equal(case.seen.x, again.seen.x)
    assert (len(case.seen.y), len(case.truth.y_test)) == (600, TABLE_TEST)
    assert (case.wrong == (case.seen.y != case.truth.y)).all()
    assert (case.seen.contributor[case.wrong] < BAD).all()
    assert make_module(TABLES[0])(case.seen.x[:2]).shape == (2, 7)
