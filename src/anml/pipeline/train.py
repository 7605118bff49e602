"""Train a model on the weighted rows of a table, save it, and predict with it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from sklearn.linear_model import LogisticRegression, Ridge

from anml.core.checks import one_of
from anml.core.errors import InputError, UnsupportedError
from anml.core.progress import Progress, ticker
from anml.core.stats import Estimate
from anml.io.plain import from_text
from anml.io.prepare import FeatureEncoder, Prepared
from anml.io.side_inputs import read_vectors
from anml.io.tables import read_table
from anml.pipeline.audit import audit_table, testing_arrays
from anml.pipeline.evaluate import mean_error
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult
from anml.sklearn.fitting import fit_weighted, set_random_state
from anml.sklearn.mlp import MLPClassifier, MLPRegressor
from anml.sklearn.storage import load_model, missing_file, save_model

# Models of `anml train` by task; they are saved without pickle.
MODELS: dict[str, dict[str, Callable[[], Any]]] = {
    "classification": {"mlp": MLPClassifier, "logistic": lambda: LogisticRegression(max_iter=1000)},
    "regression": {"mlp": MLPRegressor, "ridge": Ridge},
}
# Label types that predictions are converted back to, by name.
DTYPES = {str(kind): kind for kind in (pl.Int64(), pl.Float64(), pl.Boolean(), pl.Date())}


@dataclass(frozen=True)
class TrainedRun:
    """A model, its audit, and its error on test data, if there are any."""

    audited: AuditResult
    model: Any
    prepared: Prepared
    test_error: Estimate | None

    def save(self, folder: Path) -> None:
        """Write the model and the encoder of its features to `folder`."""
        save_model(self.model, folder)
        about, arrays = self.prepared.preparation.to_parts()
        about = {
            "label": self.audited.columns.label,
            "task": self.audited.task,
            "classes": self.audited.classes,
            "kind": str(self.audited.kinds.get("label", pl.String())),
            "preparation": about,
            # Dimension of the embeddings, if the model was not trained on columns.
            "embeddings": None if self.prepared.preparation.columns else int(self.prepared.x.shape[1]),
        }
        text = json.dumps(about, ensure_ascii=False) + "\n"
        (folder / "preparation.json").write_text(text, encoding="utf-8")
        save_file(arrays, folder / "preparation.safetensors")


def train_table(
    data: Any, request: Request, *, model: str = "mlp", test: Any = None, progress: Progress | None = None
) -> TrainedRun:
    """Audit a table, then train a model on its weighted labels."""
    one_of("model", model, sorted({name for models in MODELS.values() for name in models}))

    def check(prepared: Prepared) -> None:
        one_of(f"model for {prepared.task}", model, MODELS[prepared.task])
        if prepared.x.shape[1] == 0:
            why = "there are no feature columns to train a model on"
            raise UnsupportedError(f"{why}; audit the table instead, or name features")

    audited, prepared, assessed = audit_table(
        data, request, test=test, progress=progress, check_prepared=check
    )
    learner = set_random_state(MODELS[prepared.task][model](), request.seed)
    tick = ticker(progress, "final model", 1)
    tick(0)
    rng = np.random.default_rng(request.seed)
    fitted = fit_weighted(learner, prepared.x, prepared.y, assessed.weighting, rng, assessed.training)
    tick(1)
    error = None
    if test is not None:
        x, y = testing_arrays(test, prepared, audited.columns)
        y_hat = fitted.predict(x)
        wrong = np.abs(y_hat - y) if prepared.task == "regression" else np.asarray(y_hat != y, dtype=float)
        error = mean_error(wrong, prepared.task)
    return TrainedRun(audited, fitted, prepared, error)


def predict_table(folder: Path, data: Any) -> pl.DataFrame:
    """Predict the rows of a table, or of embeddings, with a saved model."""
    folder = folder / "model" if (folder / "model").is_dir() else folder
    model = load_model(folder)
    try:
        about = json.loads((folder / "preparation.json").read_text(encoding="utf-8"))
        arrays = load_file(folder / "preparation.safetensors")
        preparation = FeatureEncoder.from_parts(about["preparation"], arrays)
    except FileNotFoundError as error:
        raise InputError(f"no model in {folder}: {missing_file(error)} is missing") from None
    except (ValueError, KeyError, TypeError, SafetensorError) as error:
        raise InputError(f"the preparation in {folder} cannot be read: {error}") from None
    width = about.get("embeddings")
    x = preparation.transform(read_table(data).frame) if width is None else read_vectors(data, width)
    if about["task"] == "regression":
        return pl.DataFrame({"row": np.arange(len(x)), about["label"]: model.predict(x)})
    probabilities = model.predict_proba(x)
    names = np.array(about["classes"], dtype=object)[np.asarray(model.classes_, dtype=int)]
    best = probabilities.argmax(axis=1)
    labels, kind = pl.Series(names[best].tolist(), dtype=pl.String), DTYPES.get(about.get("kind"))
    labels = labels if kind is None else from_text(labels, kind)
    p_label = probabilities[np.arange(len(x)), best]
    return pl.DataFrame({"row": np.arange(len(x)), about["label"]: labels, "probability": p_label})
