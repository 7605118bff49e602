"""The request of an audit: the recipe, freshness and columns that a user asks for."""

from dataclasses import replace
from datetime import date

import pytest

from anml import tasks
from anml.core.errors import AnmlError
from anml.core.profile import PROFILES
from anml.core.types import Recipe
from anml.pipeline.request import AuditOptions, Request
from anml.signals.freshness import DOMAINS, ContextDecay, Decay
from anml.signals.reputation import ColdStart
from anml.weighting.weigh import RECIPES


def test_a_request_needs_nothing():
    assert Request() == Request()
    assert Request().policy().recipe == RECIPES["evidence"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_by_name(recipe):
    assert Request(recipe=recipe).policy().recipe == RECIPES[recipe]


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_by_name(profile):
    assert Request(recipe={"profile": profile}).policy().profile == PROFILES[profile]


def test_settings_of_a_recipe_differ_from_its_name():
    asked = Request(recipe={"name": "krum", "keep": 0.4}).policy()
    assert asked.recipe == replace(RECIPES["krum"], keep=0.4)
    assert Request(recipe={"half_life": "90d"}).policy().recipe.combine == "evidence"


@pytest.mark.parametrize("keep", [0, -1, 1.5])
def test_a_share_to_keep_is_checked(keep):
    with pytest.raises(AnmlError, match="keep"):
        Request(recipe={"keep": keep}).policy()


def test_freshness_needs_a_half_life():
    assert Request().decay == Request(time="when").decay == Decay(0.0)
    assert Request(recipe={"half_life": "2y"}).decay == Decay.half_life("2y")
    assert Request(recipe={"half_life": 2}).decay == Decay.half_life(2)
    assert not Request(time="when").uses_freshness
    assert Request(time="when").uses_times
    assert not Request().uses_times


@pytest.mark.parametrize("domain", DOMAINS)
def test_freshness_by_domain(domain):
    assert Request(recipe={"half_life": domain}).decay == Decay.domain(domain)


def test_freshness_by_a_decay_survives_the_record():
    decay = ContextDecay.between(Decay(0.01), Decay(0.1), Decay(0.05), "direct-application")
    asked = Request(recipe=Recipe(half_life=decay))
    stored = asked.resolved_recipe.to_dict()
    assert Request(recipe=stored).decay == asked.decay == decay


def test_one_name_is_a_list_of_one():
    result = Request(features="height", ignore="note")
    assert (result.features, result.ignore) == (("height",), ("note",))


@pytest.mark.parametrize(
    "given",
    [{"recipe": "krumm"}, {"recipe": {"keeps": 1}}, {"recipe": {"half_life": "7 parsecs"}},
     {"recipe": {"profile": {"hiden": 3}}}, {"recipe": {"r_min": 2}}, {"seed": -1}],
)  # fmt: skip
def test_what_is_wrong_is_found_before_the_work(given):
    with pytest.raises(AnmlError):
        Request(**given).policy()


def test_an_unknown_task_is_refused():
    with pytest.raises(AnmlError, match="unknown task 'classes'"):
        Request(task="classes")


def test_the_floor_for_newcomers():
    assert Request().policy().cold_start == ColdStart()
    assert Request(recipe={"r_min": 0.2, "newcomer_rows": 3}).policy().cold_start == ColdStart(0.2, 3)
    assert Request().without_floor().policy().cold_start == ColdStart(0.4, 0)


def test_requests_differ_by_what_is_asked_and_not_by_arrays():
    one, two = Request(predictions=[1]), Request(predictions=[2])
    assert one == two
    assert "predictions" not in repr(one)


def test_a_configuration_has_what_differs():
    request = Request(label="y", time="at", recipe={"keep": 0.5, "reference_time": date(2026, 1, 2)}, seed=3)
    result = AuditOptions(request=replace(request, task=tasks.Ordinal(order=["a", "b"]))).to_config()
    assert result["label"] == "y"
    assert result["schema"] == {"time": "at"}
    assert result["task"] == {"name": "ordinal", "order": ["a", "b"]}
    assert result["recipe"]["keep"] == 0.5
    assert result["random_state"] == 3
    assert AuditOptions(request=Request(recipe="krum")).to_config()["recipe"] == {"name": "krum"}
