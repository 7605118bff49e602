"""Rules of who acts: staff, keys that vouch, and steps that need two people."""

import pytest

from anml.core.canonical import sha256
from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import keys, kinds
from anml.ledger.kinds import TWO_PEOPLE
from anml.ledger.rules_staff import sound_key
from anml.ledger.terms import complete_terms
from anml.signals.policy import DEFAULT_LEVELS as EVIDENCE_KINDS
from ledger.ledger_hand import Hand, at, pid, public


def member(name: str, *roles: str) -> dict:
    return {"public": keys.public_text(public(name)), "roles": sorted(roles or kinds.ROLES)}


# --- two people
def test_the_founder_brings_in_the_second_person_alone_and_nobody_else():
    hand = Hand(staff=("bob",))
    with pytest.raises(ConflictError, match="this step needs two people"):
        hand.add(kinds.STAFF_ADDED, "cat", {**member("cat"), "proposal": 0}, by="ann")


# One person may erase whom nobody owes anything, and a clock is mended only where it is ahead.
ALWAYS_TWO = sorted(set(TWO_PEOPLE) - {kinds.ERASED, kinds.CLOCK})


@pytest.mark.parametrize("step", ALWAYS_TWO)
def test_no_step_for_two_is_taken_by_one(step):
    """Neither without a proposal, nor with a proposal of one's own."""
    hand = Hand()
    hand.register(1, 2)
    hand.post("s", [{**_line(1)}], 100)
    said = BODIES[step]()
    settlement = "s" if step == kinds.REVERSED else ""
    with pytest.raises(ConflictError, match="needs two people"):
        hand.add(step, said.subject, {**said.whole, "proposal": 0}, by="ann", settlement=settlement)
    number = hand.propose(step, said.subject, said.proposed, "ann", settlement)
    with pytest.raises(ConflictError, match="'ann' proposed this; a second person must confirm it"):
        hand.add(step, said.subject, {**said.whole, "proposal": number}, by="ann", settlement=settlement)
    hand.add(step, said.subject, {**said.whole, "proposal": number}, by="bob", settlement=settlement)
    with pytest.raises(AnmlError):
        hand.add(step, said.subject, {**said.whole, "proposal": number}, by="bob", settlement=settlement)


@pytest.mark.parametrize("step", ALWAYS_TWO)
def test_what_is_confirmed_is_what_was_proposed(step):
    hand = Hand()
    hand.register(1, 2, 3)
    hand.post("s", [{**_line(1)}], 100)
    said = BODIES[step]()
    settlement = "s" if step == kinds.REVERSED else ""
    number = hand.propose(step, said.subject, said.proposed, "ann", settlement)
    changed = {**said.whole, **said.other, "proposal": number}
    with pytest.raises(AnmlError) as error:
        hand.add(step, said.subject, changed, by="bob", settlement=settlement)
    assert f"it is not what proposal {number} says" in str(error.value)


def test_a_ledger_of_one_person_needs_one_person():
    hand = Hand(staff=(), single_person=True)
    hand.hire("bob", "payer")
    number = hand.propose(kinds.STAFF_ADDED, "cat", member("cat"), "ann")
    hand.add(kinds.STAFF_ADDED, "cat", {**member("cat"), "proposal": number}, by="ann")
    assert "cat" in hand.state.staff.members


def test_a_proposal_holds_what_its_step_asks_for():
    hand = Hand()
    for inner, step, said in (
        ({}, kinds.MERGED, r"a proposal of contributor.merged holds \[\], not \['into'\]"),
        ({"into": "x", "more": 1}, kinds.MERGED, "holds"),
        ({}, kinds.APPROVED, "unknown step for two people 'settlement.approved'"),
        ({}, "gift", "unknown step for two people 'gift'"),
    ):
        body = {"step": step, "body": inner, "paper": "", "sealed": ""}
        with pytest.raises(AnmlError, match=said if step in TWO_PEOPLE else "this step needs one of|unknown"):
            hand.add(kinds.PROPOSED, "x", body, by="ann")


def test_a_dropped_proposal_cannot_be_confirmed_or_dropped_again():
    hand = Hand()
    number = hand.propose(kinds.STAFF_ADDED, "zoe", member("zoe"))
    hand.add(kinds.DROPPED, "zoe", {"proposal": number}, by="cat")
    for kind, body in (
        (kinds.DROPPED, {"proposal": number}),
        (kinds.STAFF_ADDED, {**member("zoe"), "proposal": number}),
    ):
        with pytest.raises(ConflictError, match=f"proposal {number} was dropped already"):
            hand.add(kind, "zoe", body, by="bob")
    with pytest.raises(InputError, match="there is no proposal 99"):
        hand.add(kinds.DROPPED, "zoe", {"proposal": 99}, by="cat")


# --- staff
@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("bob", member("new"), "there is, or was, a member of staff 'bob'"),
        ("Zoe", member("zoe"), "is not how a staff identifier is spelt"),
        ("zoe", member("bob"), "this key belongs to somebody else already"),
        ("zoe", member("log"), "this key belongs to somebody else already"),
        ("zoe", {**member("zoe"), "roles": []}, "give a role: drafter, approver, payer, reviewer, admin"),
        ("zoe", {**member("zoe"), "roles": ["king"]}, "unknown role 'king'"),
        ("zoe", {**member("zoe"), "roles": ["payer", "admin"]}, "roles are sorted and named once"),
        ("zoe", {**member("zoe"), "roles": ["admin", "admin"]}, "roles are sorted and named once"),
        ("zoe", {**member("zoe"), "public": "ed25519:" + "A" * 43 + "="}, "no sound Ed25519 key"),
    ],
)
def test_who_cannot_be_brought_in(name, body, said):
    hand = Hand()
    number = hand.propose(kinds.STAFF_ADDED, name, body)
    with pytest.raises(AnmlError, match=said):
        hand.add(kinds.STAFF_ADDED, name, {**body, "proposal": number}, by="bob")


def test_who_left_stays_known_so_their_name_is_not_given_again():
    hand = Hand()
    hand.add(kinds.STAFF_REMOVED, "eve", {"compromised": True}, by="ann")
    number = hand.propose(kinds.STAFF_ADDED, "eve", member("eve2"))
    with pytest.raises(ConflictError, match="there is, or was"):
        hand.add(kinds.STAFF_ADDED, "eve", {**member("eve2"), "proposal": number}, by="bob")
    with pytest.raises(ConflictError, match="'eve' was removed"):
        hand.add(kinds.STAFF_REMOVED, "eve", {"compromised": False}, by="ann")


def test_two_must_stay_and_one_of_them_an_admin():
    hand = Hand(staff=("bob",))
    hand.by_two(kinds.STAFF_ADDED, "pay", member("pay", "payer"))
    hand.by_two(kinds.STAFF_ADDED, "rev", member("rev", "reviewer"))
    hand.add(kinds.STAFF_REMOVED, "bob", {"compromised": False}, by="ann")
    with pytest.raises(ConflictError, match="'ann' cannot be removed: 2 must stay, one of them an admin"):
        hand.add(kinds.STAFF_REMOVED, "ann", {"compromised": False}, by="ann")
    hand.add(kinds.STAFF_REMOVED, "rev", {"compromised": False}, by="ann")
    with pytest.raises(ConflictError, match="2 must stay"):
        hand.add(kinds.STAFF_REMOVED, "pay", {"compromised": False}, by="ann")


def test_a_ledger_of_one_person_keeps_one():
    hand = Hand(staff=("bob",), single_person=True)
    hand.add(kinds.STAFF_REMOVED, "bob", {"compromised": False}, by="ann")
    with pytest.raises(ConflictError, match="1 must stay"):
        hand.add(kinds.STAFF_REMOVED, "ann", {"compromised": False}, by="ann")


# --- keys that vouch
def trusted(name: str = "lab", **changes) -> tuple[str, dict]:
    raw = public(name)
    body = {"owner": "https://lab.example", "public": keys.public_text(raw), "may": ["affiliation"],
            "since": at(), "until": None, **changes}  # fmt: skip
    return sha256(raw)[:16], body


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"owner": " lab"}, "is not how an owner is spelt"),
        ({"owner": "eve@example.org"}, "not an e-mail address"),
        ({"may": ["anything"]}, "unknown right of a key 'anything'"),
        ({"since": "2026-01-01"}, "a time needs its zone"),
        ({"since": "2026-01-01T00:00:00Z"}, "is not how a time is spelt"),
        ({"until": at()}, "a key is valid until a time after"),
        ({"until": at(-1)}, "a key is valid until a time after"),
        ({"owner": pid(1), "may": ["affiliation"]}, "vouches for nobody else: it may say 'self' only"),
        ({"owner": pid(1), "may": ["affiliation", "self"]}, "vouches for nobody else"),
    ],
)
def test_keys_that_cannot_be_trusted(changes, said):
    hand = Hand()
    hand.register(1)
    name, body = trusted(**changes)
    number = hand.propose(kinds.KEY_TRUSTED, name, body)
    with pytest.raises(AnmlError, match=said):
        hand.add(kinds.KEY_TRUSTED, name, {**body, "proposal": number}, by="bob")


def test_a_key_of_staff_or_of_the_log_does_not_vouch():
    for who in ("bob", "log"):
        hand = Hand()
        name, body = trusted(who)
        number = hand.propose(kinds.KEY_TRUSTED, name, body)
        with pytest.raises(ConflictError, match="signs for a member of staff or for the log"):
            hand.add(kinds.KEY_TRUSTED, name, {**body, "proposal": number}, by="bob")


def test_a_key_is_named_by_its_bytes_and_has_one_owner():
    hand = Hand()
    name, body = trusted()
    number = hand.propose(kinds.KEY_TRUSTED, "0" * 16, body)
    with pytest.raises(IntegrityError, match="the name of the key is not that of its bytes"):
        hand.add(kinds.KEY_TRUSTED, "0" * 16, {**body, "proposal": number}, by="bob")
    hand.by_two(kinds.KEY_TRUSTED, name, body)
    number = hand.propose(kinds.KEY_TRUSTED, name, {**body, "owner": "thief"})
    with pytest.raises(ConflictError, match=f"the key {name} is registered for 'https://lab.example'"):
        hand.add(kinds.KEY_TRUSTED, name, {**body, "owner": "thief", "proposal": number}, by="bob")


def test_a_revoked_key_is_never_trusted_again_and_a_leak_can_be_added():
    hand = Hand()
    name, body = trusted()
    with pytest.raises(InputError, match=f"there is no key '{name}'"):
        hand.add(kinds.KEY_REVOKED, name, {"compromised": False}, by="ann")
    hand.by_two(kinds.KEY_TRUSTED, name, body)
    hand.add(kinds.KEY_REVOKED, name, {"compromised": False}, by="ann")
    with pytest.raises(ConflictError, match="was revoked on 2026-01-01 already"):
        hand.add(kinds.KEY_REVOKED, name, {"compromised": False}, by="ann")
    hand.add(kinds.KEY_REVOKED, name, {"compromised": True}, by="ann")
    for compromised in (True, False):
        with pytest.raises(ConflictError, match="already"):
            hand.add(kinds.KEY_REVOKED, name, {"compromised": compromised}, by="ann")
    number = hand.propose(kinds.KEY_TRUSTED, name, body)
    with pytest.raises(ConflictError, match="was revoked on 2026-01-01; make a new one"):
        hand.add(kinds.KEY_TRUSTED, name, {**body, "proposal": number}, by="bob")


@pytest.mark.parametrize("right", EVIDENCE_KINDS)
def test_a_key_may_be_given_every_right_there_is(right):
    hand = Hand()
    name, body = trusted(may=[right])
    hand.by_two(kinds.KEY_TRUSTED, name, body)
    from anml.ledger.state_people import Keys

    assert hand.state.part(Keys).known[name].may == {right}


def test_sound_keys_have_one_spelling():
    text = keys.public_text(public("x"))
    assert sound_key(text) == public("x")
    # The last letter of base64 carries spare bits: another letter would be the same key by another name.
    spare = text[:-2] + chr(ord(text[-2]) + 1) + "="
    with pytest.raises(InputError, match=r"sound Ed25519 key|32 bytes in base64"):
        sound_key(spare)


# --- one body for each step of two people: the subject, what is proposed, what is added, what is changed
class Said:
    def __init__(self, subject: str, proposed: dict, other: dict, **added) -> None:
        self.subject, self.proposed, self.other = subject, proposed, other
        self.whole = {**proposed, **added}


def _line(number: int) -> dict:
    from ledger.ledger_hand import line

    return line(pid(number), 10)


BODIES = {
    kinds.STAFF_ADDED: lambda: Said("zoe", member("zoe", "payer"), member("zoe", "admin")),
    kinds.STAFF_RENEWED: lambda: Said(
        "cat", {"public": member("new")["public"]}, {"public": member("other")["public"]}, recovery=""
    ),
    kinds.KEY_TRUSTED: lambda: Said(*trusted(), {"may": ["affiliation", "self"]}),
    kinds.REVIEWER_NAMED: lambda: Said(pid(1), {"on": True}, {"on": False}),
    kinds.TERMS: lambda: Said(
        "t",
        {"terms": complete_terms({"name": "t", "currency": "EUR"})},
        {"terms": complete_terms({"name": "t", "currency": "EUR", "window_days": 1})},
    ),
    kinds.PAYEE_SET: lambda: Said(pid(1), {"digest": "d"}, {"digest": "e"}, record="r", payee=""),
    kinds.MAPPED: lambda: Said(pid(1), {"digest": "d"}, {"digest": "e"}, record="r", account="a"),
    kinds.MERGED: lambda: Said(pid(1), {"into": pid(2)}, {"into": pid(3)}),
    kinds.REVERSED: lambda: Said(pid(1), {"reason": "other", "amount": 7}, {"amount": 8}),
}


def test_every_step_for_two_is_tried_above():
    assert set(BODIES) == set(ALWAYS_TWO)
