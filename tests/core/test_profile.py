"""Profiles of the scoring model: by name, by the settings that differ, and refused."""

import pytest

from anml.core.errors import AnmlError, UnknownNameError
from anml.core.profile import PROFILES, Profile, profile_of


def test_a_profile_by_name_by_settings_and_unchanged():
    assert profile_of("quick") is PROFILES["quick"]
    changed = profile_of({"folds": 3, "hidden": [8]})
    assert (changed.folds, changed.hidden, changed.max_epochs) == (3, (8,), Profile().max_epochs)
    assert profile_of(changed) is changed


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("slow", "unknown profile 'slow'.*allowed: default, paper, quick"),
        ({"fold": 3}, "unknown profile setting 'fold'.*did you mean 'folds'"),
        ({"folds": 1}, "folds must be at least 2, got 1"),
        ({"hidden": (0,)}, "a width of hidden must be at least 1, got 0"),
        ({"method": "cosine"}, "unknown score 'cosine'"),
        (3, "profile must be a name, a dict or a Profile, got 3"),
    ],
)
def test_an_invalid_profile_is_one_sentence(profile, message):
    with pytest.raises(AnmlError, match=message):
        profile_of(profile)
    assert issubclass(UnknownNameError, AnmlError)
