"""Times in any of the usual forms, and ages in years."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from intake_tables import labelled, prepared

from anml.core.errors import InputError

NEW_YEAR = [0.0, 365.0, 731.0]  # days before 2022-01-01: 2020 was a leap year


@pytest.mark.parametrize(
    "values",
    [
        [2022, 2021, 2020],
        ["2022", "2021", "2020"],
        ["2022-01-01", "2021-01-01", "2020-01-01"],
        ["2022-01-01", "2021/1/1", "2020-01-01T00:00:00Z"],
        ["2022-01-01T05:30:00+05:30", "2020-12-31 19:00-05:00", "2020-01"],
        [date(2022, 1, 1), date(2021, 1, 1), date(2020, 1, 1)],
        [datetime(2022, 1, 1), datetime(2021, 1, 1), datetime(2020, 1, 1)],
        [
            datetime(2022, 1, 1, tzinfo=UTC),
            datetime(2021, 1, 1, tzinfo=UTC),
            datetime(2020, 1, 1, tzinfo=UTC),
        ],
        [1640995200, 1609459200, 1577836800],
        [1640995200000, 1609459200000, 1577836800000],
        ["1640995200", "2021-01-01", "1577836800.0"],
    ],
)
def test_times_in_every_form(values: list[Any]) -> None:
    made = prepared(labelled(when=values), time="when")
    assert made.age is not None
    np.testing.assert_allclose(made.age * 365.25, NEW_YEAR, rtol=0, atol=1e-9)
    assert made.notes == ["ages are counted from the newest time in 'when', 2022-01-01 00:00:00"]
    assert made.warnings == []


def test_future_and_missing_times_are_new_and_said() -> None:
    now = datetime(2021, 1, 1, tzinfo=UTC)
    made = prepared(labelled(time=[2022, 2021, None, 2020]), now=now)
    assert made.age is not None
    np.testing.assert_allclose(made.age * 365.25, [0, 0, 0, 366])
    assert made.notes == []
    assert made.warnings == [
        "column 'time' (time) is missing in 1 rows, which count as new",
        "column 'time' (time) lies after 2021-01-01 00:00:00 in 1 rows, which count as new",
    ]
    empty = prepared(labelled(when=[None] * 4), time="when")
    assert empty.age is not None
    assert empty.age.tolist() == [0.0] * 4
    assert empty.notes == []


@pytest.mark.parametrize(
    ("values", "bad"),
    [
        (["2024-01-31", "soon", "later"], "2 values that are not times, the first 'soon'"),
        (["2024-02-30", "2024-01-01", "2024-01-02"], "'2024-02-30'"),
        (["31/01/2024", "2024-01-01", "2024-01-02"], "'31/01/2024'"),
        ([2024, 5, 2023], "the first '5'"),
        ([True, False, True], "not times"),
    ],
)
def test_bad_times(values: list[Any], bad: str) -> None:
    with pytest.raises(InputError, match=bad) as raised:
        prepared(labelled(when=values), time="when")
    assert "allowed: dates and times as 2024-01-31" in str(raised.value)
