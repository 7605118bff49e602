"""Recipes on rows of the bank: the one path that estimators share."""

from types import SimpleNamespace

import numpy as np
import pytest
from bank_small import part

from anml import AnmlClassifier, AnmlRegressor
from anml.core.people.verdicts import ACCUSED
from anml.core.weigh import RECIPES
from anml.lab.bank.conditions import make_condition
from anml.lab.bank.recipes import assessed, believed, weighed


@pytest.fixture
def flips():
    """200 rows of moons, of which three of fifteen contributors turn theirs round."""
    return part(make_condition("moons_20flip", 0), np.arange(200))


@pytest.mark.parametrize("recipe", ["krum", "evidence"])
def test_recipes_are_weighed_as_by_the_estimators(recipe, flips):
    numbers = part(make_condition("num_hetero_bad", 0), np.arange(200))
    for condition, estimator in ((flips, AnmlClassifier), (numbers, AnmlRegressor)):
        seen = condition.seen
        model = estimator(recipe=recipe, random_state=5).fit(
            seen.x, seen.label, contributor=seen.contributor, item=seen.item,
            verification=seen.verification, reputation=seen.reputation,
        )  # fmt: skip
        seed = int(np.random.RandomState(5).randint(2**31 - 1))
        np.testing.assert_array_equal(weighed(seen, RECIPES[recipe], seed).kept, model.kept_)


def test_what_is_read_of_an_assessment(flips):
    verdict = np.array(["reliable", "less reliable", "cannot tell", *ACCUSED])
    people = SimpleNamespace(verdict=verdict)
    stated = SimpleNamespace(belief=SimpleNamespace(p_correct=np.array([0.9, 0.2]), contributors=people))
    p_correct, convicted = believed(stated)
    assert p_correct.tolist() == [0.9, 0.2]
    assert convicted.tolist() == [False, False, False, True, True]
    found = assessed(flips.seen, RECIPES["evidence"], 0)
    p_correct, convicted = believed(found)
    assert p_correct.shape == flips.seen.label.shape
    # On thirteen rows each the model may leave one of three open; nobody else is accused.
    accused = [found.contributors.names[code] for code in np.flatnonzero(convicted)]
    assert set(accused) <= {"0", "1", "2"}
    assert len(accused) >= 2


@pytest.mark.parametrize("recipe", ["uniform", "evidence"])
def test_only_the_evidence_recipe_says_p_correct_and_convicts(recipe, flips):
    found = weighed(flips.seen, RECIPES[recipe], 0)
    assert (found.p_correct is None) == (found.convicted is None) == (recipe != "evidence")
    assert (found.score is None) == (recipe == "uniform")
    assert found.kept.shape == flips.seen.label.shape
    if recipe == "uniform":
        assert found.kept.all()
