"""Contributors as staff look them up: where each stands, and what is known of the person."""

from typing import Any, NamedTuple

from anml.app.people.names import shown_names
from anml.app.people.reputation import show as standings_now
from anml.core.errors import InputError
from anml.core.signals.policy import Evidence, Policy
from anml.core.signals.standing import Standing
from anml.ledger import evidence, people
from anml.ledger.store import Ledger


class KnownContributor(NamedTuple):
    """One contributor, with the evidence about them; `profile` is empty without the ledger's keys."""

    standing: Standing
    name: str
    profile: dict[str, Any]
    records: list[Evidence]
    issuers: dict[str, str]


def list_contributors(ledger: Ledger, domain: str, policy: Policy) -> list[tuple[Standing, str, list[str]]]:
    """Everybody on record: where they stand, with the name and the accounts that staff know them by."""
    found = standings_now(ledger, domain, policy=policy)
    with ledger.read() as connection:
        profiles = people.profiles(connection, ledger.keys) if ledger.keys else {}
        called = shown_names(ledger, connection)
    return [
        (standing, called.get(pid, ""), profiles.get(pid, {}).get("accounts", []))
        for pid, standing in found.items()
    ]


def get_contributor(ledger: Ledger, pid: str, domain: str, policy: Policy) -> KnownContributor:
    """One of them, with the evidence about their work."""
    found = standings_now(ledger, domain, policy=policy).get(pid)
    if found is None:
        raise InputError(f"there is no contributor {pid!r} in this ledger")
    with ledger.read() as connection:
        profile = people.profile(connection, ledger.ring, pid) if ledger.keys else {}
        records = evidence.of(connection, [pid], rule=policy.trust).get(pid, [])
        called = shown_names(ledger, connection)
    issuers = {e.issuer: called.get(e.issuer, e.issuer) for e in records}
    return KnownContributor(found, profile.get("name") or called.get(pid, ""), profile, records, issuers)
