"""Contributors: a random identifier in the log, and what is personal erasable and encrypted beside it."""

import json
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import canonical, sha256
from anml.core.errors import ConflictError
from anml.ledger import kinds
from anml.ledger.engine import scrub
from anml.ledger.keys import KeyRing, seal, unseal
from anml.ledger.log import Event
from anml.ledger.reading import Reading, alias_digest, open_paper, record_digest
from anml.ledger.schema import ERASABLE, alias, person, person_document, person_key
from anml.ledger.store import Ledger
from anml.ledger.writer import By, Writer

ACCOUNT = "account"
PAYEE = "payee"
# What somebody is paid under, as two people agreed on it.
DETAILS = ("name", "iban", "bic")

# A paper about somebody, as the log names it: its hash, and the hash of what is stored of it.
Paper = dict[str, str]
NO_PAPER: Paper = {"paper": "", "sealed": ""}


def register(tx: Writer, source: str, accounts: Iterable[str]) -> dict[str, str]:
    """The identifiers of these accounts of `source`, new ones made where needed."""
    handles = {name: tx.ring.handle(ACCOUNT, f"{source}\x00{name}") for name in sorted(set(accounts))}
    known = tx.reading.held.owners
    rows: dict[sa.Table, list[dict[str, Any]]] = {person_key: [], person: [], alias: []}
    for name, handle in handles.items():
        if handle in known:
            continue
        pid = known[handle] = tx.ledger.new_id()
        key, salt = tx.ledger.entropy(32), tx.ledger.entropy(16).hex()
        wrapped = seal(tx.ring.master, key, f"key/{pid}", tx.ledger.entropy)
        sealed = seal(key, canonical({"accounts": [f"{source}:{name}"]}), f"person/{pid}", tx.ledger.entropy)
        rows[person_key].append({"pid": pid, "wrapped": wrapped})
        rows[person].append({"pid": pid, "sealed": sealed})
        rows[alias].append({"handle": handle, "pid": pid, "salt": salt})
        body = {"record": record_digest(pid, wrapped, sealed), "account": alias_digest(handle, pid, salt)}
        tx.append(kinds.REGISTERED, f"contributor/{pid}", pid, body)
    for table, values in rows.items():
        if values:
            tx.connection.execute(sa.insert(table), values)
    return {name: tx.state.people.resolve(known[handle]) for name, handle in handles.items()}


def lookup_all(where: Reading, ring: KeyRing, source: str, names: Iterable[str]) -> dict[str, str]:
    """The identifiers of those of these accounts that are known."""
    handles = {name: ring.handle(ACCOUNT, f"{source}\x00{name}") for name in names}
    known, resolve = where.held.owners, where.state.people.resolve
    return {name: resolve(known[handle]) for name, handle in handles.items() if handle in known}


def profile(where: sa.Connection | Reading, ring: KeyRing, pid: str) -> dict[str, Any]:
    """The personal data of a contributor; empty after erasure."""
    return profiles(where, ring, [pid]).get(pid, {})


def profiles(
    where: sa.Connection | Reading, ring: KeyRing, pids: Iterable[str] | None = None
) -> dict[str, dict[str, Any]]:
    """The personal data of these contributors, or of all; of a verified ledger what it vouches for."""
    if isinstance(where, Reading):
        known = where.held.profiles
        wanted = known if pids is None else set(pids) & known.keys()
        return {pid: _vouched(where, ring, pid) for pid in wanted}
    query = sa.select(person.c.pid, person.c.sealed, person_key.c.wrapped)
    query = query.join(person_key, person_key.c.pid == person.c.pid)
    if pids is not None:
        query = query.where(person.c.pid.in_(list(pids)))
    return {row.pid: _open(ring, row.pid, row.wrapped, row.sealed) for row in where.execute(query).all()}


def _vouched(where: Reading, ring: KeyRing, pid: str) -> dict[str, Any]:
    """A profile without what one person alone could have written into it: names, accounts, bank details."""
    about, held = _open(ring, pid, *where.held.profiles[pid]), where.held
    listed = [one for one in about.get("accounts", []) if _leads_to(pid, where, ring, one)]
    paper = where.state.payees.paper.get(pid, "")
    sealed = held.details.get((paper, pid)) or (_sealed(where.connection, pid, paper) if paper else None)
    signed = json.loads(open_paper(ring, pid, paper, held.profiles[pid][0], sealed)) if sealed else {}
    agreed = {name: signed[name] for name in DETAILS if name in signed}
    return {**{name: about[name] for name in about if name not in DETAILS}, "accounts": listed, **agreed}


def _leads_to(pid: str, where: Reading, ring: KeyRing, account: str) -> bool:
    """Whether an account written source:name is somebody's; source and name may both have colons."""
    parts = account.split(":")
    cuts = ((":".join(parts[:n]), ":".join(parts[n:])) for n in range(1, len(parts)))
    return any(where.held.owners.get(ring.handle(ACCOUNT, "\x00".join(cut))) == pid for cut in cuts)


def accounts(profiles: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Place and name of every account in these profiles."""
    found = [account.partition(":") for about in profiles for account in about.get("accounts", [])]
    return [(place, name) for place, _, name in found]


def _open(ring: KeyRing, pid: str, wrapped: bytes, sealed: bytes) -> dict[str, Any]:
    key = unseal(ring.master, wrapped, f"key/{pid}")
    found: dict[str, Any] = json.loads(unseal(key, sealed, f"person/{pid}"))
    return found


def store_profile(tx: Writer, pid: str, values: dict[str, Any]) -> str:
    """Put new personal data in place of the old; returns what the log is to hold of them."""
    wrapped = _wrapped(tx.connection, pid)
    key = unseal(tx.ring.master, wrapped, f"key/{pid}")
    sealed = seal(key, canonical(values), f"person/{pid}", tx.ledger.entropy)
    tx.connection.execute(sa.update(person).where(person.c.pid == pid).values(sealed=sealed))
    tx.reading.held.profiles[pid] = (wrapped, sealed)
    return record_digest(pid, wrapped, sealed)


def add_alias(tx: Writer, namespace: str, value: str, pid: str) -> str:
    """Let a name lead to a contributor; returns what the log is to hold of it."""
    handle, salt = tx.ring.handle(namespace, value), tx.ledger.entropy(16).hex()
    tx.connection.execute(sa.insert(alias).values(handle=handle, pid=pid, salt=salt))
    tx.reading.held.owners[handle] = pid
    return alias_digest(handle, pid, salt)


def change_email(tx: Writer, pid: str, email: str, by: By) -> Event:
    """Change the address people are written to; nothing is paid to it, so one person may."""
    tx.state.people.require(pid)
    body = {"record": store_profile(tx, pid, profile(tx.reading, tx.ring, pid) | {"email": email})}
    return tx.append(kinds.CHANGED, f"contributor/{pid}/{tx.next_seq}", pid, body, by=tx.who(by))


def attach(tx: Writer, pid: str, data: bytes) -> Paper:
    """Keep a paper about a contributor where it can be erased; returns its hashes for the log."""
    name = sha256(data)
    sealed = _sealed(tx.connection, pid, name)
    if sealed is None:
        key = unseal(tx.ring.master, _wrapped(tx.connection, pid), f"key/{pid}")
        sealed = seal(key, data, f"document/{pid}/{name}", tx.ledger.entropy)
        tx.connection.execute(sa.insert(person_document).values(sha256=name, pid=pid, sealed=sealed))
    return {"paper": name, "sealed": sha256(sealed)}


def paper_of(connection: sa.Connection, pid: str, name: str) -> Paper:
    """A paper that is kept already, as the log names it; none where `name` is empty."""
    sealed = _sealed(connection, pid, name)
    return NO_PAPER if sealed is None else {"paper": name, "sealed": sha256(sealed)}


def _sealed(connection: sa.Connection, pid: str, name: str) -> bytes | None:
    place = (person_document.c.sha256 == name) & (person_document.c.pid == pid)
    return connection.scalar(sa.select(person_document.c.sealed).where(place))


def attach_values(tx: Writer, pid: str, values: dict[str, Any]) -> Paper:
    """Keep plain values about a contributor; salted, so that nobody can guess at them from the log."""
    return attach(tx, pid, canonical({**values, "salt": tx.ledger.entropy(16).hex()}))


def attached(connection: sa.Connection, ring: KeyRing, pid: str, name: str) -> bytes | None:
    """A paper by its hash; None after erasure."""
    sealed = _sealed(connection, pid, name)
    return None if sealed is None else open_paper(ring, pid, name, _wrapped(connection, pid), sealed)


def attached_values(connection: sa.Connection, ring: KeyRing, pid: str, name: str) -> dict[str, Any]:
    """What a sealed paper says, without its salt; nothing where it was erased or there is none."""
    data = attached(connection, ring, pid, name) if name else None
    found: dict[str, Any] = json.loads(data) if data else {}
    return {key: value for key, value in found.items() if key != "salt"}


def texts(
    connection: sa.Connection, ring: KeyRing | None, papers: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """What people wrote, by the hash of the paper, given whom each is about; nothing without the keys."""
    if ring is None:
        return {}
    return {name: attached_values(connection, ring, pid, name).get("text", "") for pid, name in papers}


def erase(ledger: Ledger, pid: str, reason: str, by: By = None) -> list[str]:
    """Delete all that is personal of a whole person, and scrub their files; what could not be reached."""

    def work(tx: Writer) -> None:
        people = tx.verified().state.people
        people.require(pid)
        whole, everybody = people.resolve(pid), people.same(pid)
        body = {"reason": reason, "also": [one for one in everybody if one != whole]}
        tx.append(kinds.ERASED, f"erase/{whole}", whole, body, by=tx.who(by))
        delete(tx, pid)

    ledger.write(work)
    return scrubbed(ledger)


def scrubbed(ledger: Ledger) -> list[str]:
    """Remove what was erased from the files themselves; returns what could not be reached."""
    return scrub(ledger.engine, ERASABLE)


def delete(tx: Writer, pid: str) -> None:
    """Delete the rows of a whole person; the log says why, in the same transaction."""
    whole, held = tx.state.people.same(pid), tx.reading.held
    for table in ERASABLE:
        tx.connection.execute(sa.delete(table).where(table.c.pid.in_(whole)))
    # A program that goes on knows them no more either.
    held.owners = {handle: one for handle, one in held.owners.items() if one not in whole}


def _wrapped(connection: sa.Connection, pid: str) -> bytes:
    """Somebody's own key, as the ledger's wraps it."""
    wrapped: bytes | None = connection.scalar(sa.select(person_key.c.wrapped).where(person_key.c.pid == pid))
    if wrapped is None:
        raise ConflictError(f"contributor {pid} was erased")
    return wrapped
