"""Rules of who is on record and where they stand: contributors, evidence, scores."""

from collections import Counter

from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger.identifiers import domain_id, is_contributor, source_id
from anml.ledger.log import Event, Posting, parse_timestamp
from anml.ledger.money import round_down_to_minor_unit
from anml.ledger.rules_money import posting_pair
from anml.ledger.rules_staff import require_proposal
from anml.ledger.state import State
from anml.settlement.allocate import UNIT
from anml.signals.policy import ASSURANCE_SOURCES, EVIDENCE
from anml.signals.track_record import SOURCES

# What records can come from.
RECORD_SOURCES = ("import", "run", "attestation")


def _registered(state: State, e: Event) -> None:
    if e.subject in state.people.since:
        raise IntegrityError(f"contributor {e.subject} is on record already")
    if not is_contributor(e.subject):
        raise IntegrityError(f"{e.subject!r} is no identifier of a contributor")


def _person(state: State, e: Event) -> None:
    state.people.require(e.subject)


def _person_by_two(state: State, e: Event) -> None:
    state.people.require(e.subject)
    require_proposal(state, e)


def _merged(state: State, e: Event) -> list[Posting]:
    people, into = state.people, e.body["into"]
    for pid in (e.subject, into):
        if pid not in people.erased or pid == into or not debts(state, pid):
            # An erased person is merged only to hand on a debt.
            people.require(pid)
        if pid in people.merged:
            raise ConflictError(f"contributor {pid} was merged into {people.merged[pid]} before")
    if e.subject == into:
        raise ConflictError(f"contributor {into} is one person already")
    require_proposal(state, e)
    # What is owed to a person, and what a person owes, follows the person.
    moved: list[Posting] = []
    for account, currency, _ in state.balances.accounts(f"payable:{e.subject}"):
        moved += posting_pair(account, f"payable:{into}", currency, state.balances.get(account, currency))
    return moved


def _erased(state: State, e: Event) -> None:
    people = state.people
    people.require(e.subject)
    whole = people.same(e.subject)
    if people.resolve(e.subject) != e.subject or e.body["also"] != [p for p in whole if p != e.subject]:
        raise IntegrityError("an erasure is of a whole person, with all that was merged into them")
    money = outstanding_amounts(state, e.subject) or debts(state, e.subject)
    if e.body["proposal"] or money or open_requests(state, e.subject):
        require_proposal(state, e)
    if e.body["kept"] != bank_account_hashes(state, e.subject):
        raise IntegrityError(
            "of a person who owes money the keyed hashes of the bank accounts stay, and no other"
        )


def bank_account_hashes(state: State, pid: str) -> list[str]:
    """Digests of the bank accounts that an erasure keeps, where there is a debt or a pending reversal."""
    if not debts(state, pid) and "a reversal" not in open_requests(state, pid):
        return []
    return sorted({name for one in state.people.same(pid) for name in state.held.payees.get(one, ())})


def open_requests(state: State, pid: str) -> list[str]:
    """Requests about a contributor that wait for a decision: an appeal, or a reversal that was proposed."""
    known, own = state.disputes, set(state.people.same(pid))
    amounts = ["an appeal"] * any(own & known.waiting(sid) for sid in known.found)
    waits = (one for one in state.proposals.waiting if one.body["step"] == kinds.REVERSED)
    return amounts + ["a reversal"] * any(one.subject in own for one in waits)


def debts(state: State, pid: str) -> dict[str, int]:
    """Micro-units that a contributor owes, by currency."""
    amounts = Counter[str]()
    for account, currency, _ in state.balances.accounts(
        *(f"payable:{one}" for one in state.people.same(pid))
    ):
        amounts[currency] += max(-state.balances.get(account, currency), 0)
    return {currency: amount for currency, amount in amounts.items() if amount}


def outstanding_amounts(state: State, pid: str) -> dict[str, int]:
    """Micro-units owed to a contributor: held, payable or on their way; not what no bank can move."""
    amounts = Counter[str]()
    known = state.payouts
    for one in state.people.same(pid):
        for batch, payments in known.payments.items():
            if one in payments and payments[one].state == "sent":
                amounts[known.heads[batch][0]] += payments[one].amount
        for account, currency, sid in state.balances.accounts(f"held:{one}", f"payable:{one}"):
            amounts[currency] += max(state.balances.get(account, currency, sid), 0)
    return {
        currency: amount for currency, amount in amounts.items() if round_down_to_minor_unit(amount, currency)
    }


def _contribution(state: State, e: Event) -> None:
    state.people.require(e.subject)
    _check_domain(state, e.body["domain"])
    if source_id(e.body["source"]) != e.body["source"] or e.body["rows"] < 1:
        raise IntegrityError("a contribution has a place and rows")


def _check_domain(state: State, domain: str) -> None:
    if state.strict and domain_id(domain) != domain:
        raise InputError(f"{domain!r} is not how a domain is spelt")


def _evidence(state: State, e: Event) -> None:
    body = e.body
    state.people.require(e.subject)
    one_of("kind of evidence", body["kind"], EVIDENCE)
    one_of("voucher", body["vouched"], ASSURANCE_SOURCES)
    # What is in the log stays there: a time that nobody can read would stop every later reading.
    for time in (body["at"], body["until"]):
        if time is not None:
            parse_timestamp(time)
    if (body["vouched"] == "signature") != bool(body["key"]):
        raise IntegrityError("evidence with a signature names the key of it, and no other does")
    if not body["key"]:
        signs = body["issuer"] not in state.people.since and body["issuer"] in state.keys.owners
        if signs and body["vouched"] != "nobody":
            raise IntegrityError(f"{body['issuer']!r} has a key and signs what it says; this is not signed")
        return
    known = state.keys.known.get(body["key"])
    if known is None or known.owner != body["issuer"]:
        raise IntegrityError(f"the key {body['key']!r} is not one of {body['issuer']!r}")
    if body["kind"] not in known.may:
        raise IntegrityError(f"the key {known.id} of {known.owner!r} may not attest {body['kind']!r}")
    if not known.stands(body["at"], e.at):
        raise IntegrityError(
            f"the key {known.id} of {known.owner!r} is not valid for {body['at']}, received at {e.at}"
        )


def _scored(state: State, e: Event) -> None:
    body, items = e.body, e.body["items"]
    state.people.require(e.subject)
    one_of("reputation source", body["source"], SOURCES)
    _check_domain(state, body["domain"])
    parse_timestamp(body["at"])
    if not 0 <= body["quality"] <= UNIT or not 1 <= body["rows"] <= body["of"]:
        raise InputError(f"a score has a quality of 0..{UNIT} and rows, got {body['quality']}")
    named = all(isinstance(item, str) for item in items)
    if not named or len(set(items)) != len(items) or body["rows"] != len(items):
        raise IntegrityError("a score names each piece of work that it rests on once")
    known = state.judged_before(e.subject)
    twice = [item for item in items if (body["source"], item) in known]
    if twice:
        raise ConflictError(f"{len(twice)} judgements by {body['source']} were counted before")


def _taken(state: State, e: Event) -> None:
    one_of("origin of records", e.body["what"], RECORD_SOURCES)


PEOPLE_RULES = {
    kinds.REGISTERED: _registered,
    kinds.MAPPED: _person_by_two,
    kinds.CHANGED: _person,
    kinds.PAYEE_SET: _person_by_two,
    kinds.REVIEWER_NAMED: _person_by_two,
    kinds.MERGED: _merged,
    kinds.ERASED: _erased,
    kinds.CONTRIBUTION: _contribution,
    kinds.EVIDENCE: _evidence,
    kinds.SCORED: _scored,
    kinds.RECORDS_SIGNED: _taken,
}
