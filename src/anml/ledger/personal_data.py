"""Contributors: a random identifier in the log, and what is personal erasable and encrypted beside it."""

import json
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import canonical, sha256
from anml.core.errors import ConflictError
from anml.ledger import kinds
from anml.ledger.engine import vacuum_deleted
from anml.ledger.keys import KeyRing, decrypt, encrypt
from anml.ledger.log import Event
from anml.ledger.reading import LedgerReader, alias_digest, decrypt_document, record_digest
from anml.ledger.rules_people import bank_account_hashes
from anml.ledger.schema import ERASABLE, alias, person, person_document, person_key
from anml.ledger.store import Ledger
from anml.ledger.writer import Actor, Writer

ACCOUNT = "account"
PAYEE_KIND = "payee"
# What somebody is paid under, as two people agreed on it.
DETAILS = ("name", "iban", "bic")

# A paper about somebody, as the log names it: its hash, and the hash of what is stored of it.
Paper = dict[str, str]
NO_DOCUMENT: Paper = {"paper": "", "sealed": ""}


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
        wrapped = encrypt(tx.ring.master, key, f"key/{pid}", tx.ledger.entropy)
        sealed = encrypt(
            key, canonical({"accounts": [f"{source}:{name}"]}), f"person/{pid}", tx.ledger.entropy
        )
        rows[person_key].append({"pid": pid, "wrapped": wrapped})
        rows[person].append({"pid": pid, "sealed": sealed})
        rows[alias].append({"handle": handle, "pid": pid, "salt": salt})
        body = {"record": record_digest(pid, wrapped, sealed), "account": alias_digest(handle, pid, salt)}
        tx.append(kinds.REGISTERED, f"contributor/{pid}", pid, body)
    for table, values in rows.items():
        if values:
            tx.connection.execute(sa.insert(table), values)
    return {name: tx.state.people.resolve(known[handle]) for name, handle in handles.items()}


def lookup_all(where: LedgerReader, ring: KeyRing, source: str, names: Iterable[str]) -> dict[str, str]:
    """The identifiers of those of these accounts that are known."""
    handles = {name: ring.handle(ACCOUNT, f"{source}\x00{name}") for name in names}
    known, resolve = where.held.owners, where.state.people.resolve
    return {name: resolve(known[handle]) for name, handle in handles.items() if handle in known}


def profile(where: sa.Connection | LedgerReader, ring: KeyRing, pid: str) -> dict[str, Any]:
    """The personal data of a contributor; empty after erasure."""
    return profiles(where, ring, [pid]).get(pid, {})


def profiles(
    where: sa.Connection | LedgerReader, ring: KeyRing, pids: Iterable[str] | None = None
) -> dict[str, dict[str, Any]]:
    """The personal data of these contributors, or of all; of a verified ledger what it vouches for."""
    if isinstance(where, LedgerReader):
        known = where.held.profiles
        wanted = known if pids is None else set(pids) & known.keys()
        return {pid: _confirmed_profile(where, ring, pid) for pid in wanted}
    query = sa.select(person.c.pid, person.c.sealed, person_key.c.wrapped)
    query = query.join(person_key, person_key.c.pid == person.c.pid)
    if pids is not None:
        query = query.where(person.c.pid.in_(list(pids)))
    return {
        row.pid: _decrypt_profile(ring, row.pid, row.wrapped, row.sealed)
        for row in where.execute(query).all()
    }


def _confirmed_profile(where: LedgerReader, ring: KeyRing, pid: str) -> dict[str, Any]:
    """A profile without what one person alone could have written into it: names, accounts, bank details."""
    about, held = _decrypt_profile(ring, pid, *where.held.profiles[pid]), where.held
    listed = [one for one in about.get("accounts", []) if _owns_account(pid, where, ring, one)]
    paper = where.state.payees.paper.get(pid, "")
    sealed = held.details.get((paper, pid)) or (_sealed(where.connection, pid, paper) if paper else None)
    signed = json.loads(decrypt_document(ring, pid, paper, held.profiles[pid][0], sealed)) if sealed else {}
    agreed = {name: signed[name] for name in DETAILS if name in signed}
    return {**{name: about[name] for name in about if name not in DETAILS}, "accounts": listed, **agreed}


def _owns_account(pid: str, where: LedgerReader, ring: KeyRing, account: str) -> bool:
    """True if an account source:name belongs to a contributor; both parts may contain colons."""
    parts = account.split(":")
    cuts = ((":".join(parts[:n]), ":".join(parts[n:])) for n in range(1, len(parts)))
    return any(where.held.owners.get(ring.handle(ACCOUNT, "\x00".join(cut))) == pid for cut in cuts)


def accounts(profiles: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Place and name of every account in these profiles."""
    found = [account.partition(":") for about in profiles for account in about.get("accounts", [])]
    return [(place, name) for place, _, name in found]


def _decrypt_profile(ring: KeyRing, pid: str, wrapped: bytes, sealed: bytes) -> dict[str, Any]:
    key = decrypt(ring.master, wrapped, f"key/{pid}")
    found: dict[str, Any] = json.loads(decrypt(key, sealed, f"person/{pid}"))
    return found


def store_profile(tx: Writer, pid: str, values: dict[str, Any]) -> str:
    """Put new personal data in place of the old; returns what the log is to hold of them."""
    wrapped = _wrapped(tx.connection, pid)
    key = decrypt(tx.ring.master, wrapped, f"key/{pid}")
    sealed = encrypt(key, canonical(values), f"person/{pid}", tx.ledger.entropy)
    tx.connection.execute(sa.update(person).where(person.c.pid == pid).values(sealed=sealed))
    tx.reading.held.profiles[pid] = (wrapped, sealed)
    return record_digest(pid, wrapped, sealed)


def add_alias(tx: Writer, namespace: str, value: str, pid: str) -> str:
    """Let a name lead to a contributor; returns what the log is to hold of it."""
    handle, salt = tx.ring.handle(namespace, value), tx.ledger.entropy(16).hex()
    tx.connection.execute(sa.insert(alias).values(handle=handle, pid=pid, salt=salt))
    tx.reading.held.owners[handle] = pid
    return alias_digest(handle, pid, salt)


def change_email(tx: Writer, pid: str, email: str, by: Actor) -> Event:
    """Change the address people are written to; nothing is paid to it, so one person may."""
    tx.state.people.require(pid)
    body = {"record": store_profile(tx, pid, profile(tx.reading, tx.ring, pid) | {"email": email})}
    return tx.append(kinds.CHANGED, f"contributor/{pid}/{tx.next_seq}", pid, body, by=tx.who(by))


def store_document(tx: Writer, pid: str, data: bytes) -> Paper:
    """Keep a paper about a contributor where it can be erased; returns its hashes for the log."""
    name = sha256(data)
    sealed = _sealed(tx.connection, pid, name)
    if sealed is None:
        key = decrypt(tx.ring.master, _wrapped(tx.connection, pid), f"key/{pid}")
        sealed = encrypt(key, data, f"document/{pid}/{name}", tx.ledger.entropy)
        tx.connection.execute(sa.insert(person_document).values(sha256=name, pid=pid, sealed=sealed))
    return {"paper": name, "sealed": sha256(sealed)}


def find_document(connection: sa.Connection, pid: str, name: str) -> Paper:
    """A paper that is kept already, as the log names it; none where `name` is empty."""
    sealed = _sealed(connection, pid, name)
    return NO_DOCUMENT if sealed is None else {"paper": name, "sealed": sha256(sealed)}


def _sealed(connection: sa.Connection, pid: str, name: str) -> bytes | None:
    place = (person_document.c.sha256 == name) & (person_document.c.pid == pid)
    return connection.scalar(sa.select(person_document.c.sealed).where(place))


def store_values(tx: Writer, pid: str, values: dict[str, Any]) -> Paper:
    """Keep plain values about a contributor; salted, so that nobody can guess at them from the log."""
    return store_document(tx, pid, canonical({**values, "salt": tx.ledger.entropy(16).hex()}))


def read_document(connection: sa.Connection, ring: KeyRing, pid: str, name: str) -> bytes | None:
    """A paper by its hash; None after erasure."""
    sealed = _sealed(connection, pid, name)
    return None if sealed is None else decrypt_document(ring, pid, name, _wrapped(connection, pid), sealed)


def read_values(connection: sa.Connection, ring: KeyRing, pid: str, name: str) -> dict[str, Any]:
    """Decrypt the values of a document, without its salt; empty if it was erased or does not exist."""
    data = read_document(connection, ring, pid, name) if name else None
    found: dict[str, Any] = json.loads(data) if data else {}
    return {key: value for key, value in found.items() if key != "salt"}


def read_texts(
    connection: sa.Connection, ring: KeyRing | None, papers: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """Decrypt the texts of documents, by hash; empty without the keys."""
    if ring is None:
        return {}
    return {name: read_values(connection, ring, pid, name).get("text", "") for pid, name in papers}


def erase(ledger: Ledger, pid: str, reason: str, by: Actor = None) -> list[str]:
    """Delete all that is personal of a whole person, and scrub their files; what could not be reached."""

    def work(tx: Writer) -> None:
        people = tx.verified().state.people
        people.require(pid)
        whole, everybody = people.resolve(pid), people.same(pid)
        body = {"reason": reason, "also": [one for one in everybody if one != whole], "proposal": 0}
        body |= delete_personal_rows(tx, whole)
        tx.append(kinds.ERASED, f"erase/{whole}", whole, body, by=tx.who(by))

    ledger.write(work)
    return scrub_erased(ledger)


def scrub_erased(ledger: Ledger) -> list[str]:
    """Remove what was erased from the files themselves; returns what could not be reached."""
    return vacuum_deleted(ledger.engine, ERASABLE)


def delete_personal_rows(tx: Writer, pid: str) -> dict[str, Any]:
    """Delete the rows of a whole person, except the keyed hash of a debtor's bank account."""
    whole, held, kept = tx.state.people.same(pid), tx.reading.held, bank_account_hashes(tx.state, pid)
    rows = tx.connection.execute(sa.select(alias).where(alias.c.pid.in_(whole))).all()
    stay = {row.handle for row in rows if alias_digest(row.handle, row.pid, row.salt) in kept}
    for table in ERASABLE:
        gone = table.c.pid.in_(whole) & (alias.c.handle.not_in(stay) if table is alias else sa.true())
        tx.connection.execute(sa.delete(table).where(gone))
    # A program that goes on knows them no more either.
    held.owners = {handle: one for handle, one in held.owners.items() if one not in whole or handle in stay}
    return {"kept": kept}


def _wrapped(connection: sa.Connection, pid: str) -> bytes:
    """Somebody's own key, as the ledger's wraps it."""
    wrapped: bytes | None = connection.scalar(sa.select(person_key.c.wrapped).where(person_key.c.pid == pid))
    if wrapped is None:
        raise ConflictError(f"contributor {pid} was erased")
    return wrapped
