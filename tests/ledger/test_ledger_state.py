"""The state machine: which entry may come next, who signs for it, and what no entry may do to the money."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import AnmlError, InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger.kinds import ENTRY_KINDS, REQUIRED_FOLLOW_UPS, ROLES, TWO_PEOPLE
from anml.ledger.log import Posting, signed_bytes
from anml.ledger.money import MAX_MICRO
from anml.ledger.state import POOL, State, load_component
from anml.ledger.state_money import Disputes, Payouts, Settlements
from anml.ledger.state_people import Contributors, Keys, Payees, Proposals, Staff
from ledger.ledger_hand import Hand, at, created, line, pid, private
from ledger.ledger_queries import events
from ledger.ledger_world import World, simple_rows

EMPTY = {str: "", int: 0, bool: False, list: [], dict: {}, object: None}
SIGNED = [kind for kind in ENTRY_KINDS if ENTRY_KINDS[kind].roles is not None and kind != kinds.CREATED]
UNSIGNED = [kind for kind in ENTRY_KINDS if ENTRY_KINDS[kind].roles is None]


def body(kind: str) -> dict:
    """A body of the right shape that says nothing."""
    made = {name: EMPTY[wanted] for name, wanted in ENTRY_KINDS[kind].fields.items()}
    return made | ({"step": kinds.MERGED} if kind == kinds.PROPOSED else {})


@pytest.fixture(scope="module")
def hand() -> Hand:
    """A staff with one role each; read only."""
    made = Hand(staff=())
    made.hire("admin-b", "admin")
    for role in ROLES:
        number = made.propose(kinds.STAFF_ADDED, role, _member(role), "ann")
        made.add(kinds.STAFF_ADDED, role, {**_member(role), "proposal": number}, by="admin-b")
    return made


def _member(role: str) -> dict:
    from anml.ledger import keys
    from ledger.ledger_hand import public

    return {"public": keys.public_text(public(role)), "roles": [role]}


# --- laws over all kinds
@pytest.mark.parametrize("kind", SIGNED)
def test_a_signed_entry_needs_a_name_of_the_staff(hand, kind):
    # Two kinds may also be covered by another signature, and are then asked for what they say.
    covered = kind in {member for found in ENTRY_KINDS.values() for member in found.covers}
    with pytest.raises(AnmlError, match="unknown reason" if covered else "say who you are with --by"):
        hand.check(kind, "x", body(kind))
    with pytest.raises(InputError, match="'zoe' is not a member of staff"):
        hand.check(kind, "x", body(kind), by="zoe")


@pytest.mark.parametrize("kind", [kind for kind in SIGNED if kind != kinds.PROPOSED])
@pytest.mark.parametrize("role", ROLES)
def test_a_role_that_may_not_sign_is_told_which_may(hand, kind, role):
    allowed = ENTRY_KINDS[kind].roles
    try:
        hand.check(kind, "x", body(kind), by=role)
    except AnmlError as error:
        refused = f"{role!r} is {role}; this step needs one of {', '.join(allowed)}" == str(error)
        assert refused == (role not in allowed)
    else:
        assert role in allowed


@pytest.mark.parametrize("step", TWO_PEOPLE)
@pytest.mark.parametrize("role", ROLES)
def test_who_may_propose_is_decided_by_the_step(hand, step, role):
    inner = {name: EMPTY[wanted] for name, wanted in ENTRY_KINDS[step].fields.items()}
    said = {"step": step, "body": inner, "paper": "", "sealed": ""}
    with pytest.raises(AnmlError) as error:
        hand.check(kinds.PROPOSED, "x", {**said, "body": {"odd": 1}}, by=role)
    assert ("this step needs one of" in str(error.value)) == (role not in TWO_PEOPLE[step])


@pytest.mark.parametrize("kind", UNSIGNED)
def test_an_entry_that_is_covered_signs_nothing_itself(hand, kind):
    with pytest.raises(IntegrityError, match=f"an entry of kind {kind} is not signed by itself"):
        hand.check(kind, "x", body(kind), by="ann")


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_bodies_of_another_shape_are_refused_before_anything_else(hand, kind):
    with pytest.raises(IntegrityError, match=f"an entry of kind {kind} holds"):
        hand.check(kind, "x", {**body(kind), "odd": 1}, by="ann")


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_nothing_but_the_first_entry_comes_first_and_it_comes_once(hand, kind):
    made = hand.make(kind, "x", body(kind), by="ann")
    wrong = made if kind == kinds.CREATED else made._replace(seq=1)
    with pytest.raises(IntegrityError, match="the first entry, and no other, makes the ledger"):
        hand.state.check(wrong)


@pytest.mark.parametrize(
    "kind", [kind for kind in ENTRY_KINDS if kind not in (*REQUIRED_FOLLOW_UPS, kinds.CREATED)]
)
def test_until_owed_credits_are_complete_nothing_else_comes(kind):
    hand = Hand(staff=("bob",))
    hand.register(1)
    hand.draft("s", [line(pid(1), 10)], 100)
    found = hand.state.part(Settlements).get("s")
    said = {"manifest": found.manifest, "head": found.head}
    hand.add(kinds.APPROVED, "s", said, settlement="s", by="bob")
    with pytest.raises(IntegrityError, match="the credits of settlement s are not complete before it"):
        hand.check(kind, "x", body(kind), by="ann")


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_a_step_about_nobody_is_refused_or_waits_for_a_signature(kind):
    """It never reaches the end of a transaction and means something to somebody."""
    hand = Hand(staff=("bob",))

    def step() -> None:
        hand.add(kind, "nobody", body(kind), by="ann" if kind in SIGNED else "")
        hand.state.finish()

    with pytest.raises(AnmlError):
        step()


def test_kinds_that_do_not_exist_are_named(hand):
    with pytest.raises(IntegrityError, match="there is no kind of entry 'gift'"):
        hand.check("gift", "x", {}, by="ann")


# --- time, names, signatures
def test_the_log_does_not_run_backwards():
    hand = Hand(staff=())
    hand.days = -1
    with pytest.raises(IntegrityError, match="older than the entry before it"):
        hand.register(1)


@pytest.mark.parametrize("name", ["Ann", "ann ", "ANN"])
def test_a_name_has_one_spelling(hand, name):
    with pytest.raises(IntegrityError, match="is not how a staff identifier is spelt"):
        hand.check(kinds.RECORDS_SIGNED, "x", {"what": "import"}, by=name)


def signed(hand: Hand, by: str, key: str):
    made = hand.make(kinds.RECORDS_SIGNED, "x", {"what": "import"}, by=by)
    return made._replace(sig=base64.b64encode(private(key).sign(signed_bytes(made))).decode())


def test_only_the_key_of_who_acts_signs():
    hand = Hand()
    hand.state.check_signature(signed(hand, "bob", "bob"))
    with pytest.raises(IntegrityError, match="the key of 'bob' did not sign it"):
        hand.state.check_signature(signed(hand, "bob", "ann"))


@pytest.mark.parametrize("field", ["subject", "at", "key", "prev", "settlement"])
def test_a_signature_is_of_the_whole_entry(field):
    hand = Hand()
    made = signed(hand, "bob", "bob")
    with pytest.raises(IntegrityError, match="did not sign it"):
        hand.state.check_signature(made._replace(**{field: getattr(made, field) + "x"}))


@pytest.mark.parametrize("sig", ["", "AAAA", "not base64!", "é"])
def test_signatures_of_any_shape_are_refused_in_one_sentence(sig):
    hand = Hand()
    with pytest.raises(IntegrityError, match="the key of 'bob' did not sign it"):
        hand.state.check_signature(signed(hand, "bob", "bob")._replace(sig=sig))


def test_the_founder_signs_the_first_entry_by_the_key_it_names():
    state = State({}.get)
    first = Hand(staff=()).log[0]
    good = first._replace(sig=base64.b64encode(private("ann").sign(signed_bytes(first))).decode())
    state.check_signature(good)
    other = first._replace(by="zoe")
    other = other._replace(sig=base64.b64encode(private("ann").sign(signed_bytes(other))).decode())
    with pytest.raises(IntegrityError, match="the founder did not sign it"):
        state.check_signature(other)


# --- what a signature covers
def test_a_signature_covers_only_the_kinds_it_may():
    hand = Hand()
    hand.add(kinds.REGISTERED, pid(1), {"record": "r", "account": "a"})
    with pytest.raises(IntegrityError, match=r"it does not sign for entry \d+, contributor.registered"):
        hand.add(kinds.STAFF_REMOVED, "eve", {"compromised": False}, by="ann")


def test_at_the_end_everything_is_signed_for_and_nothing_is_owed():
    hand = Hand()
    hand.state.finish()
    hand.add(kinds.REGISTERED, pid(1), {"record": "r", "account": "a"})
    with pytest.raises(IntegrityError, match=r"nobody signed for entry 9, contributor.registered, and what"):
        hand.state.finish()
    hand.add(kinds.RECORDS_SIGNED, "import", {"what": "import"}, by="ann")
    hand.state.finish()


# --- money
def test_an_account_never_falls_below_zero():
    hand = Hand()
    hand.register(1)
    hand.post("s", [line(pid(1), 10)], 100)
    hand.days = 15
    hand.release("s", pid(1))
    # 100 micro-units are payable; a cent is 10,000.
    sent = {"batch": "b", "amount": 10_000, "paper": "", "sealed": ""}
    with pytest.raises(IntegrityError, match=f"it takes payable:{pid(1)} below zero"):
        hand.check(kinds.SENT, pid(1), sent, key=f"payout/b/{pid(1)}/EUR")


def test_the_pool_gives_out_no_more_than_64_bits_hold():
    hand = Hand()
    hand.register(1)
    hand.post("s", [line(pid(1), 10)], MAX_MICRO)
    hand.draft("t", [line(pid(1), 10)], 1, run="2")
    with pytest.raises(InputError, match="the pool would give out more EUR than 64 bits hold"):
        hand.approve("t")


def test_every_currency_has_a_pool_of_its_own():
    hand = Hand()
    hand.register(1)
    hand.post("s", [line(pid(1), 10)], MAX_MICRO)
    hand.post("t", [line(pid(1), 10)], MAX_MICRO, run="2", currency="USD")
    assert hand.balance(POOL) == hand.balance(POOL, "USD") == -MAX_MICRO


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 4)), min_size=1, max_size=4), st.booleans())
def test_whatever_is_settled_all_accounts_together_are_zero(pools, release):
    hand = Hand(staff=("bob",))
    hand.register(1, 2, 3, 4)
    for place, (pool, people) in enumerate(pools):
        lines = [line(pid(number), number) for number in range(1, people + 1)]
        hand.post(f"s{place}", lines, pool, run=str(place))
    if release:
        hand.days = 15
        for place, (_, people) in enumerate(pools):
            who = [pid(n) for n in range(1, people + 1) if hand.held(f"s{place}", pid(n))]
            if who:
                hand.release(f"s{place}", *who)
    moved = [item for e in hand.log for item in e.postings]
    assert sum(item.amount for item in moved) == 0
    given_out = sum(pool for pool, _ in pools)
    assert -hand.balance(POOL) == given_out
    owned = sum(item.amount for item in moved if item.account.startswith(("held:", "payable:")))
    assert owned == given_out


def test_lines_of_nothing_are_not_written():
    hand = Hand()
    hand.register(1)
    hand.draft("s", [line(pid(1), 10)], 100)
    made = hand.approve("s")
    assert made.postings == (Posting(POOL, "EUR", -100), Posting("funding:s", "EUR", 100))
    assert all(item.amount for e in hand.log for item in e.postings)


# --- over a database
@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob", "cat"))
    pids = world.establish("x", "y")
    world.pay_to(pids["x"], {"name": "X"})
    world.post(world.run(simple_rows({"x": 3, "y": 1})), "10")
    yield world
    world.ledger.close()


@pytest.mark.parametrize(
    "part", [Staff, Keys, Contributors, Proposals, Payees, Settlements, Disputes, Payouts]
)
def test_a_part_from_the_database_is_the_part_of_a_replay(lived, part):
    with lived.ledger.read() as connection:
        slow = part()
        for e in events(connection):
            if e.kind in part.KINDS:
                slow.fold(e)
        assert load_component(part, connection).__dict__ == slow.__dict__


def test_a_replay_of_a_written_log_accepts_every_entry_and_moves_the_same_money(lived):
    with lived.ledger.read() as connection:
        from anml.ledger.schema import document

        kept = {row.sha256: row.body for row in connection.execute(document.select())}
        state = State(kept.get)
        for e in events(connection):
            assert tuple(state.check(e)) == e.postings
            state.check_signature(e)
            state.accept(e)
        state.finish()


def test_a_first_entry_is_checked_like_any_other():
    for change, said in (
        ({"founder": "Ann"}, "is not how a staff identifier is spelt"),
        ({"founder_key": created()["public"]}, "the founder's key is the log's"),
        ({"payee_wait_days": 366}, "wait 0 to 365 days, got 366"),
        ({"payee_wait_days": -1}, "wait 0 to 365 days, got -1"),
        ({"founder_key": "ed25519:" + "A" * 43 + "="}, "no sound Ed25519 key"),
    ):
        with pytest.raises(AnmlError, match=said):
            Hand(staff=(), **change)
    assert Hand(staff=(), payee_wait_days=365).state.at == at()
