"""What the user asks of an audit: defaults, what does not go together, and how it becomes a policy."""

from dataclasses import fields

import pytest

from anml.app.audit.request import DEFAULT_HALF_LIFE, Request
from anml.core.errors import AnmlError, InputError
from anml.core.profile import PROFILES
from anml.core.signals.temporal import DOMAINS, Decay
from anml.core.weigh import RECIPES


def test_everything_has_a_default():
    assert Request() == Request()
    assert Request().policy().recipe == RECIPES["evidence"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_is_taken_by_name(recipe):
    assert Request(recipe=recipe).policy().recipe == RECIPES[recipe]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_taken_by_name(profile):
    assert Request(profile=profile).policy().profile == PROFILES[profile]


def test_the_share_to_keep_changes_nothing_else():
    from dataclasses import replace

    assert Request(recipe="krum", keep=0.4).policy().recipe == replace(RECIPES["krum"], keep=0.4)


@pytest.mark.parametrize("keep", [0.0, -1.0, 1.5, float("nan")])
def test_a_share_is_above_nothing_and_at_most_all(keep):
    with pytest.raises(AnmlError, match="keep"):
        Request(keep=keep).policy()


def test_freshness_counts_only_when_it_was_asked_for():
    assert Request().decay == Decay(0.0)
    assert Request(time="when").decay == Decay.half_life(DEFAULT_HALF_LIFE)
    assert Request(half_life="2y").decay == Decay.half_life("2y")
    with pytest.raises(InputError, match="by a half-life or by a domain, not by both"):
        _ = Request(half_life="2y", domain=next(iter(DOMAINS))).decay


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_has_a_freshness(domain):
    assert Request(domain=domain).decay == Decay.domain(domain)


def test_one_name_is_a_list_of_one():
    found = Request(features="height", ignore="note")
    assert (found.features, found.ignore) == (("height",), ("note",))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"embeddings": [[1.0]], "features": ["x"]}, "embeddings take the place of feature columns"),
        ({"now": "soon"}, "soon"),
    ],
)
def test_what_does_not_go_together(given, said):
    with pytest.raises(AnmlError, match=said):
        Request(**given)


@pytest.mark.parametrize(
    "given", [{"recipe": "krumm"}, {"profile": "defalt"}, {"r_min": 2.0}, {"newcomer": -1}]
)
def test_a_policy_is_checked_where_it_is_made(given):
    with pytest.raises(AnmlError) as error:
        Request(**given).policy()
    assert "\n" not in str(error.value)


def test_large_things_are_not_compared_or_shown():
    one, two = Request(predictions=[1]), Request(predictions=[2])
    assert one == two
    assert "predictions" not in repr(one)
    assert {"predictions", "embeddings"} <= {field.name for field in fields(Request)}
