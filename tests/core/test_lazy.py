"""Public names of packages: loaded on first use, with one sentence where an extra is missing."""

import pytest

from anml.core.errors import UnsupportedError
from anml.core.lazy import lazy_names


def test_a_name_loads_its_module_and_others_are_refused():
    load, names = lazy_names("anml.signals", {"Decay": "anml.signals.freshness"})
    assert load("Decay").__module__ == "anml.signals.freshness"
    assert names() == ["Decay"]
    with pytest.raises(AttributeError, match=r"module 'anml\.signals' has no attribute 'Clock'"):
        load("Clock")


def test_a_missing_extra_is_named():
    homes = {"Thing": "a_package_that_is_not_installed"}
    load, _ = lazy_names("anml.torch", homes, extras={"Thing": "hf"})
    with pytest.raises(UnsupportedError, match=r"Thing needs the package .*attribution-native-ml\[hf\]"):
        load("Thing")
    bare, _ = lazy_names("anml.torch", homes)
    with pytest.raises(ModuleNotFoundError):
        bare("Thing")
