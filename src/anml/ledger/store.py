"""A ledger: a database, its keys, a clock and a source of identifiers, all handed in."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

import sqlalchemy as sa

from anml.core.errors import ConflictError, InputError
from anml.ledger import kinds, schema
from anml.ledger.engine import (
    check_file,
    connect,
    database_error,
    ledger_url,
    reading,
    run_transaction,
    sqlite_path,
)
from anml.ledger.identifiers import staff_id
from anml.ledger.keys import UNFINISHED, KeyRing, create_keys, create_signer, load_keys, public_text
from anml.ledger.reading import LedgerReader
from anml.ledger.signing import FOLDER, SignerLookup, from_file
from anml.ledger.state import load_component
from anml.ledger.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")
Clock = Callable[[], datetime]
_MAKE = "make one with: anml-ledger init"


def utc_now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)


def random_id() -> str:
    """128 random bits: says nothing about who it stands for."""
    return "c" + secrets.token_hex(16)


@dataclass(frozen=True)
class Ledger:
    """An open ledger. Without keys it can be read and verified, not written personal data to or signed."""

    engine: sa.Engine
    keys: KeyRing | None
    clock: Clock = utc_now
    new_id: Callable[[], str] = random_id
    signers: SignerLookup = field(default_factory=SignerLookup)
    entropy: Callable[[int], bytes] = os.urandom
    # The ledger as it was read and verified for the last transaction; nothing, or one.
    memory: list[LedgerReader] = field(default_factory=list, repr=False, compare=False)
    dry_run: bool = False

    @property
    def ring(self) -> KeyRing:
        """The keys, or a sentence that they are needed."""
        if self.keys is None:
            raise InputError("this needs the ledger's keys; give their folder with --keys or ANML_KEYS")
        return self.keys

    def remembered(self) -> LedgerReader | None:
        """Return the cached reader and clear the cache, so that a failed transaction leaves no state."""
        return self.memory.pop() if self.memory else None

    def write(self, work: Callable[[Writer], T]) -> T:
        """Run `work` in one transaction; all of it counts, or none."""
        if self.dry_run:
            return self.rehearse(work)
        return run_transaction(self.engine, lambda connection: self._run(connection, work, kept=True))

    def _run(self, connection: sa.Connection, work: Callable[[Writer], T], *, kept: bool) -> T:
        writer = Writer(connection, self)
        result = work(writer)
        writer.close(kept=kept)
        return result

    def rehearse(self, work: Callable[[Writer], T]) -> T:
        """Run `work` as `write` would, and take all of it back: what would happen, for a dry run."""
        with self.engine.connect() as connection, connection.begin() as transaction:
            result = self._run(connection, work, kept=False)
            transaction.rollback()
            return result

    def dry(self) -> "Ledger":
        """The same ledger, in which whatever is written is taken back."""
        return replace(self, dry_run=True)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A consistent view of the ledger."""
        with reading(self.engine) as connection, connection.begin():
            yield connection

    def listed(self, wanted: type[T]) -> T:
        """A part of what the log means as the database says it, for lists that people look at."""
        with self.read() as connection:
            return load_component(wanted, connection)

    def close(self) -> None:
        """Give back the connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def as_transaction(step: Callable[Concatenate[Writer, P], T]) -> Callable[Concatenate[Ledger, P], T]:
    """A step of a transaction as one of its own: called with the ledger in place of the transaction."""

    @wraps(step)
    def run(ledger: Ledger, /, *args: P.args, **more: P.kwargs) -> T:
        return ledger.write(lambda tx: step(tx, *args, **more))

    return run


def keys_folder(url: sa.URL, given: str | Path | None = None) -> Path | None:
    """Return the folder of a ledger's keys: as provided, from ANML_KEYS, or next to a SQLite file."""
    if given or os.environ.get("ANML_KEYS"):
        return Path(given or os.environ["ANML_KEYS"])
    path = sqlite_path(url)
    return Path(f"{path}.keys") if path else None


@dataclass(frozen=True)
class LedgerSettings:
    """Permanent settings of a ledger: waiting time, appeals contact, and recovery key."""

    founder: str = "founder"
    single_person: bool = False
    payee_wait_days: int = 3
    appeals: str = ""
    recovery: str = ""


def create(
    url: str, keys: str | Path | None = None, origin: str = "anml-ledger", clock: Clock = utc_now,
    charter: LedgerSettings | None = None, staff: Path | None = None, password: str = "",
) -> Ledger:  # fmt: skip
    """Make a new ledger: schema, keys, its founder (whose own key is in `staff`), and a first entry."""
    place = ledger_url(url)
    folder = keys_folder(place, keys)
    if folder is None:
        raise InputError("a ledger on a server needs a folder for its keys; give --keys or ANML_KEYS")
    if not origin.strip() or any(char in origin for char in " +\n") or not origin.isprintable():
        raise InputError(f"the name of a ledger has no spaces or plus signs, got {origin!r}")
    charter = charter or LedgerSettings()
    charter = replace(charter, founder=staff_id(charter.founder), appeals=charter.appeals.strip())
    if len(charter.appeals) > 200 or not charter.appeals.isprintable():
        raise InputError("where to appeal is one line of up to 200 letters")
    path = sqlite_path(place)
    is_new = path is not None and not path.exists()
    if path is not None:
        check_file(path, may_be_empty=True)
        # SQLite gives its other files the mode of this one: for the owner alone.
        path.touch(mode=0o600)
        path.chmod(0o600)
    own = (staff or staff_folder()) / f"{charter.founder}.pem"
    signers, engine = SignerLookup((own.parent,)), connect(place)
    if password:
        signers.password = lambda path: password
    try:
        with database_error(place), engine.begin() as connection:
            if schema.version(connection):
                raise ConflictError(f"there is a ledger at {place.render_as_string()} already")
            ring = create_keys(folder, origin)
            if not own.exists():
                own.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                create_signer(own, password)
            made = Ledger(engine, ring, clock, signers=signers)
            _initialise(connection, made, charter, own)
    except BaseException:
        engine.dispose()
        if is_new and path is not None:
            path.unlink(missing_ok=True)
        raise
    (folder / UNFINISHED).unlink(missing_ok=True)
    return made


def _initialise(connection: sa.Connection, made: Ledger, charter: LedgerSettings, own: Path) -> None:
    schema.create_all(connection)
    ring = made.ring
    connection.execute(sa.insert(schema.meta).values(name="origin", value=ring.origin))
    body = {
        "origin": ring.origin,
        "public": public_text(ring.public),
        "founder_key": public_text(from_file(own, made.signers.password).public),
        "decisions": True,
        **{name: value for name, value in asdict(charter).items() if value or name != "recovery"},
    }
    writer = Writer(connection, made)
    writer.append(kinds.CREATED, kinds.CREATED, "", body, by=charter.founder)
    writer.close()


def staff_folder() -> Path:
    """Return the folder of a staff member's keys: ANML_STAFF_KEYS, or a folder in the home directory."""
    return Path(os.environ.get("ANML_STAFF_KEYS") or Path.home() / ".config" / "anml" / "staff")


def open_ledger(
    url: str, keys: str | Path | None = None, clock: Clock = utc_now,
    new_id: Callable[[], str] = random_id, sign: Path | None = None, staff: Path | None = None,
    by: str | None = None,
) -> Ledger:  # fmt: skip
    """Open a ledger; a `with` block closes it.

    `by` acts in it, with the key `sign`, else one found in `staff`, last beside the ledger's own.
    """
    place = ledger_url(url)
    path = sqlite_path(place)
    if path is not None and not path.is_file():
        raise InputError(f"there is no ledger at {path}; {_MAKE}")
    folder = keys_folder(place, keys)
    if folder is not None and not folder.is_dir() and (keys or os.environ.get("ANML_KEYS")):
        raise InputError(f"there is no folder of keys {folder}")
    if path is not None:
        check_file(path)
    engine = connect(place)
    try:
        with database_error(place), reading(engine) as connection:
            found = schema.version(connection)
            if not found:
                raise InputError(f"there is no ledger at {place.render_as_string()}; {_MAKE}")
            schema.check_version(found)
            named = sa.select(schema.meta.c.value).where(schema.meta.c.name == "origin")
            origin = str(connection.scalar(named))
        ring = load_keys(folder, origin) if folder and folder.is_dir() else None
    except BaseException:
        engine.dispose()
        raise
    folders = (staff or staff_folder(), *([folder / FOLDER] if folder else []))
    return Ledger(engine, ring, clock, new_id, SignerLookup(folders, sign, by))
