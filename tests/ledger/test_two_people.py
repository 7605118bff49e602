"""Steps that one person proposes and another confirms, with what is personal in a sealed paper."""

import json

import pytest

from anml.core.canonical import sha256
from anml.core.errors import AnmlError, ConflictError, InputError
from anml.ledger import evidence, kinds, two_people
from anml.ledger import personal_data as people
from anml.ledger.kinds import TWO_PEOPLE
from anml.ledger.state import load_component
from anml.ledger.state_people import Keys, Payees
from anml.ledger.two_people import DEFAULT_MAY
from anml.signals.policy import DEFAULT_LEVELS as EVIDENCE_KINDS
from ledger.ledger_hand import public
from ledger.ledger_queries import open_proposals, who_is
from ledger.ledger_world import World

IBAN, OTHER = "DE89370400440532013000", "GB29NWBK60161331926819"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob", "cat"))
    world.pids = world.register("ls", ["ada", "bea"])
    yield world
    world.ledger.close()


def named(tx, pid: str, by: str = "ann", on: bool = True):
    return two_people.propose(tx, kinds.REVIEWER_NAMED, pid, {"on": on}, by)


def test_the_same_question_while_it_is_open_is_one(shared):
    ada = shared.pids["ada"]

    def work(tx):
        first = named(tx, ada)
        before = tx.next_seq
        assert named(tx, ada).seq == first.seq
        assert tx.next_seq == before
        # Another person's question, or another answer to it, is another one.
        assert named(tx, ada, "cat").seq != first.seq
        assert named(tx, ada, on=False).seq != first.seq
        two_people.confirm(tx, first.seq, "bob")
        assert named(tx, ada).seq > first.seq

    shared.ledger.rehearse(work)


def test_open_proposals_are_listed_until_they_are_decided(shared):
    def work(tx):
        numbers = [named(tx, shared.pids[who]).seq for who in ("ada", "bea")]
        assert [found.seq for found in open_proposals(tx.connection)] == numbers
        two_people.withdraw_proposal(tx, numbers[0], "cat")
        two_people.confirm(tx, numbers[1], "cat")
        assert open_proposals(tx.connection) == []
        with pytest.raises(ConflictError, match="was dropped already"):
            two_people.withdraw_proposal(tx, numbers[0], "cat")
        with pytest.raises(ConflictError, match="was confirmed already"):
            two_people.confirm(tx, numbers[1], "cat")
        with pytest.raises(InputError, match="there is no proposal 999"):
            two_people.confirm(tx, 999, "cat")

    shared.ledger.rehearse(work)


def test_who_proposed_does_not_confirm_however_they_spell_themselves(shared):
    def work(tx):
        number = named(tx, shared.pids["ada"]).seq
        for name in ("ann", " ANN", "ａｎｎ"):
            with pytest.raises(ConflictError, match="'ann' proposed this; a second person must confirm it"):
                two_people.confirm(tx, number, name)

    shared.ledger.rehearse(work)


def test_steps_that_carry_something_out_are_steps_for_two():
    assert set(two_people._CARRY_OUT) <= set(TWO_PEOPLE)


# --- bank details
def pay(tx, world: World, who: str, **changes: str):
    made = two_people.propose_payee(tx, world.pids[who], changes, "ann")
    return two_people.confirm(tx, made.seq, "bob")


def payee(tx, world: World, who: str) -> dict:
    return people.read_values(
        tx.connection,
        world.ledger.ring,
        world.pids[who],
        tx.state.part(Payees).paper.get(world.pids[who], ""),
    )


def test_bank_details_count_from_the_second_persons_word_on(shared):
    def work(tx):
        made = two_people.propose_payee(tx, shared.pids["ada"], {"iban": IBAN}, "ann")
        assert payee(tx, shared, "ada") == {}
        assert IBAN not in json.dumps(made.body)
        done = two_people.confirm(tx, made.seq, "bob")
        assert IBAN not in json.dumps(done.body)
        assert payee(tx, shared, "ada") == {"iban": IBAN}
        profile = people.profile(tx.connection, shared.ledger.ring, shared.pids["ada"])
        assert profile == {"accounts": ["ls:ada"], "iban": IBAN}

    shared.ledger.rehearse(work)


def test_a_change_keeps_what_it_does_not_name(shared):
    def work(tx):
        pay(tx, shared, "ada", name="Ada", iban=IBAN)
        pay(tx, shared, "ada", name="Ada L")
        assert payee(tx, shared, "ada") == {"name": "Ada L", "iban": IBAN}

    shared.ledger.rehearse(work)


def test_one_bank_account_belongs_to_one_person(shared):
    def work(tx):
        pay(tx, shared, "ada", iban=IBAN)
        with pytest.raises(ConflictError, match=f"belongs to contributor {shared.pids['ada']}; map the two"):
            two_people.propose_payee(tx, shared.pids["bea"], {"iban": IBAN}, "ann")
        # The same account again is no conflict with oneself.
        pay(tx, shared, "ada", iban=IBAN, name="Ada")

    shared.ledger.rehearse(work)


def test_two_proposals_of_one_account_cannot_both_be_confirmed(shared):
    def work(tx):
        one, other = (
            two_people.propose_payee(tx, shared.pids[who], {"iban": IBAN}, "ann") for who in ("ada", "bea")
        )
        two_people.confirm(tx, one.seq, "bob")
        with pytest.raises(ConflictError, match="belongs to contributor"):
            two_people.confirm(tx, other.seq, "bob")

    shared.ledger.rehearse(work)


def test_details_of_whom_was_erased_cannot_be_confirmed(make_world):
    world = make_world("sqlite", staff=("ann", "bob"))
    world.pids = world.register("ls", ["ada"])
    made = world.ledger.write(
        lambda tx: two_people.propose_payee(tx, world.pids["ada"], {"iban": OTHER}, "ann")
    )
    people.erase(world.ledger, world.pids["ada"], "asked", "ann")
    with pytest.raises(ConflictError, match="was erased"):
        world.confirm(made.seq)


# --- accounts
def test_an_unknown_account_is_taken_for_somebody(shared):
    def work(tx):
        made = two_people.propose_account(tx, "pf", "ada.l", shared.pids["ada"], "ann")
        assert (made.body["step"], made.subject) == (kinds.MAPPED, shared.pids["ada"])
        assert "ada.l" not in json.dumps(made.body)
        two_people.confirm(tx, made.seq, "bob")
        assert who_is(tx.connection, shared.ledger.ring, "pf", "ada.l") == shared.pids["ada"]
        profile = people.profile(tx.connection, shared.ledger.ring, shared.pids["ada"])
        assert profile["accounts"] == ["ls:ada", "pf:ada.l"]
        # It is theirs already: there is nothing to propose.
        assert two_people.propose_account(tx, "pf", "ada.l", shared.pids["ada"], "ann") is None

    shared.ledger.rehearse(work)


def test_an_account_with_a_record_of_its_own_is_merged(shared):
    def work(tx):
        made = two_people.propose_account(tx, "ls", "bea", shared.pids["ada"], "ann")
        assert (made.body["step"], made.subject) == (kinds.MERGED, shared.pids["bea"])
        two_people.confirm(tx, made.seq, "bob")
        assert who_is(tx.connection, shared.ledger.ring, "ls", "bea") == shared.pids["ada"]

    shared.ledger.rehearse(work)


def test_an_account_that_got_a_record_meanwhile_is_mapped_again(shared):
    def work(tx):
        made = two_people.propose_account(tx, "pf", "new", shared.pids["ada"], "ann")
        people.register(tx, "pf", ["new"])
        evidence.sign_records(tx, "import", "test", "ann")
        with pytest.raises(ConflictError, match="this account has a record of its own by now; map it again"):
            two_people.confirm(tx, made.seq, "bob")

    shared.ledger.rehearse(work)


def test_accounts_of_nobody_are_refused(shared):
    with pytest.raises(InputError, match="there is no contributor 'nobody'"):
        shared.ledger.rehearse(lambda tx: two_people.propose_account(tx, "pf", "x", "nobody", "ann"))


# --- staff and keys
def test_roles_are_sorted_and_named_once(shared):
    def work(tx):
        roles = ["payer", "admin", "payer"]
        made = two_people.propose_staff(tx, "Zoe Q", public("zoe"), roles, "ann")
        assert (made.subject, made.body["body"]["roles"]) == ("zoe-q", ["admin", "payer"])
        with pytest.raises(AnmlError, match="unknown role 'king'"):
            two_people.propose_staff(tx, "yan", public("yan"), ["king"], "ann")
        with pytest.raises(ConflictError, match="there is, or was, a member of staff 'bob'"):
            two_people.propose_staff(tx, "bob", public("new"), ["payer"], "ann")
        with pytest.raises(InputError, match="no sound Ed25519 key"):
            two_people.propose_staff(tx, "yan", bytes(32), ["payer"], "ann")

    shared.ledger.rehearse(work)


def test_who_is_removed_acts_no_more(shared):
    def work(tx):
        two_people.remove_staff(tx, "CAT", "ann", compromised=True)
        with pytest.raises(ConflictError, match="'cat' was removed"):
            named(tx, shared.pids["ada"], "cat")

    shared.ledger.rehearse(work)


def test_a_key_may_by_default_what_harms_nobody(shared):
    def work(tx):
        made = two_people.propose_key(tx, " https://lab.example ", public("lab"), None, None, None, "ann")
        assert made.subject == sha256(public("lab"))[:16]
        said = made.body["body"]
        assert (said["owner"], said["may"], said["since"], said["until"]) == (
            "https://lab.example", sorted(DEFAULT_MAY), tx.now, None,
        )  # fmt: skip
        own = two_people.propose_key(tx, shared.pids["ada"], public("ada"), None, None, None, "ann")
        assert own.body["body"]["may"] == ["self"]

    shared.ledger.rehearse(work)


def test_default_rights_flag_nobody():
    """Flags and their lifting are granted one by one."""
    assert set(EVIDENCE_KINDS) >= DEFAULT_MAY
    assert all(EVIDENCE_KINDS[kind] != "flagged" for kind in DEFAULT_MAY)
    assert DEFAULT_MAY.isdisjoint({"flag-lifted", "reinstated", "concern"})


def test_keys_that_are_known_or_end_before_they_begin(shared):
    def work(tx):
        day = "2026-02-01T00:00:00Z"
        for until in (day, "2026-01-01T00:00:00Z"):
            with pytest.raises(InputError, match="a key is valid until a time after 2026-02-01"):
                two_people.propose_key(tx, "lab", public("lab"), None, day, until, "ann")
        made = two_people.propose_key(tx, "lab", public("lab"), None, day, None, "ann")
        two_people.confirm(tx, made.seq, "bob")
        with pytest.raises(ConflictError, match="registered for 'lab', is known"):
            two_people.propose_key(tx, "lab", public("lab"), None, None, None, "ann")
        two_people.revoke_key(tx, made.subject, "ann")
        with pytest.raises(ConflictError, match="was revoked on 2026-01-01; make a new one"):
            two_people.propose_key(tx, "lab", public("lab"), None, None, None, "ann")
        assert load_component(Keys, tx.connection).known[made.subject].revoked == tx.now

    shared.ledger.rehearse(work)
