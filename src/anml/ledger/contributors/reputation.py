"""Status of contributors: lookup, replay of reputation from the log, and the verification graph."""

from typing import Any

from anml.core.errors import InputError
from anml.ledger import evidence, kinds, two_people
from anml.ledger import personal_data as people
from anml.ledger.contributors.names import shown_names
from anml.ledger.log import Event, format_timestamp
from anml.ledger.standing import contributor_statuses
from anml.ledger.store import Ledger, as_transaction
from anml.ledger.writer import Actor, Writer
from anml.signals.policy import AttestationRecord, ContributorStatus, Policy


def show(
    ledger: Ledger, domain: str = "default", at: str | None = None, policy: Policy | None = None
) -> dict[str, ContributorStatus]:
    """Return the status of every contributor."""
    with ledger.read() as connection:
        return contributor_statuses(connection, at or format_timestamp(ledger.clock()), domain, policy)


@as_transaction
def name_reviewer(tx: Writer, pid: str, by: Actor, *, on: bool = True) -> Event:
    """Propose that somebody's reviews count, or no longer do."""
    return two_people.propose(tx, kinds.REVIEWER_NAMED, pid, {"on": on}, by)


def list_contributors(
    ledger: Ledger, domain: str, policy: Policy
) -> list[tuple[ContributorStatus, str, list[str]]]:
    """Everybody on record: where they stand, with the name and the accounts that staff know them by."""
    found = show(ledger, domain, policy=policy)
    with ledger.read() as connection:
        profiles = people.profiles(connection, ledger.keys) if ledger.keys else {}
        called = shown_names(ledger, connection)
    return [(s, called.get(pid, ""), profiles.get(pid, {}).get("accounts", [])) for pid, s in found.items()]


def get_contributor(
    ledger: Ledger, pid: str, domain: str, policy: Policy
) -> tuple[ContributorStatus, dict[str, Any], list[AttestationRecord], dict[str, str]]:
    """One of them, their profile (empty without the keys), evidence about their work, and names in it."""
    found = show(ledger, domain, policy=policy).get(pid)
    if found is None:
        raise InputError(f"there is no contributor {pid!r} in this ledger")
    with ledger.read() as connection:
        profile = people.profile(connection, ledger.ring, pid) if ledger.keys else {}
        records = evidence.effective_records(connection, [pid], rule=policy.trust).get(pid, [])
        called = shown_names(ledger, connection)
    return found, profile, records, called
