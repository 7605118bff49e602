"""Times of the log: UTC text of one width, which sorts as the times themselves do."""

from datetime import UTC, datetime

from anml.core.errors import InputError


def stamp(moment: datetime) -> str:
    """A time as text that sorts: UTC, microseconds, always the same width."""
    if moment.tzinfo is None:
        raise InputError(f"a time needs its zone, got {moment.isoformat()}")
    # Not strftime: it writes years below 1000 with fewer digits, and text would no longer sort as time.
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def moment(text: str) -> datetime:
    """Read a time; without a zone it is an error, not a guess."""
    try:
        found = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        raise InputError(f"a time is written like 2026-10-31T00:00:00Z, got {text!r}") from None
    if found.tzinfo is None:
        raise InputError(f"a time needs its zone, such as a Z at the end, got {text!r}")
    try:
        return found.astimezone(UTC)
    except OverflowError:
        raise InputError(f"a time lies in the years 1 to 9999, got {text!r}") from None


def seconds(text: str) -> float:
    """A time as seconds, for arithmetic."""
    return moment(text).timestamp()


def shown_date(timestamp: float) -> str:
    """A time for people."""
    return datetime.fromtimestamp(timestamp, UTC).isoformat(" ", "minutes").removesuffix("+00:00") + " UTC"
