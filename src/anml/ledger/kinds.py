"""Every kind of entry: what its body holds, who signs it, or which later signature covers it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

DRAFTER, APPROVER, PAYER, REVIEWER, ADMIN = "drafter", "approver", "payer", "reviewer", "admin"
ROLES = (DRAFTER, APPROVER, PAYER, REVIEWER, ADMIN)

CREATED = "ledger.created"
STAFF_ADDED, STAFF_REMOVED, STAFF_RENEWED = "staff.added", "staff.removed", "staff.renewed"
CLOCK = "clock.repaired"
KEY_TRUSTED, KEY_REVOKED = "key.trusted", "key.revoked"
PROPOSED, DROPPED = "proposal.made", "proposal.dropped"
REGISTERED, MAPPED, CHANGED = "contributor.registered", "account.mapped", "contributor.changed"
PAYEE_SET, MERGED, ERASED = "payee.set", "contributor.merged", "contributor.erased"
REVIEWER_NAMED = "reviewer.named"
TERMS = "terms.agreed"
CONTRIBUTION, EVIDENCE, SCORED, RECORDS_SIGNED = (
    "contribution",
    "evidence.added",
    "reputation.scored",
    "records.taken",
)
DRAFTED, WITHDRAWN = "settlement.drafted", "settlement.withdrawn"
APPROVED, UNALLOCATED = "settlement.approved", "settlement.unallocated"
REVERSED_ALL, RELEASED_ALL = "settlement.reversed", "settlement.released"
CREDITED, RELEASED, REVERSED = "credit.held", "credit.released", "credit.reversed"
KEPT = "credit.kept"
OPENED, ANSWERED, RESOLVED = "dispute.opened", "dispute.answered", "dispute.resolved"
SENT, BATCHED = "payout.sent", "payout.created"
PAID, FAILED, CLOSED = "payout.paid", "payout.failed", "payout.closed"


class Kind(NamedTuple):
    """Roles that may sign an entry (None: a later signature covers it), its fields, and `later` additions.

    For steps under dual control, `asks` are the roles of the proposer; the second person signs the entry.
    """

    roles: tuple[str, ...] | None
    fields: dict[str, type]
    covers: tuple[str, ...] = ()
    later: Mapping[str, type] = MappingProxyType({})
    asks: tuple[str, ...] = ()


ANYBODY = ROLES
SEALED_DOCUMENT_FIELDS: dict[str, type] = {"paper": str, "sealed": str}

ENTRY_KINDS: dict[str, Kind] = {
    CREATED: Kind(
        ANYBODY,
        {
            "origin": str,
            "public": str,
            "founder": str,
            "founder_key": str,
            "appeals": str,
            "single_person": bool,
            "payee_wait_days": int,
        },
        later={"recovery": str, "decisions": bool},
    ),
    STAFF_ADDED: Kind((ADMIN,), {"public": str, "roles": list, "proposal": int}, asks=(ADMIN,)),
    STAFF_REMOVED: Kind((ADMIN,), {"compromised": bool}),
    # By two people, or by one with the recovery key, whose signature it holds then.
    STAFF_RENEWED: Kind((ADMIN,), {"public": str, "proposal": int, "recovery": str}, asks=(ADMIN,)),
    CLOCK: Kind((ADMIN,), {"proposal": int}, asks=ANYBODY),
    KEY_TRUSTED: Kind(
        ANYBODY,
        {"owner": str, "public": str, "may": list, "since": str, "until": object, "proposal": int},
        asks=(ADMIN,),
    ),
    KEY_REVOKED: Kind((ADMIN,), {"compromised": bool}),
    REVIEWER_NAMED: Kind(ANYBODY, {"on": bool, "proposal": int}, asks=(ADMIN, REVIEWER)),
    TERMS: Kind((APPROVER, ADMIN), {"terms": dict, "proposal": int}, asks=(DRAFTER, APPROVER, ADMIN)),
    PROPOSED: Kind(ANYBODY, {"step": str, "body": dict, **SEALED_DOCUMENT_FIELDS}),
    DROPPED: Kind(ANYBODY, {"proposal": int}),
    REGISTERED: Kind(None, {"record": str, "account": str}),
    MAPPED: Kind(
        (REVIEWER, ADMIN),
        {"record": str, "account": str, "digest": str, "proposal": int},
        (REGISTERED,),
        asks=(REVIEWER, ADMIN),
    ),
    CHANGED: Kind(ANYBODY, {"record": str}),
    PAYEE_SET: Kind(
        (PAYER, APPROVER, ADMIN),
        {"record": str, "payee": str, "digest": str, "proposal": int},
        asks=(PAYER, APPROVER, ADMIN),
    ),
    MERGED: Kind((REVIEWER, ADMIN), {"into": str, "proposal": int}, (REGISTERED,), asks=(REVIEWER, ADMIN)),
    # `kept` are the hashes of the bank accounts of a person who owes money.
    ERASED: Kind((ADMIN,), {"reason": str, "also": list, "kept": list, "proposal": int}, asks=(ADMIN,)),
    CONTRIBUTION: Kind(
        None, {"batch": str, "source": str, "domain": str, "rows": int, **SEALED_DOCUMENT_FIELDS}
    ),
    EVIDENCE: Kind(
        None,
        {
            "kind": str,
            "issuer": str,
            "at": str,
            "scope": str,
            "until": object,
            "vouched": str,
            "key": str,
            **SEALED_DOCUMENT_FIELDS,
        },
    ),
    SCORED: Kind(
        None,
        {
            "domain": str,
            "source": str,
            "batch": str,
            "at": str,
            "quality": int,
            "rows": int,
            "of": int,
            "items": list,
        },
    ),
    RECORDS_SIGNED: Kind((REVIEWER,), {"what": str}, (REGISTERED, CONTRIBUTION, EVIDENCE, SCORED)),
    DRAFTED: Kind(
        (DRAFTER,),
        {
            "manifest": str,
            "head": str,
            "currency": str,
            "pool": int,
            "run": str,
            "rows": str,
            "work": str,
            "marks": list,
            "window_days": int,
            "supersedes": object,
            "accepted": object,
            "project": str,
        },
        (REGISTERED,),
        # The number of the entry that agreed on the terms.
        {"terms": int},
    ),
    WITHDRAWN: Kind((DRAFTER, APPROVER), {"superseded_by": object}),
    # `below` is the digest of who gets less than their rows alone would be paid, and what.
    APPROVED: Kind(
        (APPROVER,), {"manifest": str, "head": str}, (REVERSED, REVERSED_ALL), {"below": str, "because": str}
    ),
    CREDITED: Kind(
        None,
        {
            "rows": int,
            "kept": int,
            "counted": int,
            "units": int,
            "units_sha256": str,
            "newcomer": bool,
            "r": int,
            "share": int,
            "by_r": bool,
        },
    ),
    UNALLOCATED: Kind(None, {}),
    REVERSED_ALL: Kind(None, {"superseded_by": str}),
    RELEASED: Kind(None, {"r": int}),
    # Somebody decided that an amount stays held: which evidence was shown to them, and why in their words.
    KEPT: Kind(None, {"evidence": list, **SEALED_DOCUMENT_FIELDS}),
    RELEASED_ALL: Kind((APPROVER, PAYER), {}, (RELEASED, KEPT)),
    REVERSED: Kind((APPROVER,), {"reason": str, "amount": int, "proposal": int}, asks=(APPROVER,)),
    # With `signed` the contributor's own key stands behind it, beside who of the staff wrote it down.
    OPENED: Kind(
        ANYBODY, {"reason": str, "opener": str, **SEALED_DOCUMENT_FIELDS}, later={"key": str, "signed": str}
    ),
    ANSWERED: Kind(
        (REVIEWER, APPROVER), {"outcome": str, "reason": str, "correction": int, **SEALED_DOCUMENT_FIELDS}
    ),
    RESOLVED: Kind((APPROVER,), {"correction": int}),
    SENT: Kind(None, {"batch": str, "amount": int, **SEALED_DOCUMENT_FIELDS}),
    BATCHED: Kind((PAYER,), {"currency": str, "threshold": int}, (SENT,)),
    PAID: Kind(None, {"batch": str, "amount": int}),
    FAILED: Kind(None, {"batch": str, "amount": int}),
    # `bank` is the hash of the bank's own file; empty where a second person says what it did.
    CLOSED: Kind((PAYER, APPROVER), {"bank": str}, (PAID, FAILED)),
}

# Steps that one person proposes and another confirms, and the roles of who proposes.
TWO_PEOPLE = {kind: about.asks for kind, about in ENTRY_KINDS.items() if about.asks}
# Decide over money, people or keys: all tables are held against the log again, also where nobody wrote since.
VERIFIED = frozenset(
    (
        STAFF_ADDED,
        STAFF_RENEWED,
        CLOCK,
        KEY_TRUSTED,
        REVIEWER_NAMED,
        TERMS,
        MAPPED,
        PAYEE_SET,
        MERGED,
        ERASED,
        DRAFTED,
        APPROVED,
        RELEASED,
        KEPT,
        RELEASED_ALL,
        REVERSED,
        RESOLVED,
        SENT,
        BATCHED,
        PAID,
        FAILED,
        CLOSED,
    )
)
# Follows from what an approval signed, so it needs no signature after it.
REQUIRED_FOLLOW_UPS = (CREDITED, UNALLOCATED)


def body_error(kind: str, body: dict[str, Any]) -> str | None:
    """Describe an error in the fields of a body; None if there is none."""
    about = ENTRY_KINDS[kind]
    later = {name: wanted for name, wanted in about.later.items() if name in body}
    return fields_fault(about.fields | later if later else about.fields, body)


def fields_fault(fields: dict[str, type], body: dict[str, Any]) -> str | None:
    """Describe the difference to the expected fields and types; None if there is none."""
    if set(body) != set(fields):
        return f"holds {sorted(body)}, not {sorted(fields)}"
    for name, wanted in fields.items():
        value = body[name]
        fits = value is None or isinstance(value, str) if wanted is object else type(value) is wanted
        if not fits:
            return f"holds {value!r} as {name}"
    return None
