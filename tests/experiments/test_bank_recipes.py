"""Recipes on rows of the bank: the one path that estimators share."""

from dataclasses import replace

import numpy as np
import pytest

from anml import AnmlClassifier, AnmlRegressor
from anml.annotators.words import FLAGGED, LESS_RELIABLE
from anml.core.types import Recipe
from anml.weighting.weigh import RECIPES
from experiments import belief
from experiments.bank.conditions import make_condition
from experiments.bank.run import apply_recipe, assess_once

pytestmark = pytest.mark.slow


@pytest.fixture
def flips():
    """200 rows of moons, of which three of fifteen contributors turn theirs round."""
    return make_condition("moons_20flip", 0).part(np.arange(200))


@pytest.mark.usefixtures("trained_briefly")
@pytest.mark.parametrize("recipe", ["krum", "evidence"])
def test_recipes_are_weighed_as_by_the_estimators(recipe, flips):
    numbers = make_condition("num_hetero_bad", 0).part(np.arange(200))
    for condition, estimator in ((flips, AnmlClassifier), (numbers, AnmlRegressor)):
        inputs = condition.seen
        model = estimator(recipe=recipe, random_state=5).fit(
            inputs.x, inputs.y, contributor=inputs.contributor, item=inputs.item,
            verification=inputs.v, reputation=inputs.r,
        )  # fmt: skip
        seed = int(np.random.RandomState(5).randint(2**31 - 1))
        np.testing.assert_array_equal(
            apply_recipe(replace(inputs, seed=seed), RECIPES[recipe]).kept, model.kept_
        )


def test_verdicts_are_in_the_order_of_contributors(flips):
    result = apply_recipe(flips.seen, RECIPES["evidence"])
    # 2 has nine rows, too few to be accused on.
    worse = np.isin(result.verdict, (*FLAGGED, LESS_RELIABLE))
    assert np.unique(flips.seen.contributor)[worse].tolist() == [0, 1, 2]


@pytest.mark.usefixtures("trained_briefly")
def test_times_are_told_and_make_no_label_out_of_date(monkeypatch, flips):
    known = []
    whole = belief.assess
    monkeypatch.setattr(belief, "assess", lambda *a: known.append(a[4]) or whole(*a))
    inputs = replace(flips.seen, age=np.linspace(1, 0, 200))
    result, _ = assess_once(inputs, Recipe().use)
    assert (known[0].age[0], known[0].age[-1]) == (1, 0)
    np.testing.assert_array_equal(result.signals.t, np.ones(200))
    assess_once(flips.seen, Recipe().use)
    assert known[1].age is None


@pytest.mark.usefixtures("trained_briefly")
@pytest.mark.parametrize("recipe", ["uniform", "evidence"])
def test_only_the_evidence_recipe_says_p_correct_and_judges(recipe, flips):
    result = apply_recipe(flips.seen, RECIPES[recipe])
    assert (result.p_correct is None) == (result.verdict is None) == (recipe != "evidence")
    assert result.score is None  # by p_correct, where labels are believed
    assert result.kept.shape == flips.seen.y.shape
    if recipe == "uniform":
        assert result.kept.all()
