"""Columns that `fit` takes beside X and y, one value per sample, checked here once."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from anml.assessment.assess import SampleInfo
from anml.core.checks import Array, Bools, as_integer, as_vector
from anml.core.errors import InputError, UnsupportedError
from anml.core.types import Task
from anml.io.true_labels import GoldLabels, combine_gold, empty_gold, v_from_gold
from anml.sklearn.alignment import as_column, is_missing

# Columns that `fit` takes beside X and y.
CONTRIBUTED = ("contributor", "item", "verification", "reputation", "age", "derived_from", "true_label")


def reject_sample_weight(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a `fit`, so that a `sample_weight` is refused in one sentence."""

    @wraps(fit)
    def asked(self: Any, *args: Any, **given: Any) -> Any:
        if given.pop("sample_weight", None) is not None:
            raise UnsupportedError(
                f"{type(self).__name__} estimates the weights of samples and takes no sample_weight; give "
                "verification, reputation, age or true_label instead"
            )
        return fit(self, *args, **given)

    return asked


def sample_info(y: Array, task: Task, classes: Any = None, **given: Any) -> SampleInfo:
    """Return the given columns, checked, as arrays; `classes` are the labels that the codes `y` stand for."""
    columns: dict[str, Any] = {}
    for name, values in given.items():
        if values is None:
            continue
        if len(values) != len(y):
            raise InputError(f"{name} must be one value per sample: {len(y)} expected, got {len(values)}")
        # Levels may mix names and numbers, and lists of parents differ in length: neither is a plain array.
        plain = name in ("contributor", "item", "age")
        columns[name] = as_column(name, values, len(y)) if plain else list(values)
    if "derived_from" in columns:
        columns["parents"] = [_positions(parents) for parents in columns.pop("derived_from")]
    if "true_label" in columns:
        gold = _gold_labels(columns.pop("true_label"), y, task, classes, columns.get("item"))
        columns |= {"truth": gold.truth, "wrong": gold.wrong}
        if "verification" not in columns and gold.known.any():
            columns["verification"] = v_from_gold(gold)
    return SampleInfo(**columns)


def _positions(parents: Any) -> list[int]:
    if isinstance(parents, str) or not hasattr(parents, "__iter__"):
        raise InputError(f"derived_from must be a list of positions for each sample, got {parents!r}")
    return [as_integer("a position in derived_from", position) for position in parents]


def _gold_labels(values: list[Any], y: Array, task: Task, classes: Any, item: Any) -> GoldLabels:
    """Return true labels, or marks: true where the given label is correct, false where it is wrong."""
    present = np.array([not is_missing(value) for value in values])
    truth, none = empty_gold(y, task), np.zeros(len(y), dtype=bool)
    given = [value for value, known in zip(values, present, strict=True) if known]
    marks = bool(given) and all(isinstance(value, bool | np.bool_) for value in given)
    if marks and not (task == "classification" and np.asarray(classes).dtype.kind == "b"):
        true = np.array([known and bool(value) for value, known in zip(values, present, strict=True)])
        return combine_gold(y, truth, true, present & ~true, item)
    if not given:
        return combine_gold(y, truth, none, none, item)
    if task == "regression":
        truth[present] = as_vector("true_label", given)
        return combine_gold(y, truth, none, none, item)
    codes = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    truth[present] = [codes.get(_plain(value), -1) for value in given]
    if (truth < 0).all():
        listed = ", ".join(repr(label) for label in [*codes][:12])
        first = _plain(given[0])
        raise InputError(f"true_label must hold labels ({listed}), or true and false, got {first!r}")
    # A true label that no row has: the given label is wrong.
    absent: Bools = present & (truth < 0)
    return combine_gold(y, truth, none, absent, item)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
