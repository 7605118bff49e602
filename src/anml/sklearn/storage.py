"""Save and load fitted models as JSON and safetensors: nothing in the files is ever executed."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.validation import check_is_fitted

from anml.assessment.contributors import reputation_frame
from anml.core.checks import one_of
from anml.core.errors import InputError, UnsupportedError
from anml.core.types import Gate
from anml.sklearn.estimators import AnmlClassifier, AnmlRegressor
from anml.sklearn.mlp import MLPClassifier, MLPRegressor

FORMAT = 1


class StorageFormat(NamedTuple):
    """Stored attributes of a fitted model: arrays for safetensors, plain values for JSON."""

    make: type[Any]
    arrays: tuple[str, ...]
    values: tuple[str, ...]


_NETWORK = ("parameters_", "mean_", "scale_")
_SHAPE = ("hidden", "outputs_", "n_features_in_")
_LINEAR = ("coef_", "intercept_")
_WEIGHED = ("sample_weight_", "kept_", "quality_", "p_correct_")
MODEL_FORMATS: dict[str, StorageFormat] = {
    "mlp-classifier": StorageFormat(MLPClassifier, _NETWORK, (*_SHAPE, "classes_")),
    "mlp-regressor": StorageFormat(MLPRegressor, _NETWORK, (*_SHAPE, "centre_", "spread_")),
    "logistic": StorageFormat(LogisticRegression, _LINEAR, ("C", "n_features_in_", "classes_")),
    "ridge": StorageFormat(Ridge, _LINEAR, ("alpha", "n_features_in_")),
    "anml-classifier": StorageFormat(
        AnmlClassifier, _WEIGHED, ("label_error_rate_", "n_features_in_", "classes_")
    ),
    "anml-regressor": StorageFormat(AnmlRegressor, _WEIGHED, ("label_error_rate_", "n_features_in_")),
}


def save_model(model: Any, folder: str | Path) -> None:
    """Write a fitted model into a folder, as model.json and model.safetensors."""
    name = next((name for name, kind in MODEL_FORMATS.items() if type(model) is kind.make), None)
    if name is None:
        raise UnsupportedError(
            f"{type(model).__name__} cannot be saved without pickle; what can: "
            + ", ".join(kind.make.__name__ for kind in MODEL_FORMATS.values())
        )
    check_is_fitted(model)
    folder, kind = Path(folder), MODEL_FORMATS[name]
    folder.mkdir(parents=True, exist_ok=True)
    about = {"format": FORMAT, "kind": name, **{key: _plain(getattr(model, key)) for key in kind.values}}
    if name.startswith("anml-"):
        save_model(model.estimator_, folder / "estimator")
        about["gate_"], about["predictor_"] = model.gate_.to_dict(), model.predictor_
        people = model.contributors_
        about["contributors_"] = None if people is None else people.to_dict(as_series=False)
    arrays = {key: np.ascontiguousarray(getattr(model, key)) for key in kind.arrays}
    save_file(arrays, folder / "model.safetensors")
    (folder / "model.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def load_model(folder: str | Path) -> Any:
    """Read what `save_model` wrote."""
    folder = Path(folder)
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        arrays = load_file(folder / "model.safetensors")
        name, made_by = about["kind"], about["format"]
    except FileNotFoundError as error:
        raise InputError(f"no model in {folder}: {missing_file(error)} is missing") from None
    except NotADirectoryError:
        raise InputError(f"no model in {folder}: it is a file, not a folder") from None
    except (ValueError, KeyError, TypeError, SafetensorError) as error:
        raise InputError(f"the model in {folder} cannot be read: {error}") from None
    kind = MODEL_FORMATS[one_of("kind of model", name, MODEL_FORMATS)]
    if made_by != FORMAT:
        raise InputError(f"the model in {folder} has format {made_by}, this version reads {FORMAT}")
    model = kind.make()
    for key in kind.values:
        setattr(model, key, _restored(key, about[key]))
    for key in kind.arrays:
        setattr(model, key, arrays[key])
    if name.startswith("anml-"):
        model.estimator_, model.gate_ = load_model(folder / "estimator"), Gate(**about["gate_"])
        contributors = about["contributors_"]
        model.contributors_ = None if contributors is None else pl.DataFrame(contributors)
        model.reputation_ = None if contributors is None else reputation_frame(model.contributors_)
        model.predictor_ = about.get("predictor_", "anml")
    return model


def missing_file(error: FileNotFoundError) -> str:
    """Name the file that was not found; safetensors names it in the message only."""
    return Path(error.filename or str(error).rsplit(": ", 1)[-1].strip("'\"")).name


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _restored(key: str, value: Any) -> Any:
    if key == "classes_":
        return np.array(value)
    return tuple(value) if isinstance(value, list) else value
