"""Direct queries of tests on the tables of a ledger."""

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from anml.ledger.keys import KeyRing
from anml.ledger.log import Event, decode_event, log_head
from anml.ledger.personal_data import ACCOUNT
from anml.ledger.schema import alias, event, posting
from anml.ledger.state import load_component
from anml.ledger.state_money import Settlement, Settlements
from anml.ledger.state_people import Contributors, Proposals


def events(
    connection: sa.Connection, kinds: Sequence[str] = (), subject: str | None = None
) -> Iterator[Event]:
    """Events in order, of these kinds and about this subject where given."""
    query = sa.select(event.c.entry, event.c.hash).order_by(event.c.seq)
    query = query.where(event.c.kind.in_(kinds)) if kinds else query
    query = query.where(event.c.subject == subject) if subject is not None else query
    for row in connection.execute(query):
        yield decode_event(row.entry, row.hash)


def find(connection: sa.Connection, key: str) -> Event | None:
    """The event with this key."""
    row = connection.execute(sa.select(event.c.entry, event.c.hash).where(event.c.key == key)).first()
    return decode_event(row.entry, row.hash) if row else None


def size(connection: sa.Connection) -> int:
    """Return the number of entries of the log."""
    return log_head(connection)[0]


def who_is(connection: sa.Connection, ring: KeyRing, source: str, name: str) -> str | None:
    """The identifier of an account, as the table says it."""
    handle = ring.handle(ACCOUNT, f"{source}\x00{name}")
    found = connection.scalar(sa.select(alias.c.pid).where(alias.c.handle == handle))
    return None if found is None else load_component(Contributors, connection).resolve(found)


def settlements(connection: sa.Connection) -> dict[str, Settlement]:
    """All settlements by their identifiers, oldest first."""
    return load_component(Settlements, connection).found


def open_proposals(connection: sa.Connection) -> list[Event]:
    """Return the proposals that need a second approval, oldest first."""
    return load_component(Proposals, connection).waiting


def leaves(connection: sa.Connection, upto: int | None = None) -> list[bytes]:
    """The hashes of the log, in order."""
    query = sa.select(event.c.hash).order_by(event.c.seq)
    if upto is not None:
        query = query.where(event.c.seq <= upto)
    return list(connection.scalars(query))


def balance(connection: sa.Connection, account: str, currency: str, settlement: str | None = None) -> int:
    """Micro-units on one account."""
    total = sa.func.coalesce(sa.func.sum(posting.c.amount), 0)
    query = sa.select(total).where(posting.c.account == account, posting.c.currency == currency)
    if settlement is not None:
        query = query.where(posting.c.settlement == settlement)
    return int(connection.scalar(query) or 0)


def balances(
    connection: sa.Connection, prefix: str, currency: str, settlement: str | None = None
) -> dict[str, int]:
    """Micro-units on every account of one kind, by what follows the prefix."""
    query = sa.select(posting.c.account, sa.func.sum(posting.c.amount)).group_by(posting.c.account)
    query = query.where(posting.c.account.startswith(prefix, autoescape=True), posting.c.currency == currency)
    if settlement is not None:
        query = query.where(posting.c.settlement == settlement)
    return {account.removeprefix(prefix): int(amount) for account, amount in connection.execute(query)}


def totals(connection: sa.Connection) -> dict[str, int]:
    """The sum of all postings by currency; zero, always."""
    query = sa.select(posting.c.currency, sa.func.sum(posting.c.amount)).group_by(posting.c.currency)
    return {currency: int(amount) for currency, amount in connection.execute(query)}
