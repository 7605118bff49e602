"""anml: estimate label errors and contributor reliability, weight training samples, attribute and settle.

Names load on first use, so that `import anml` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anml import attribution, engines, errors, tasks
    from anml.api import (
        Audit,
        ContributorValues,
        RunComparison,
        audit,
        compare_runs,
        contributor_values,
        load_run,
    )
    from anml.core.errors import AnmlError
    from anml.core.profile import Profile
    from anml.core.types import Gate, Recipe, Signals, Weighting
    from anml.schema import Encoder, Schema
    from anml.sklearn.annotator_model import AnnotatorModel
    from anml.sklearn.estimators import AnmlClassifier, AnmlRegressor
    from anml.weighting.weigh import RECIPES, weigh

_HOMES = {
    "AnmlClassifier": "anml.sklearn.estimators",
    "AnmlError": "anml.core.errors",
    "AnmlRegressor": "anml.sklearn.estimators",
    "AnnotatorModel": "anml.sklearn.annotator_model",
    "Audit": "anml.api",
    "ContributorValues": "anml.api",
    "Encoder": "anml.schema",
    "Gate": "anml.core.types",
    "Profile": "anml.core.profile",
    "RECIPES": "anml.weighting.weigh",
    "Recipe": "anml.core.types",
    "RunComparison": "anml.api",
    "Schema": "anml.schema",
    "Signals": "anml.core.types",
    "Weighting": "anml.core.types",
    "audit": "anml.api",
    "compare_runs": "anml.api",
    "contributor_values": "anml.api",
    "load_run": "anml.api",
    "weigh": "anml.weighting.weigh",
}
_MODULES = ("attribution", "engines", "errors", "tasks")

__all__ = [
    "RECIPES",
    "AnmlClassifier",
    "AnmlError",
    "AnmlRegressor",
    "AnnotatorModel",
    "Audit",
    "ContributorValues",
    "Encoder",
    "Gate",
    "Profile",
    "Recipe",
    "RunComparison",
    "Schema",
    "Signals",
    "Weighting",
    "attribution",
    "audit",
    "compare_runs",
    "contributor_values",
    "engines",
    "errors",
    "load_run",
    "tasks",
    "weigh",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("attribution-native-ml")
    if name in _MODULES:
        return import_module(f"anml.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'anml' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
