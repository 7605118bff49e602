"""anml: signals become weights, weights train models and pay contributors.

The public face. Everything is loaded on first use, so that importing `anml` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anml.adapters.sklearn.estimators import AnmlClassifier, AnmlRegressor
    from anml.core.domain import Gate, Recipe, Signals, Weighting
    from anml.core.errors import AnmlError
    from anml.core.weigh import RECIPES, weigh
    from anml.surfaces.python import audit, relabel, value

_HOMES = {
    "AnmlClassifier": "anml.adapters.sklearn.estimators",
    "AnmlError": "anml.core.errors",
    "AnmlRegressor": "anml.adapters.sklearn.estimators",
    "Gate": "anml.core.domain",
    "RECIPES": "anml.core.weigh",
    "Recipe": "anml.core.domain",
    "Signals": "anml.core.domain",
    "Weighting": "anml.core.domain",
    "audit": "anml.surfaces.python",
    "relabel": "anml.surfaces.python",
    "value": "anml.surfaces.python",
    "weigh": "anml.core.weigh",
}

__all__ = [
    "RECIPES",
    "AnmlClassifier",
    "AnmlError",
    "AnmlRegressor",
    "Gate",
    "Recipe",
    "Signals",
    "Weighting",
    "audit",
    "relabel",
    "value",
    "weigh",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("attribution-native-ml")
    if name not in _HOMES:
        raise AttributeError(f"module 'anml' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
