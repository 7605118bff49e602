"""The log: events as canonical bytes, each bound to the one before; times are text that sorts as they do."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.canonical import canonical
from anml.core.errors import InputError, IntegrityError
from anml.ledger.money import MAX_MICRO
from anml.ledger.schema import event

GENESIS = "0" * 64
# What of an entry stands beside its bytes as well, to be found by.
COLUMNS = ("seq", "kind", "key", "subject", "at")


class Posting(NamedTuple):
    """One line of an entry: micro-units into (plus) or out of (minus) an account."""

    account: str
    currency: str
    amount: int


class Event(NamedTuple):
    """One entry, read back; `by` signed it, empty where nobody did, for all from `first` on under `root`."""

    seq: int
    kind: str
    key: str
    subject: str
    at: str
    body: dict[str, Any]
    settlement: str
    postings: tuple[Posting, ...]
    prev: str
    hash: bytes
    by: str = ""
    sig: str = ""
    first: int = 0
    root: str = ""


# Of each field of an event, in their order.
COLUMN_TYPES = (int, str, str, str, str, dict, str, tuple, str, bytes, str, str, int, str)


def check_balanced(postings: Iterable[Posting], where: str) -> None:
    """Every entry sums to zero in each currency."""
    sums: dict[str, int] = {}
    for item in postings:
        if abs(item.amount) > MAX_MICRO:
            raise InputError(f"{item.amount} micro-units in {where} do not fit 64 bits")
        sums[item.currency] = sums.get(item.currency, 0) + item.amount
    for currency, left in sums.items():
        if left:
            raise IntegrityError(f"the postings of {where} sum to {left} micro-units of {currency}, not to 0")


def encode_event(made: Event) -> bytes:
    """The canonical bytes of an event: what is stored and hashed."""
    fields = made._asdict()
    del fields["hash"]
    for name in ("by", "sig", "first", "root"):
        if not fields[name]:
            del fields[name]
    fields["postings"] = [list(item) for item in made.postings]
    return canonical(fields)


def signed_bytes(made: Event) -> bytes:
    """Return the bytes that a staff member signs: the whole entry with its position in the log."""
    return b"anml-entry/1\n" + encode_event(made._replace(sig=""))


def decode_event(entry: bytes, hashed: bytes) -> Event:
    """The reverse of `encode`."""
    fields = json.loads(entry.decode())
    lines = tuple(Posting(*line) for line in fields.pop("postings"))
    made = Event(**fields, postings=lines, hash=hashed)
    # Whoever writes to the file may put a list in the place of a name, and nothing further on expects that.
    if tuple(map(type, made)) != COLUMN_TYPES or any(
        tuple(map(type, line)) != (str, str, int) for line in lines
    ):
        raise TypeError("a field of the entry is of another kind")
    return made


def log_head(connection: sa.Connection) -> tuple[int, bytes, str]:
    """Number, hash and time of the last entry; of an empty log, those of nothing."""
    query = sa.select(event.c.seq, event.c.hash, event.c.at).order_by(event.c.seq.desc()).limit(1)
    last = connection.execute(query).first()
    return (last.seq, last.hash, last.at) if last else (0, b"", "")


def format_timestamp(moment: datetime) -> str:
    """A time as text that sorts: UTC, microseconds, always the same width."""
    if moment.tzinfo is None:
        raise InputError(f"a time needs its zone, got {moment.isoformat()}")
    # Not strftime: it writes years below 1000 with fewer digits, and text would no longer sort as time.
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def parse_timestamp(text: str) -> datetime:
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
    return parse_timestamp(text).timestamp()


def shown_date(timestamp: float) -> str:
    """A time for people."""
    return datetime.fromtimestamp(timestamp, UTC).isoformat(" ", "minutes").removesuffix("+00:00") + " UTC"
