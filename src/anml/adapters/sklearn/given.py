"""What `fit` takes beside X and y, one value per sample, checked at the door."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from anml.assess.assess import Known
from anml.core.answers import Answers, answers, earned, unknown
from anml.core.checks import Array, Bools, as_vector, whole
from anml.core.domain import Task
from anml.core.errors import InputError, UnsupportedError

# What `fit` takes beside X and y: one value per sample.
CONTRIBUTED = ("contributor", "item", "verification", "reputation", "age", "derived_from", "known")


def own_weights(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A `fit` that says why it takes no weights of the caller's."""

    @wraps(fit)
    def asked(self: Any, *args: Any, **given: Any) -> Any:
        if given.pop("sample_weight", None) is not None:
            raise UnsupportedError(
                f"{type(self).__name__} finds the weights of samples itself and takes no sample_weight; say "
                "what is known of the samples as verification, reputation, age or known"
            )
        return fit(self, *args, **given)

    return asked


def known_of(y: Array, task: Task, classes: Any = None, **given: Any) -> Known:
    """Columns as arrays of the right length; `classes` are the labels that the codes `y` stand for."""
    columns: dict[str, Any] = {}
    for name, values in given.items():
        if values is None:
            continue
        if len(values) != len(y):
            raise InputError(f"{name} must be one value per sample: {len(y)} expected, got {len(values)}")
        # Levels may mix names and numbers, and lists of parents differ in length: neither is a plain array.
        plain = name in ("contributor", "item", "age")
        columns[name] = np.asarray(values) if plain else list(values)
    if "derived_from" in columns:
        columns["parents"] = [_positions(parents) for parents in columns.pop("derived_from")]
    if "known" in columns:
        found = _answers(columns.pop("known"), y, task, classes, columns.get("item"))
        columns |= {"truth": found.truth, "wrong": found.wrong}
        if "verification" not in columns and found.known.any():
            columns["verification"] = earned(found)
    return Known(**columns)


def _positions(parents: Any) -> list[int]:
    if isinstance(parents, str) or not hasattr(parents, "__iter__"):
        raise InputError(f"derived_from must be a list of positions for each sample, got {parents!r}")
    return [whole("a position in derived_from", position) for position in parents]


def _answers(values: list[Any], y: Array, task: Task, classes: Any, item: Any) -> Answers:
    """Right labels, or marks: true where the label given is right, false where it is wrong."""
    said = np.array([not _is_missing(value) for value in values])
    truth, none = unknown(y, task), np.zeros(len(y), dtype=bool)
    told = [value for value, known in zip(values, said, strict=True) if known]
    marks = bool(told) and all(isinstance(value, bool | np.bool_) for value in told)
    if marks and not (task == "classification" and np.asarray(classes).dtype.kind == "b"):
        true = np.array([known and bool(value) for value, known in zip(values, said, strict=True)])
        return answers(y, truth, true, said & ~true, item)
    if not told:
        return answers(y, truth, none, none, item)
    if task == "regression":
        truth[said] = as_vector("known", told)
        return answers(y, truth, none, none, item)
    codes = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    truth[said] = [codes.get(_plain(value), -1) for value in told]
    if (truth < 0).all():
        listed = ", ".join(repr(label) for label in [*codes][:12])
        raise InputError(f"known must hold labels ({listed}), or true and false, got {_plain(told[0])!r}")
    # A right label that nobody gave: whatever was given is wrong.
    strange: Bools = said & (truth < 0)
    return answers(y, truth, none, strange, item)


def _is_missing(value: Any) -> bool:
    # A gap of pandas is neither equal to itself nor comparable.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
