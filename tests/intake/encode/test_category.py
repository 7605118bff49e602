"""Categories: one column per frequent level, and what becomes of the others."""

from typing import Any

import numpy as np
import polars as pl

from anml.intake.encode.category import MOST_LEVELS
from anml.intake.encode.preparation import Preparation
from anml.intake.plain import plain


def fitted(*values: Any, seed: int = 0, dtype: Any = None) -> tuple[Preparation, np.ndarray[Any, Any]]:
    frame = plain(pl.DataFrame({"c": pl.Series(values, dtype=dtype, strict=False)}))
    preparation = Preparation.fit(frame, ["c"], seed)
    return preparation, preparation.transform(frame)


def applied(preparation: Preparation, *values: Any, dtype: Any = None) -> list[list[float]]:
    frame = plain(pl.DataFrame({"c": pl.Series(values, dtype=dtype, strict=False)}))
    made: list[list[float]] = preparation.transform(frame).tolist()
    return made


def test_categories_by_hand() -> None:
    preparation, x = fitted("b", "a", "b", None, "c")
    assert preparation.feature_names == ["c=b", "c=a", "c=c", "c (missing)"]
    assert x.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert applied(preparation, "new", None, "a") == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]]


def test_rare_levels_are_one() -> None:
    levels = [f"l{at:03}" for at in range(MOST_LEVELS + 5)]
    preparation, x = fitted(*levels, *levels[5:])
    assert x.shape[1] == MOST_LEVELS + 1
    assert preparation.feature_names[0] == "c=l005"
    assert preparation.feature_names[-1] == "c (other)"
    assert x[:5, -1].tolist() == [1] * 5
    assert x[:, :-1].sum() == 2 * MOST_LEVELS
    assert applied(preparation, "unseen", None)[0][-1] == 1
    assert sum(applied(preparation, "unseen", None)[1]) == 0


def test_numbered_levels_read_as_numbers_elsewhere() -> None:
    preparation, _ = fitted("1", "2", "x")
    assert applied(preparation, 2, 1) == applied(preparation, 2.0, 1.0) == [[0, 1, 0], [1, 0, 0]]
