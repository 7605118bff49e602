"""The public face: small, complete, and free to import."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import anml


@pytest.mark.parametrize("name", anml.__all__)
def test_every_exported_name_resolves_and_is_documented(name):
    assert getattr(anml, name).__doc__
    assert name in dir(anml)


def test_lists_of_names_agree():
    assert sorted(anml.__all__) == sorted(anml._HOMES)
    assert sorted(dir(anml)) == sorted([*anml.__all__, "__version__"])


def test_star_import_gives_exactly_the_exported_names():
    namespace = {}
    exec("from anml import *", namespace)
    assert sorted(set(namespace) - {"__builtins__"}) == sorted(anml.__all__)


def test_version_is_that_of_the_distribution():
    assert anml.__version__ == version("attribution-native-ml")


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'anml' has no attribute 'audti'"):
        _ = anml.audti


def test_importing_loads_nothing_heavy():
    code = "import anml, sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn", "polars", "numpy", "scipy", "matplotlib"} & set(ran.stdout.split())
