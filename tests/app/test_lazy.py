"""Folders of `app` load a module when it is asked for, and say which names they do not have."""

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = ("anml.app.ledger", "anml.app.pay", "anml.app.people")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_folder_is_a_module_of_it(package):
    folder = import_module(package)
    assert [getattr(folder, name).__name__ for name in folder.__all__] == [
        f"{package}.{name}" for name in folder.__all__
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_is_not_there_is_no_attribute(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = import_module(package).nothing


def test_a_folder_alone_loads_nothing_heavy():
    code = f"import sys, {', '.join(PACKAGES)}; print({{'sqlalchemy', 'polars'}} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
