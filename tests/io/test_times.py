"""Times in any of the usual forms, and ages in years."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.times import ages, are_times, looks_like_times, parse_moment, parse_times
from intake_tables import labelled, prepared

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
        "column 'time' (time) is missing in 1 row, which counts as new",
        "column 'time' (time) lies after 2021-01-01 00:00:00 in 1 row, which counts as new",
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


moments = st.datetimes(min_value=datetime(1980, 1, 1), max_value=datetime(2190, 12, 31))


class TestInstants:
    @pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9], ids=["s", "ms", "us", "ns"])
    @given(moment=moments)
    @settings(max_examples=20)
    def test_counts_since_1970_in_every_unit(self, unit, moment):
        moment = moment.replace(microsecond=0)
        count = int(moment.replace(tzinfo=UTC).timestamp()) * unit
        for series in (pl.Series([count]), pl.Series([float(count)])):
            # A float holds nanoseconds of today to a quarter of a microsecond.
            assert abs(parse_times(series)[0] - moment) <= timedelta(microseconds=1 if unit == 10**9 else 0)

    @given(moments, st.integers(-14 * 60, 14 * 60))
    @settings(max_examples=30)
    def test_any_offset_is_taken_off(self, moment, minutes):
        moment = moment.replace(microsecond=0)
        sign, offset = ("-" if minutes < 0 else "+"), abs(minutes)
        text = f"{moment.isoformat()}{sign}{offset // 60:02d}:{offset % 60:02d}"
        assert parse_times(pl.Series([text])).to_list() == [moment - timedelta(minutes=minutes)]

    @given(moments)
    @settings(max_examples=30)
    def test_iso_text_reads_back_to_the_microsecond(self, moment):
        for text in (moment.isoformat(), f" {moment.isoformat(sep=' ')} ", f"{moment.isoformat()}Z"):
            assert parse_times(pl.Series([text])).to_list() == [moment]

    @pytest.mark.parametrize(
        "text", ["2024-13-01", "2024-02-30", "24:00", "yesterday", "", "1e400", "2024-1-1T1:00"]
    )
    def test_what_is_no_time_is_missing(self, text):
        assert parse_times(pl.Series([text], dtype=pl.String)).to_list() == [None]

    @pytest.mark.parametrize("number", [0, 5, 1799, 2201, 1e7, float("nan"), 1e21])
    def test_numbers_of_no_known_size_are_missing(self, number):
        assert parse_times(pl.Series([float(number)])).to_list() == [None]

    def test_half_a_year_is_half_way(self):
        [result] = parse_times(pl.Series([2024.5]))
        assert result == datetime(2024, 1, 1) + timedelta(days=365.25 / 2)

    def test_one_column_may_mix_forms(self):
        result = parse_times(pl.Series(["2024-01-01", "1704067200", "2024", None]))
        assert result.to_list() == [datetime(2024, 1, 1)] * 3 + [None]


class TestAges:
    @given(st.lists(moments, min_size=1, max_size=10))
    @settings(max_examples=30)
    def test_the_newest_is_new_and_order_is_kept(self, times):
        years, moment, future = ages(pl.Series(times), None)
        assert moment == max(times)
        assert years.min() == 0
        assert future == 0
        assert (np.argsort(-years, kind="stable") == np.argsort(np.array(times), kind="stable")).all()

    @given(st.lists(moments, min_size=1, max_size=10), moments)
    @settings(max_examples=30)
    def test_years_are_days_over_365_and_a_quarter(self, times, now):
        years, _, future = ages(pl.Series(times), now)
        expected = [max((now - time).total_seconds() / 86400 / 365.25, 0) for time in times]
        np.testing.assert_allclose(years, expected, atol=1e-9)
        assert future == sum(time > now for time in times)

    def test_a_zone_of_now_is_taken_off(self):
        now = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
        years, moment, _ = ages(pl.Series([datetime(2024, 1, 1)]), now)
        assert (years.tolist(), moment) == ([0.0], datetime(2024, 1, 1))

    def test_no_time_at_all_is_new(self):
        years, _, future = ages(pl.Series([None, None], dtype=pl.Datetime("us")), None)
        assert (years.tolist(), future) == ([0.0, 0.0], 0)


class TestMoment:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, None),
            (date(2026, 1, 31), datetime(2026, 1, 31)),
            (datetime(2026, 1, 31, 5), datetime(2026, 1, 31, 5)),
            ("2026-01-31T05:00", datetime(2026, 1, 31, 5)),
        ],
    )
    def test_forms(self, value, expected):
        assert parse_moment(value) == expected

    @pytest.mark.parametrize("value", ["soon", 5, ""])
    def test_others_are_named(self, value):
        with pytest.raises(InputError, match="reference_time must be a date or time such as 2026-01-31, got"):
            parse_moment(value)


def test_the_start_of_a_column_tells_but_only_all_of_it_settles():
    late = pl.Series(["2024-01-01"] * 150 + ["soon"])
    assert looks_like_times(late)
    assert not are_times(late)
    assert not looks_like_times(pl.Series([None, None], dtype=pl.String))
