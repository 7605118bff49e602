"""A ledger: a database, its keys, a clock and a source of identifiers, all handed in."""

import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from anml.core.errors import ConflictError, InputError
from anml.core.merkle import Tree
from anml.ledger import checkpoint, schema
from anml.ledger.engine import check_file, connect, ledger_url, reading, refused, sqlite_path, transact
from anml.ledger.keys import KeyRing, create_keys, load_keys
from anml.ledger.log import Writer, leaves

T = TypeVar("T")
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)


def random_id() -> str:
    """128 random bits: says nothing about who it stands for."""
    return "c" + secrets.token_hex(16)


def is_id(text: str) -> bool:
    """Whether a text has the shape of such an identifier.

    Examples
    --------
    >>> is_id(random_id()), is_id("labels.csv")
    (True, False)
    """
    return re.fullmatch(r"c[0-9a-f]{32}", text) is not None


def stamp(moment: datetime) -> str:
    """A time as text that sorts: UTC, microseconds, always the same width.

    Examples
    --------
    >>> stamp(datetime(2026, 11, 15, tzinfo=UTC))
    '2026-11-15T00:00:00.000000Z'
    """
    if moment.tzinfo is None:
        raise InputError(f"a time needs its zone, got {moment.isoformat()}")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text: str) -> datetime:
    """Read a time; without a zone it is an error, not a guess.

    Examples
    --------
    >>> moment("2026-10-31T02:00:00+02:00").isoformat()
    '2026-10-31T00:00:00+00:00'
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
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


@dataclass(frozen=True)
class Ledger:
    """An open ledger. Without keys it can be read and verified, not written personal data to or signed."""

    engine: sa.Engine
    keys: KeyRing | None
    clock: Clock = utc_now
    new_id: Callable[[], str] = random_id

    @property
    def ring(self) -> KeyRing:
        """The keys, or a sentence that they are needed."""
        if self.keys is None:
            raise InputError("this needs the ledger's keys; give their folder with --keys or ANML_KEYS")
        return self.keys

    def write(self, work: Callable[[Writer], T]) -> T:
        """Run `work` in one transaction; all of it counts, or none."""

        def run(connection: sa.Connection) -> T:
            writer = Writer(connection, stamp(self.clock()))
            result = work(writer)
            writer.flush()
            return result

        return transact(self.engine, run)

    def rehearse(self, work: Callable[[Writer], T]) -> T:
        """Run `work` as `write` would, and take all of it back: what would happen, for a dry run."""
        with self.engine.connect() as connection, connection.begin() as transaction:
            writer = Writer(connection, stamp(self.clock()))
            result = work(writer)
            writer.flush()
            transaction.rollback()
            return result

    def carry_out(self, work: Callable[[Writer], T], *, dry_run: bool) -> T:
        """Write, or only rehearse."""
        return self.rehearse(work) if dry_run else self.write(work)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A consistent view of the ledger."""
        with reading(self.engine) as connection, connection.begin():
            yield connection

    def checkpoint(self, connection: sa.Connection) -> tuple[str, Tree]:
        """A signed checkpoint of the log as this connection sees it, and the tree behind it."""
        tree = Tree(leaves(connection))
        return checkpoint.sign(self.ring, len(tree), tree.root), tree

    def close(self) -> None:
        """Give back the connections."""
        self.engine.dispose()


def keys_folder(url: sa.URL, given: str | Path | None = None) -> Path | None:
    """Where a ledger's keys lie: as given, by ANML_KEYS, or beside a SQLite file."""
    if given or os.environ.get("ANML_KEYS"):
        return Path(given or os.environ["ANML_KEYS"])
    path = sqlite_path(url)
    return Path(f"{path}.keys") if path else None


def create(
    url: str, keys: str | Path | None = None, origin: str = "anml-ledger", clock: Clock = utc_now
) -> Ledger:
    """Make a new ledger: schema, keys, and a first entry that names it."""
    place = ledger_url(url)
    folder = keys_folder(place, keys)
    if folder is None:
        raise InputError("a ledger on a server needs a folder for its keys; give --keys or ANML_KEYS")
    if not origin.strip() or any(char in origin for char in " +\n"):
        raise InputError(f"the name of a ledger has no spaces or plus signs, got {origin!r}")
    path = sqlite_path(place)
    is_new = path is not None and not path.exists()
    if path is not None:
        check_file(path, may_be_empty=True)
    engine = connect(place)
    try:
        with refused(place):
            ring = _initialise(engine, place, folder, origin)
    except BaseException:
        engine.dispose()
        if is_new and path is not None:
            path.unlink(missing_ok=True)
        raise
    ledger = Ledger(engine, ring, clock)
    ledger.write(lambda tx: tx.append("ledger.created", "ledger.created", "", {"origin": origin}))
    return ledger


def _initialise(engine: sa.Engine, place: sa.URL, folder: Path, origin: str) -> KeyRing:
    with engine.begin() as connection:
        if schema.version(connection):
            raise ConflictError(f"there is a ledger at {place.render_as_string()} already")
        ring = create_keys(folder, origin)
        schema.migrate(connection)
        connection.execute(sa.insert(schema.meta).values(name="origin", value=origin))
    return ring


def open_ledger(
    url: str,
    keys: str | Path | None = None,
    clock: Clock = utc_now,
    new_id: Callable[[], str] = random_id,
) -> Ledger:
    """Open a ledger and bring its schema up to date."""
    place = ledger_url(url)
    path = sqlite_path(place)
    if path is not None and not path.is_file():
        raise InputError(f"there is no ledger at {path}; make one with: anml ledger init")
    folder = keys_folder(place, keys)
    if folder is not None and not folder.is_dir() and (keys or os.environ.get("ANML_KEYS")):
        raise InputError(f"there is no folder of keys {folder}")
    if path is not None:
        check_file(path)
    engine = connect(place)
    try:
        with refused(place):
            origin = _upgrade(engine, place)
        ring = load_keys(folder, origin) if folder and folder.is_dir() else None
    except BaseException:
        engine.dispose()
        raise
    return Ledger(engine, ring, clock, new_id)


def _upgrade(engine: sa.Engine, place: sa.URL) -> str:
    """Bring the schema up to date; returns the ledger's name."""
    with reading(engine) as connection:
        found = schema.version(connection)
    if not found:
        raise InputError(f"there is no ledger at {place.render_as_string()}; make one with: anml ledger init")
    if found != len(schema.MIGRATIONS):
        with engine.begin() as connection:
            schema.migrate(connection)
    return _origin(engine)


def origin_of(ledger: Ledger) -> str:
    """The name under which a ledger signs."""
    return _origin(ledger.engine)


def _origin(engine: sa.Engine) -> str:
    with reading(engine) as connection:
        return str(connection.scalar(sa.select(schema.meta.c.value).where(schema.meta.c.name == "origin")))
