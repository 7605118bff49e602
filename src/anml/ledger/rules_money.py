"""Rules of settlements: what each step moves, and when it may.

source:pool -> funding:<settlement> -> held:<contributor> -> payable:<contributor>
            -> clearing:<batch> -> paid:<contributor>
"""

import re
from collections import Counter
from dataclasses import asdict, replace
from typing import Any

from anml.core.canonical import canonical, sha256
from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger.log import Event, Posting, seconds, shown_date
from anml.ledger.money import MAX_MICRO, check_currency, format_amount
from anml.ledger.rules_staff import require_proposal, second_person
from anml.ledger.state import POOL, State
from anml.ledger.state_money import Settlement, read_manifest
from anml.ledger.state_people import Contributors
from anml.ledger.terms import MAX_WINDOW_DAYS, Terms, complete_terms, parse_terms
from anml.settlement.allocate import UNIT, PayoutRules

MAX_REASON = 500
REASONS = ("wrong-count", "wrong-weight", "wrong-evidence", "wrong-reputation", "duplicate", "fraud", "other")


def _drafted(state: State, e: Event) -> None:
    body = e.body
    check_currency(body["currency"])
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", e.subject):
        raise InputError(f"a settlement is named by letters, digits or hyphens, got {e.subject!r}")
    if body["pool"] <= 0:
        raise InputError(f"a pool is more than 0, got {body['pool']} micro-units")
    if body["pool"] > MAX_MICRO:
        raise InputError(f"a pool of {body['pool']} micro-units does not fit 64 bits")
    if not 0 <= body["window_days"] <= MAX_WINDOW_DAYS:
        raise InputError(f"a dispute window has 0 to {MAX_WINDOW_DAYS} days, got {body['window_days']}")
    if state.strict:
        require_single_line("the name of a project", body["project"])
        require_single_line("the reason to accept a disputed run", body["accepted"] or "")
    known = state.settlements
    if e.subject in known.found:
        raise ConflictError(f"there is a settlement {e.subject} already")
    made = read_manifest(state.documents, Settlement(id=e.subject, state="", posted=None, by=e.by, **body))
    for other in known.found.values():
        same = body["rows"] == other.rows or body["run"] == other.run or _same_people(state, made, other)
        if same and other.state in ("drafted", "posted") and other.id != body["supersedes"]:
            raise ConflictError(
                f"this run is {other.state} as settlement {other.id}, by its rows; supersede that one"
            )
    if body["supersedes"] is not None and known.get(body["supersedes"]).state == "drafted":
        raise ConflictError(f"settlement {body['supersedes']} is withdrawn first")
    if body["supersedes"] is not None and (was := known.get(body["supersedes"]).currency) != body["currency"]:
        raise ConflictError(
            f"settlement {body['supersedes']} is in {was}, and only one in {was} can replace it: in "
            f"{body['currency']} both amounts could be paid"
        )
    if terms := state.terms.current(body.get("terms", 0)):
        _check_terms(terms, body, made)
    people = state.people
    for line in made["contributors"]:
        if people.resolve(line["pid"]) != line["pid"] or line["pid"] not in people.since:
            raise IntegrityError(f"the manifest pays {line['pid']!r}, who is nobody on record")


def _check_terms(terms: Terms, body: dict[str, Any], made: dict[str, Any]) -> None:
    """Raise an error unless a draft follows the agreed terms."""
    if use := made.get("usage"):
        if int(use["queries"]) < terms.minimum_usage or (
            use["check"] != "checked" and not terms.unchecked_usage
        ):
            raise ConflictError(f"the use is too small, or not checked, for the terms {terms.name!r}")
        wanted = replace(terms.rules, weight="equal", volume="1")
    elif made["rate"]:
        wanted = replace(PayoutRules(), weight="equal", newcomer_cap=UNIT)
    else:
        weights = (terms.weight,) if terms.weight else ("p_correct", "product")
        own = made["rules"]["weight"]
        wanted = replace(terms.rules, weight=own if own in weights else weights[0])
    agreed = (asdict(wanted), terms.currency, terms.window_days)
    if (made["rules"], body["currency"], body["window_days"]) != agreed:
        raise ConflictError(f"it departs from the terms {terms.name!r} in weight, shares, currency or window")
    if terms.pool_limit is not None and body["pool"] > terms.pool_limit:
        most = format_amount(terms.pool_limit)
        raise ConflictError(f"a pool is at most {most} {terms.currency} by the terms {terms.name!r}")


def _terms(state: State, e: Event) -> None:
    """Terms are complete and read back; two people sign them."""
    if complete_terms(e.body["terms"]) != e.body["terms"] or e.body["terms"]["name"] != e.subject:
        raise IntegrityError("the terms are not in the form of the log")
    require_proposal(state, e)


def _same_people(state: State, made: dict[str, Any], other: Settlement) -> bool:
    """True if an earlier settlement has the same rows, after contributors were merged."""
    people = state.people
    if not people.merged or made["run"]["work_sha256"] != other.work:
        return False
    before = read_manifest(state.documents, other)
    if not any(line["pid"] in people.merged for line in before["contributors"]):
        return False
    return _rows_by_person(people, made) == _rows_by_person(people, before)


def _rows_by_person(people: Contributors, made: dict[str, Any]) -> Counter[str]:
    found = Counter[str]()
    for line in made["contributors"]:
        found[people.resolve(line["pid"])] += line["rows"]
    return found


def _withdrawn(state: State, e: Event) -> None:
    state.settlements.expect(e.subject, "drafted")


def _approved(state: State, e: Event) -> list[Posting]:
    sid = e.subject
    found = state.settlements.expect(sid, "drafted")
    if (e.body["manifest"], e.body["head"], e.settlement) != (found.manifest, found.head, sid):
        raise IntegrityError("it approves another manifest than the draft's")
    second_person(state, found.by, e, "drafted this settlement; a second person must approve it")
    if found.terms:
        parse_terms(state.terms.agreed[found.terms]).check_approver(e.by, found.pool)
    replaced = state.settlements.get(found.supersedes).state if found.supersedes else ""
    if replaced == "posted":
        raise IntegrityError(f"settlement {found.supersedes}, which it replaces, still stands")
    if state.strict and replaced == "reversed" and not state.open:
        raise ConflictError(f"settlement {found.supersedes} was replaced by another since; draft it anew")
    if any(one.settlement != found.supersedes for one in state.open):
        raise IntegrityError(f"it reverses something other than settlement {found.supersedes}")
    credits = state.credits_of(found)
    said = e.body.get("below")
    if said is not None and (erased := sorted(state.people.erased.intersection(credits))):
        raise ConflictError(f"contributor {erased[0]} was erased since it was drafted; draft it without")
    if (said is not None or state.staff.decisions) and said != reductions_digest(state.below(found)):
        raise IntegrityError("it does not decide over those who get less than their rows would be paid")
    require_single_line("a reason", e.body.get("because", ""))
    if sum(amount for amount, _ in credits.values()) > found.pool:
        raise IntegrityError(f"credits do not fit a pool of {found.pool}")
    return posting_pair(POOL, f"funding:{sid}", found.currency, found.pool)


def reductions_digest(below: dict[str, list[int]]) -> str:
    """Digest of the amounts below those by rows alone; empty if there are none."""
    return sha256(canonical(below)) if below else ""


def require_single_line(what: str, text: str) -> str:
    """A text that anybody may read for good: one line, and no address."""
    if len(text) > MAX_REASON or (text and not text.isprintable()) or "@" in text:
        raise InputError(f"{what} is one line of up to {MAX_REASON} letters, without an address")
    return text


def _credited(state: State, e: Event) -> list[Posting]:
    owed = state.owed
    if owed is None or e.settlement != owed.sid or e.subject not in owed.credits:
        raise IntegrityError(f"no approval owes {e.subject} this credit")
    amount, facts = owed.credits[e.subject]
    if e.body != facts:
        raise IntegrityError("the credit does not follow from the manifest")
    return posting_pair(f"funding:{owed.sid}", f"held:{e.subject}", owed.currency, amount)


def _unallocated(state: State, e: Event) -> list[Posting]:
    owed = state.owed
    if owed is None or owed.credits or e.settlement != owed.sid or e.subject != owed.sid:
        raise IntegrityError("there is nothing to give back to the pool")
    return posting_pair(f"funding:{owed.sid}", POOL, owed.currency, owed.rest)


def _reversed_all(state: State, e: Event) -> None:
    found = state.settlements.expect(e.subject, "posted")
    if state.credits.left(found.id):
        raise IntegrityError(f"credits of settlement {found.id} still stand")
    by = state.settlements.get(e.body["superseded_by"])
    if (by.supersedes, by.state, e.settlement) != (found.id, "drafted", found.id):
        raise IntegrityError(f"settlement {by.id} does not replace {found.id}")


def _released(state: State, e: Event) -> list[Posting]:
    sid, pid = e.settlement, e.subject
    found = state.settlements.expect(sid, "posted")
    if seconds(e.at) < (end := found.window_end):
        raise ConflictError(f"the dispute window of settlement {sid} is open until {shown_date(end)}")
    if pid in state.disputes.waiting(sid):
        raise ConflictError(f"contributor {pid} has an open dispute in {sid}")
    facts, amount = state.credits.facts(sid, pid), state.balances.get(f"held:{pid}", found.currency, sid)
    if facts is None or amount <= 0:
        raise IntegrityError(f"nothing is held for {pid} in {sid}")
    back = amount_returned(facts, e.body["r"], amount)
    return _release_postings(state, e, found, -amount, amount - back, back)


def _release_postings(
    state: State, e: Event, found: Settlement, held: int, payable: int, pool: int
) -> list[Posting]:
    """Return the postings of a release on the held, payable and pool accounts."""
    accounts = (f"held:{e.subject}", f"payable:{state.people.resolve(e.subject)}", POOL)
    changes = zip(accounts, (held, payable, pool), strict=True)
    return [Posting(account, found.currency, change) for account, change in changes]


def amount_returned(facts: dict[str, Any], now: int, amount: int) -> int:
    """Return the part of a newcomer's amount that is returned to the pool, by the present reputation."""
    then: int = facts["r"]
    if not facts["newcomer"] or not facts["by_r"] or now >= then:
        return 0
    return amount - amount * max(now, 0) // then


def _held_back(state: State, e: Event) -> None:
    """An amount stays held: over evidence about this person, that whoever decides it was shown."""
    sid, pid = e.settlement, e.subject
    found = state.settlements.expect(sid, "posted")
    if state.balances.get(f"held:{pid}", found.currency, sid) <= 0:
        raise IntegrityError(f"nothing is held for {pid} in {sid}")
    known = {one.seq for one in state.evidence.found if one.pid in state.people.same(pid)}
    if not e.body["evidence"] or not known.issuperset(e.body["evidence"]):
        raise IntegrityError("an amount is kept back over evidence about this contributor, and no other")


def _released_all(state: State, e: Event) -> None:
    if e.subject != e.settlement or any(one.settlement != e.subject for one in state.open):
        raise IntegrityError("it releases what another settlement holds")
    if not state.open:
        raise IntegrityError("it releases nothing")


def check_reversal(state: State, sid: str, pid: str, amount: int, reason: str) -> Settlement:
    """A settlement that is posted, of which somebody has at least this amount to take back."""
    one_of("reason", reason, REASONS)
    found, left = state.settlements.expect(sid, "posted"), state.credits.net(sid, pid)
    if not 0 < amount <= left:
        raise ConflictError(f"1 to {left} micro-units of {pid} in {sid} can be reversed, got {amount}")
    return found


def _reversed(state: State, e: Event) -> list[Posting]:
    sid, pid, amount = e.settlement, e.subject, e.body["amount"]
    found = check_reversal(state, sid, pid, amount, e.body["reason"])
    if e.by:
        require_proposal(state, e)
    elif e.body["proposal"]:
        raise IntegrityError("a reversal that an approval signs for confirms no proposal")
    from_held = min(amount, state.balances.get(f"held:{pid}", found.currency, sid))
    return _release_postings(state, e, found, -from_held, from_held - amount, amount)


def posting_pair(source: str, target: str, currency: str, amount: int) -> list[Posting]:
    """Money from one account to another."""
    return [Posting(source, currency, -amount), Posting(target, currency, amount)]


MONEY_RULES = {
    kinds.TERMS: _terms,
    kinds.DRAFTED: _drafted,
    kinds.WITHDRAWN: _withdrawn,
    kinds.APPROVED: _approved,
    kinds.CREDITED: _credited,
    kinds.UNALLOCATED: _unallocated,
    kinds.REVERSED_ALL: _reversed_all,
    kinds.RELEASED: _released,
    kinds.KEPT: _held_back,
    kinds.RELEASED_ALL: _released_all,
    kinds.REVERSED: _reversed,
}
