"""Test whether predictions and embeddings belong to the rows of the table, and refuse those of other rows."""

import numpy as np

from anml.assessment.alignment import Mismatch, check_embeddings, check_predictions, gather
from anml.core.checks import Floats
from anml.core.errors import InputError
from anml.io.columns import Columns
from anml.io.encode.preparation import FeatureEncoder
from anml.io.prepare import Prepared
from anml.io.tables import Table
from anml.pipeline.request import Request

# Numbers are compared as low, middle and high.
NUMBER_CLASSES = 3
HOW_TO_ALIGN = "give them a column that names each row and name it with --column key=NAME"


def check_side_inputs(table: Table, columns: Columns, prepared: Prepared, request: Request) -> list[str]:
    """Return warnings on predictions and embeddings, or refuse those that belong to other rows.

    `columns` are those with the features of the table. Inputs that are aligned by a key are not refused.
    """
    given = {"predictions": prepared.predictions, "embeddings": request.embeddings}
    given = {
        name: value for name, value in given.items() if value is not None and name not in request.computed
    }
    if not given:
        return []
    y, n_classes, predictions = prepared.y, len(prepared.classes), prepared.predictions
    if prepared.task == "regression":
        edges = np.quantile(y, [1 / 3, 2 / 3])
        if predictions is not None:
            predictions = _as_classes(predictions)
        y, n_classes = np.digitize(y, edges), NUMBER_CLASSES
    x = prepared.x
    if "embeddings" in given:
        frame = table.frame[prepared.rows]
        x = FeatureEncoder.fit(frame, columns.features, request.seed).transform(frame)
    item = None if prepared.item is None else np.unique(prepared.item, return_inverse=True)[1]
    evidence = gather(x, y, n_classes, item, request.seed)
    warnings: list[str] = []
    if predictions is not None and "predictions" in given:
        findings = check_predictions(predictions, y, evidence, item, saw_labels=prepared.task != "regression")
        warnings += _refuse("predictions", findings, request.key)
    if "embeddings" in given:
        findings = check_embeddings(prepared.x, y, n_classes, evidence, item)
        warnings += _refuse("embeddings", findings, request.key)
    return warnings


def _refuse(what: str, findings: list[Mismatch], key: str | None) -> list[str]:
    certain = [finding for finding in findings if finding.certain]
    if certain and key is None:
        raise InputError(f"the {what} seem to be of other rows: {certain[0].reason}; {HOW_TO_ALIGN}")
    return [f"the {what} may be of other rows: {finding.reason}" for finding in findings]


def _as_classes(numbers: Floats) -> Floats:
    """Return numbers as probabilities of low, middle and high."""
    codes = np.digitize(numbers, np.quantile(numbers, [1 / 3, 2 / 3]))
    return 0.1 + 0.7 * np.eye(NUMBER_CLASSES)[codes]
