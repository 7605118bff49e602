"""Numbers, truth values and dates: centred, scaled, gaps filled and marked."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from anml.core.errors import InputError
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


def test_numbers_by_hand() -> None:
    preparation, x = fitted(2.0, None, 4.0, 9.0)
    # Mean 5, median 4, variance (9 + 1 + 16) / 3.
    scale = np.sqrt(26 / 3)
    expected = [[-3 / scale, 0], [-1 / scale, 1], [-1 / scale, 0], [4 / scale, 0]]
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    assert preparation.feature_names == ["c", "c (missing)"]
    assert applied(preparation, "5", dtype=pl.String) == [[0.0, 0.0]]


def test_numbers_at_the_edges() -> None:
    assert fitted(3.0, 3.0)[1].tolist() == [[0.0], [0.0]]
    assert fitted(None, None, dtype=pl.Float64)[1].tolist() == [[0.0, 1.0], [0.0, 1.0]]
    for size in (1.7e308, 5e-324, 1e-200):
        assert fitted(-size, size)[1].tolist() == [[-1.0], [1.0]]
    preparation, _ = fitted(0.0, 1.0)
    assert applied(preparation, 1e300, float("-inf"), None) == [[1e6], [0.0], [0.0]]
    with pytest.raises(InputError, match=r"column 'c' must hold numbers .* got 'tall' \(1 such values\)"):
        applied(preparation, "tall", "1")


def test_booleans_and_dates() -> None:
    preparation, x = fitted(True, False)
    assert x.tolist() == [[1.0], [-1.0]]
    assert applied(preparation, "False", "true") == applied(preparation, 0, 1) == [[-1.0], [1.0]]
    preparation, x = fitted("2024-01-01", "2024-01-03")
    assert x.tolist() == [[-1.0], [1.0]]
    np.testing.assert_allclose(applied(preparation, "2024-01-02T00:00:00Z"), [[0.0]], atol=1e-6)
    with pytest.raises(InputError, match="'c' has 1 values that are not times, the first 'soon'"):
        applied(preparation, "soon")
