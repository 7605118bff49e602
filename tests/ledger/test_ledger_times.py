"""Times of the log: one width, one zone, and the order of the text is the order of the times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.ledger.log import format_timestamp, parse_timestamp, seconds, shown_date

zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(1000, 1, 3), datetime(9999, 12, 29), timezones=zones)


def test_by_hand():
    """Two in the morning two hours east of Greenwich is midnight there."""
    assert format_timestamp(parse_timestamp("2026-10-31T02:00:00+02:00")) == "2026-10-31T00:00:00.000000Z"
    # 1970-01-02T00:00:01.5Z is one day and one and a half seconds after the epoch.
    assert seconds("1970-01-02T00:00:01.500000Z") == 86_401.5
    assert shown_date(86_400 + 3_600) == "1970-01-02 01:00 UTC"


def test_times_need_a_zone():
    with pytest.raises(InputError, match="needs its zone"):
        parse_timestamp("2026-01-01T00:00:00")
    with pytest.raises(InputError, match="written like"):
        parse_timestamp("soon")
    with pytest.raises(InputError, match="needs its zone"):
        format_timestamp(datetime(2026, 1, 1))


@given(times)
def test_what_is_written_reads_back(when):
    assert parse_timestamp(format_timestamp(when)) == when
    assert format_timestamp(parse_timestamp(format_timestamp(when))) == format_timestamp(when)


@given(times, times)
def test_text_sorts_as_the_times_do(one, other):
    assert (format_timestamp(one) < format_timestamp(other)) == (one < other)
    assert len(format_timestamp(one)) == len(format_timestamp(other)) == 27


@given(times)
def test_the_zone_of_the_writer_leaves_no_trace(when):
    assert format_timestamp(when) == format_timestamp(when.astimezone(UTC))


@pytest.mark.parametrize("text", ["", "2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z", "1e400", "\x00", "🙂"])
def test_what_is_no_time_is_named_in_one_sentence(text):
    with pytest.raises(InputError, match=r"^a time is written like 2026-10-31T00:00:00Z, got ") as error:
        parse_timestamp(text)
    assert str(error.value).endswith(repr(text))


@pytest.mark.parametrize("value", [None, 7, 1.5, ["2026-01-01T00:00:00Z"]])
def test_what_is_no_text_is_no_time(value):
    with pytest.raises(InputError, match="a time is written like"):
        parse_timestamp(value)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_times_that_leave_the_calendar_in_utc_are_refused(text):
    with pytest.raises(InputError, match="the years 1 to 9999"):
        parse_timestamp(text)


@given(st.integers(0, 10**9))
def test_seconds_and_dates_agree(count):
    shown = shown_date(float(count))
    assert 0 <= count - seconds(shown.replace(" UTC", "Z").replace(" ", "T")) < 60
