"""Inputs of methods and ground truth: values of contributors, parts of a case, training data of a bound."""

from dataclasses import fields, replace

import numpy as np
import pytest

from anml.core.checks import as_codes
from experiments.seen import Case, GroundTruth, MethodInput

pytestmark = pytest.mark.slow


@pytest.fixture
def case():
    """Four rows by 10, 2 and 9, of whom 2 is bad."""
    contributor = np.array([10, 2, 10, 9])
    inputs = MethodInput(
        np.arange(8.0).reshape(4, 2), np.array([0, 1, 1, 0]), 2, contributor, v=np.full(4, 0.5), seed=3
    )
    return Case(inputs, GroundTruth(y=np.array([0, 0, 1, 0]), wrong=np.arange(4) == 1, bad=contributor == 2))


def test_figures_of_people_are_in_the_order_of_contributors(case):
    inputs = case.seen
    assert inputs.who.tolist() == [2, 0, 2, 1]
    assert inputs.rows.tolist() == [1, 1, 2]
    assert inputs.mean(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [2, 4, 2]
    assert case.bad.tolist() == [True, False, False]
    assert case.right.tolist() == [True, False, True, True]


def test_what_comes_in_the_order_of_names_is_put_in_that_of_contributors(case):
    names = as_codes("contributor", case.seen.contributor, 4)[1]
    assert names == ["10", "2", "9"]
    assert case.seen.by_name(names).tolist() == ["2", "9", "10"]


def test_a_part_has_some_rows_of_everything_there_is(case):
    part = case.part(case.seen.contributor == 10)
    assert part.seen.y.tolist() == [0, 1]
    assert part.seen.v.tolist() == [0.5, 0.5]
    assert part.seen.item is None
    assert part.seen.seed == 3
    assert part.truth.wrong.tolist() == [False, False]
    clean = replace(case, truth=replace(case.truth, clean=(case.seen.x + 1, case.truth.y)))
    assert clean.part([3]).bound[0].tolist() == [[7, 8]]


def test_a_bound_trains_on_right_labels_and_on_rows_before_an_attack(case):
    assert case.bound[0] is case.seen.x
    assert case.bound[1].tolist() == [0, 0, 1, 0]


def test_every_field_of_rows_is_cut():
    assert {*MethodInput.BY_ROW} == {field.name for field in fields(MethodInput)} - {"classes", "seed"}
    extra = {"x_test", "y_test", "clean", "trigger", "unit"}
    assert {*GroundTruth.BY_ROW} == {field.name for field in fields(GroundTruth)} - extra


@pytest.mark.parametrize(("classes", "task"), [(1, "regression"), (3, "classification")])
def test_one_class_stands_for_numbers(classes, task):
    inputs = MethodInput(np.zeros((2, 1)), np.zeros(2), classes)
    assert (inputs.task, inputs.numeric) == (task, classes == 1)


def test_an_assessment_is_told_what_is_seen_and_nothing_else(case):
    known = case.seen.known()
    assert known.contributor is case.seen.contributor
    assert (known.truth, known.wrong, known.age) == (None, None, None)
