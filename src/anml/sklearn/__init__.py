"""scikit-learn estimators: an annotator model on arrays, and training on weighted samples."""

from typing import TYPE_CHECKING

from anml.core.lazy import lazy_names

if TYPE_CHECKING:
    from anml.sklearn.annotator_model import AnnotatorModel
    from anml.sklearn.estimators import AnmlClassifier, AnmlRegressor
    from anml.sklearn.storage import load_model, save_model

__all__ = ["AnmlClassifier", "AnmlRegressor", "AnnotatorModel", "load_model", "save_model"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AnmlClassifier": "anml.sklearn.estimators",
        "AnmlRegressor": "anml.sklearn.estimators",
        "AnnotatorModel": "anml.sklearn.annotator_model",
        "load_model": "anml.sklearn.storage",
        "save_model": "anml.sklearn.storage",
    },
)
