"""Contributors: a random identifier in the log, and everything personal in one erasable, encrypted place.

The log never holds a name, an address or an account. Account names are found again by a keyed
fingerprint; profiles and attached papers are encrypted with a key of the contributor's own, which is
itself wrapped by the master key outside the database.
"""

import json
import os
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import canonical, sha256
from anml.core.errors import ConflictError, InputError
from anml.ledger.engine import scrub
from anml.ledger.keys import KeyRing, seal, unseal
from anml.ledger.log import Writer, events
from anml.ledger.schema import ERASABLE, alias, event, person, person_document, person_key
from anml.ledger.store import Ledger

ACCOUNT = "account"
PAYEE = "payee"


def register(tx: Writer, ledger: Ledger, source: str, accounts: Iterable[str]) -> dict[str, str]:
    """The identifiers of these accounts of `source`, new ones made where needed."""
    names = sorted(set(accounts))
    handles = {ledger.ring.handle(ACCOUNT, f"{source}\x00{name}"): name for name in names}
    known = _known(tx.connection, list(handles))
    found: dict[str, str] = {}
    for handle, name in sorted(handles.items(), key=lambda item: item[1]):
        pid = known.get(handle)
        if pid is None:
            pid = ledger.new_id()
            tx.append("contributor.registered", f"contributor/{pid}", pid, {})
            _insert_profile(tx.connection, ledger.ring, pid, {"accounts": [f"{source}:{name}"]})
            tx.connection.execute(sa.insert(alias).values(handle=handle, pid=pid))
        found[name] = pid
    merged = merges(tx.connection)
    return {name: resolve(pid, merged) for name, pid in found.items()}


def lookup(connection: sa.Connection, ring: KeyRing, source: str, name: str) -> str | None:
    """The identifier of one account, None where it is not known."""
    return lookup_all(connection, ring, source, [name]).get(name)


def lookup_all(connection: sa.Connection, ring: KeyRing, source: str, names: Iterable[str]) -> dict[str, str]:
    """The identifiers of those of these accounts that are known."""
    handles = {name: ring.handle(ACCOUNT, f"{source}\x00{name}") for name in names}
    known, merged = _known(connection, list(handles.values())), merges(connection)
    return {name: resolve(known[handle], merged) for name, handle in handles.items() if handle in known}


def map_account(tx: Writer, ledger: Ledger, source: str, name: str, pid: str) -> None:
    """Say that an account belongs to this contributor; one that has its own record is merged into it."""
    require(tx.connection, pid)
    handle = ledger.ring.handle(ACCOUNT, f"{source}\x00{name}")
    old = _known(tx.connection, [handle]).get(handle)
    if old is None:
        tx.connection.execute(sa.insert(alias).values(handle=handle, pid=pid))
        known = profile(tx.connection, ledger.ring, pid)
        accounts = [*known.get("accounts", []), f"{source}:{name}"]
        update_profile(tx, ledger, pid, {"accounts": accounts})
    else:
        merge(tx, resolve(old, merges(tx.connection)), pid)


def merge(tx: Writer, one: str, into: str) -> None:
    """From now on `one` is `into`; earlier entries stay as they are."""
    merged = merges(tx.connection)
    one, into = resolve(one, merged), resolve(into, merged)
    if one != into:
        tx.append("contributor.merged", f"merge/{one}", one, {"into": into})


def merges(connection: sa.Connection) -> dict[str, str]:
    """Who was merged into whom."""
    return {e.subject: e.body["into"] for e in events(connection, ["contributor.merged"])}


def resolve(pid: str, merged: dict[str, str]) -> str:
    """Follow merges to the end."""
    while pid in merged:
        pid = merged[pid]
    return pid


def require(connection: sa.Connection, pid: str) -> None:
    """An error unless there is such a contributor, not erased."""
    if "contributor.erased" in check_known(connection, pid):
        raise ConflictError(f"contributor {pid} was erased")


def check_known(connection: sa.Connection, pid: str) -> set[str]:
    """The kinds of entries about a contributor, erased or not; an error where there never was one."""
    kinds = set(connection.scalars(sa.select(event.c.kind).where(event.c.subject == pid)))
    if "contributor.registered" not in kinds:
        raise InputError(f"there is no contributor {pid!r} in this ledger")
    return kinds


def profile(connection: sa.Connection, ring: KeyRing, pid: str) -> dict[str, Any]:
    """The personal data of a contributor; empty after erasure."""
    row = connection.execute(sa.select(person.c.sealed).where(person.c.pid == pid)).first()
    if row is None:
        return {}
    found: dict[str, Any] = json.loads(unseal(_own_key(connection, ring, pid), row.sealed, f"person/{pid}"))
    return found


def update_profile(tx: Writer, ledger: Ledger, pid: str, changes: dict[str, Any]) -> None:
    """Change personal data; one bank account belongs to one contributor."""
    require(tx.connection, pid)
    if iban := changes.get("iban"):
        _claim_payee(tx, ledger, pid, iban)
    values = {**profile(tx.connection, ledger.ring, pid), **changes}
    key = _own_key(tx.connection, ledger.ring, pid)
    sealed = seal(key, canonical(values), f"person/{pid}")
    tx.connection.execute(sa.update(person).where(person.c.pid == pid).values(sealed=sealed))


def attach(tx: Writer, ledger: Ledger, pid: str, data: bytes) -> str:
    """Keep a paper about a contributor where it can be erased; returns its hash for the log."""
    name = sha256(data)
    place = (person_document.c.sha256 == name) & (person_document.c.pid == pid)
    if tx.connection.scalar(sa.select(person_document.c.pid).where(place)) is None:
        key = _own_key(tx.connection, ledger.ring, pid)
        sealed = seal(key, data, f"document/{pid}/{name}")
        tx.connection.execute(sa.insert(person_document).values(sha256=name, pid=pid, sealed=sealed))
    return name


def attached(connection: sa.Connection, ring: KeyRing, pid: str, name: str) -> bytes | None:
    """A paper by its hash; None after erasure."""
    place = (person_document.c.sha256 == name) & (person_document.c.pid == pid)
    row = connection.execute(sa.select(person_document.c.sealed).where(place)).first()
    return unseal(_own_key(connection, ring, pid), row.sealed, f"document/{pid}/{name}") if row else None


def erase(ledger: Ledger, pid: str, reason: str) -> None:
    """Delete the key, the profile, the papers and the account names, and scrub the files they lay in."""

    def work(tx: Writer) -> None:
        require(tx.connection, pid)
        tx.append("contributor.erased", f"erase/{pid}", pid, {"reason": reason})
        for table in ERASABLE:
            tx.connection.execute(sa.delete(table).where(table.c.pid == pid))

    ledger.write(work)
    scrub(ledger.engine, ERASABLE)


def _claim_payee(tx: Writer, ledger: Ledger, pid: str, iban: str) -> None:
    handle = ledger.ring.handle(PAYEE, "".join(iban.split()).upper())
    owner = _known(tx.connection, [handle]).get(handle)
    if owner is None:
        tx.connection.execute(sa.insert(alias).values(handle=handle, pid=pid))
    elif resolve(owner, merges(tx.connection)) != resolve(pid, merges(tx.connection)):
        raise ConflictError(
            f"this bank account belongs to contributor {owner}; map the two together instead of paying both"
        )


def _known(connection: sa.Connection, handles: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for start in range(0, len(handles), 500):
        part = handles[start : start + 500]
        rows = connection.execute(sa.select(alias.c.handle, alias.c.pid).where(alias.c.handle.in_(part)))
        found.update((row.handle, row.pid) for row in rows)
    return found


def _insert_profile(connection: sa.Connection, ring: KeyRing, pid: str, values: dict[str, Any]) -> None:
    key = os.urandom(32)
    wrapped = seal(ring.master, key, f"key/{pid}")
    connection.execute(sa.insert(person_key).values(pid=pid, wrapped=wrapped))
    sealed = seal(key, canonical(values), f"person/{pid}")
    connection.execute(sa.insert(person).values(pid=pid, sealed=sealed))


def _own_key(connection: sa.Connection, ring: KeyRing, pid: str) -> bytes:
    row = connection.execute(sa.select(person_key.c.wrapped).where(person_key.c.pid == pid)).first()
    if row is None:
        raise ConflictError(f"contributor {pid} was erased")
    return unseal(ring.master, row.wrapped, f"key/{pid}")
