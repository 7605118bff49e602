"""Ledger state: staff, people, proposals, payees and keys, applied entry by entry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import ConflictError, InputError
from anml.ledger import keys, kinds
from anml.ledger.state_people import Contributors, Keys, Payees, Proposals, Staff, TrustedKey
from ledger.ledger_hand import at, created, event, pid, public


def folded(part, *entries):
    made = part()
    for e in entries:
        made.fold(e)
    return made


def hired(name: str, *roles: str, days: float = 1):
    body = {"public": keys.public_text(public(name)), "roles": sorted(roles), "proposal": 0}
    return event(kinds.STAFF_ADDED, name, body, days=days)


FIRST = event(kinds.CREATED, "", created(payee_wait_days=7, appeals="the board"), seq=1)


# --- staff
def test_the_first_entry_makes_the_founder_and_the_charter():
    staff = folded(Staff, FIRST)
    (founder,) = staff.active
    assert (founder.name, founder.public, founder.roles) == ("ann", public("ann"), frozenset(kinds.ROLES))
    assert (staff.origin, staff.public, staff.payee_wait_days) == ("hand", public("log"), 7)
    assert (staff.appeals, staff.single_person) == ("the board", False)


def test_who_was_removed_is_remembered_and_may_not_act():
    staff = folded(
        Staff, FIRST, hired("bob", "payer"), event(kinds.STAFF_REMOVED, "bob", {"compromised": False}, days=3)
    )
    assert [member.name for member in staff.active] == ["ann"]
    assert staff.members["bob"].until == at(3)
    with pytest.raises(ConflictError, match="'bob' was removed from the staff on 2026-01-04"):
        staff.member("bob")


def test_a_stranger_is_told_who_is_known():
    with pytest.raises(InputError, match="'zoe' is not a member of staff of this ledger; known: ann, bob"):
        folded(Staff, FIRST, hired("bob", "payer")).member("zoe")
    with pytest.raises(InputError, match="known: nobody"):
        Staff().member("ann")


# --- people
def registered(*numbers: int):
    return [event(kinds.REGISTERED, pid(number), {}, days=number) for number in numbers]


def merged(one: int, into: int):
    return event(kinds.MERGED, pid(one), {"into": pid(into)})


def test_merges_are_followed_to_the_end():
    people = folded(Contributors, *registered(1, 2, 3, 4), merged(1, 2), merged(2, 3))
    assert [people.resolve(pid(number)) for number in (1, 2, 3, 4)] == [pid(3), pid(3), pid(3), pid(4)]
    assert people.same(pid(1)) == people.same(pid(3)) == [pid(1), pid(2), pid(3)]
    assert people.same(pid(4)) == [pid(4)]


@given(st.permutations(range(8)), st.data())
def test_merging_is_a_partition(order, data):
    """However trees of merges grow, everybody is in exactly one group, and a group has one head."""
    people = folded(Contributors, *registered(*range(8)))
    for one in order[:6]:
        heads = [n for n in range(8) if pid(n) not in people.merged and n != one]
        if pid(one) not in people.merged and heads:
            people.fold(merged(one, data.draw(st.sampled_from(heads))))
    groups = {tuple(people.same(pid(number))) for number in range(8)}
    assert sorted(one for group in groups for one in group) == [pid(number) for number in range(8)]
    for group in groups:
        assert len({people.resolve(one) for one in group}) == 1
        assert people.resolve(group[0]) in group


def test_an_erasure_takes_everybody_it_names():
    people = folded(Contributors, *registered(1, 2, 3), event(kinds.ERASED, pid(1), {"also": [pid(2)]}))
    assert people.erased == {pid(1), pid(2)}
    people.require(pid(3))
    for number in (1, 2):
        with pytest.raises(ConflictError, match=f"contributor {pid(number)} was erased"):
            people.require(pid(number))
    with pytest.raises(InputError, match="there is no contributor 'x' in this ledger"):
        people.require("x")


def test_reviewers_are_named_and_no_longer_named():
    def named(number: int, on: bool):
        return event(kinds.REVIEWER_NAMED, pid(number), {"on": on})

    assert folded(Contributors, named(1, True), named(2, True), named(1, False)).reviewers == {pid(2)}
    # Not to be named twice is no harm.
    assert folded(Contributors, named(1, False)).reviewers == set()


# --- proposals
def proposed(seq: int, step: str = kinds.MERGED, subject: str = "s", by: str = "ann"):
    body = {"step": step, "body": {"into": "x"}, "paper": "p", "sealed": "q"}
    return event(kinds.PROPOSED, subject, body, seq=seq, by=by)


def test_a_proposal_is_open_until_it_is_confirmed_or_dropped():
    made = folded(Proposals, proposed(5), proposed(6), proposed(7))
    made.fold(event(kinds.MERGED, "s", {"into": "x", "proposal": 5}, seq=8))
    made.fold(event(kinds.DROPPED, "s", {"proposal": 6}, seq=9))
    assert made.ended == {5: "confirmed", 6: "dropped"}
    (found,) = made.waiting
    assert made.open(7) == found == proposed(7)
    for number, state in ((5, "confirmed"), (6, "dropped")):
        with pytest.raises(ConflictError, match=f"proposal {number} was {state} already"):
            made.open(number)
    with pytest.raises(InputError, match="there is no proposal 99 in this ledger"):
        made.open(99)


def test_a_step_without_a_proposal_closes_none():
    """The second person of a ledger is brought in by the founder alone."""
    made = folded(Proposals, proposed(5), hired("bob", "payer"))
    assert made.open(5) in made.waiting


def test_payees_are_the_last_that_two_people_agreed_on():
    def set_to(digest: str, days: float):
        return event(kinds.PAYEE_SET, pid(1), {"digest": digest}, days=days)

    payees = folded(Payees, set_to("one", 1), set_to("two", 2))
    assert (payees.paper, payees.changed) == ({pid(1): "two"}, {pid(1): at(2)})


# --- keys that vouch
def key(**changes) -> TrustedKey:
    base = {"id": "k", "owner": "o", "public": b"", "may": frozenset(), "since": at(10), "until": at(20)}
    return TrustedKey(**{**base, **changes})


@pytest.mark.parametrize(
    ("signed", "received", "counts"),
    [
        (10, 10, True),  # the first moment is inside
        (10, 19.9, True),
        (9.9, 15, False),  # dated before the key was trusted
        (15, 9.9, False),
        (20, 20, False),  # the last moment is outside
        (15, 20, False),  # in time by its own date only: that date is the signer's choice
        (15, 25, False),
    ],
)
def test_a_signature_counts_by_its_date_and_by_when_it_came(signed, received, counts):
    assert key().stands(at(signed), at(received)) == counts


def test_a_key_without_an_end_goes_on():
    assert key(until=None).stands(at(5000), at(5000))
    assert not key(until=None).stands(at(9), at(5000))


def test_what_came_before_a_revocation_counts_unless_the_key_leaked():
    gone = key(revoked=at(15))
    assert gone.stands(at(12), at(14.9))
    assert not gone.stands(at(12), at(15))
    assert not gone._replace(compromised=True).stands(at(12), at(14.9))


@given(st.floats(0, 30), st.floats(0, 30), st.floats(10, 30))
def test_a_revocation_never_makes_anything_count(signed, received, revoked):
    before = key().stands(at(signed), at(received))
    after = key(revoked=at(revoked)).stands(at(signed), at(received))
    assert before or not after


def trusted(days: float = 1):
    body = {"owner": "lab", "public": keys.public_text(public("lab")), "may": ["self"], "since": at(0),
            "until": None, "proposal": 4}  # fmt: skip
    return event(kinds.KEY_TRUSTED, "k", body, days=days)


def revoked(days: float, *, compromised: bool):
    return event(kinds.KEY_REVOKED, "k", {"compromised": compromised}, days=days)


def test_a_key_that_turns_out_to_have_leaked_keeps_its_first_date():
    found = folded(Keys, trusted(), revoked(5, compromised=False), revoked(9, compromised=True)).known["k"]
    assert (found.revoked, found.compromised) == (at(5), True)
    assert (found.owner, found.public, found.may) == ("lab", public("lab"), frozenset({"self"}))


def test_nothing_takes_a_leak_back():
    found = folded(Keys, trusted(), revoked(5, compromised=True), revoked(9, compromised=False)).known["k"]
    assert found.compromised
