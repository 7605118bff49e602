"""Contributors, settlements and batches by the names that staff know them by, and back."""

from collections.abc import Collection, Mapping
from typing import TypeVar

import sqlalchemy as sa

from anml.core.errors import InputError
from anml.ledger import personal_data as people
from anml.ledger.identifiers import confusable_skeletons
from anml.ledger.reading import LedgerReader
from anml.ledger.services.verify import verified
from anml.ledger.state import load_component
from anml.ledger.state_money import Payouts, Settlements
from anml.ledger.state_people import Contributors
from anml.ledger.store import Ledger

T = TypeVar("T")
SHORT = 9


def shown_names(ledger: Ledger, where: sa.Connection | LedgerReader) -> dict[str, str]:
    """A name for everybody: the person's own, their account's, or the start of the identifier."""
    known = load_component(Contributors, where.state if isinstance(where, LedgerReader) else where)
    profiles = people.profiles(where, ledger.keys) if ledger.keys else {}
    plain: dict[str, str] = {}
    for pid in known.since:
        about = profiles.get(known.resolve(pid), {})
        accounts = about.get("accounts", [])
        plain[pid] = about.get("name") or (accounts[0].partition(":")[2] if accounts else "")
    owners: dict[str, set[str]] = {}
    for pid, name in plain.items():
        for drawn in confusable_skeletons(name):
            owners.setdefault(drawn, set()).add(known.resolve(pid))
    found = {}
    for pid, name in plain.items():
        mark = "erased" if pid in known.erased else ""
        alone = all(len(owners[drawn]) == 1 for drawn in confusable_skeletons(name))
        found[pid] = (name if alone else f"{name} {pid[:SHORT]}") if name else f"{pid[:SHORT]} {mark}".strip()
    return found


def names_of(ledger: Ledger) -> dict[str, str]:
    """Return the display names of contributors, by identifier."""
    with ledger.read() as connection:
        return shown_names(ledger, connection)


def require_exact_name(name: str, what: str = "settlement") -> str:
    """A name that is signed for: it is that of the thing itself, never the latest or all of them."""
    if name in ("latest", "all"):
        raise InputError(f"name the {what} itself: what is signed is never {name!r}, perhaps another by now")
    return name


def find_settlement(ledger: Ledger, name: str, state: str) -> str:
    """A settlement by its identifier, or the latest one in `state` by that word."""
    if name != "latest":
        return name
    found = [s.id for s in ledger.listed(Settlements).found.values() if s.state == state]
    return _latest(found, f"{state} settlement")


def find_batch(ledger: Ledger, name: str) -> str:
    """A payout batch by its name, or the latest one by that word."""
    return name if name != "latest" else _latest(list(ledger.listed(Payouts).heads), "payout batch")


def _latest(found: list[str], what: str) -> str:
    if not found:
        raise InputError(f"there is no {what} yet")
    return found[-1]


def find_person(ledger: Ledger, text: str) -> str:
    """A contributor by identifier, by source:name, by name, or by the start of the identifier."""
    return find_people(ledger, [text])[0]


def find_people(ledger: Ledger, texts: Collection[str]) -> list[str]:
    """Contributors by what they are called; with the keys at hand as the ledger was verified."""
    if ledger.keys is None:
        known = ledger.listed(Contributors)
        return [_found(known, text, {}) for text in texts]
    with verified(ledger, "looked up in") as reading:
        known, called = reading.state.people, dict[str, set[str]]()
        for pid, about in people.profiles(reading, ledger.keys).items():
            accounts = (one.partition(":")[2] for one in about.get("accounts", []))
            for name in (about.get("name", ""), *accounts):
                called.setdefault(name, set()).add(known.resolve(pid))
        for source, colon, name in (text.partition(":") for text in texts):
            if own := people.lookup_all(reading, ledger.keys, source, [name]) if colon else {}:
                called[f"{source}:{name}"] = {own[name]}
    return [_found(known, text, called) for text in texts]


def by_person(ledger: Ledger, given: Mapping[str, T], file: str) -> dict[str, T]:
    """Key the values of a file by contributor identifier; each contributor may occur once."""
    found = dict(zip(find_people(ledger, given), given.values(), strict=True))
    if len(found) < len(given):
        raise InputError(f"{file} names a contributor twice, in two ways")
    return found


def _found(known: Contributors, text: str, called: Mapping[str, set[str]]) -> str:
    if text in known.since:
        return text
    hits = called.get(text, set())
    if not hits and len(text) >= SHORT:
        hits = {pid for pid in known.since if pid.startswith(text)}
    if not hits:
        raise InputError(
            f"there is no contributor {text!r} in this ledger; see `anml-ledger show contributors`"
        )
    if len(hits) > 1:
        raise InputError(f"{text!r} is {len(hits)} contributors: {', '.join(sorted(hits))}")
    return min(hits)
