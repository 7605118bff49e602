"""Packages that ours are compared with; a test skips, and says why, where one is not installed."""

import importlib
import importlib.util
import sys
import types
import warnings

import pytest


def byzfl_aggregators():
    """ByzFL's rules alone: its package also loads torchvision, which no rule uses."""
    spec = importlib.util.find_spec("byzfl")
    if spec is None:
        pytest.skip("byzfl is not installed")
    if "byzfl" not in sys.modules:
        package = types.ModuleType("byzfl")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["byzfl"] = package
    return importlib.import_module("byzfl.aggregators.aggregators")


def pydvl_methods():
    """pyDVL's values; it loads cvxpy for a method that is not compared."""
    if importlib.util.find_spec("pydvl") is None:
        pytest.skip("pydvl is not installed")
    if importlib.util.find_spec("cvxpy") is None:
        sys.modules.setdefault("cvxpy", types.ModuleType("cvxpy"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it uses what a package it needs has deprecated
            return importlib.import_module("pydvl.valuation")
    except ImportError as error:
        pytest.skip(f"pydvl cannot be loaded: {error}")


def installed(name):
    """A module, or a skip."""
    return pytest.importorskip(name, reason=f"{name} is not installed")
