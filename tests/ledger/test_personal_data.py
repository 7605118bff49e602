"""Contributors: one identifier for one account, everything personal sealed, and erased for good."""

import json

import pytest
import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.core.errors import AnmlError, ConflictError, IntegrityError
from anml.ledger import evidence, kinds, schema, two_people
from anml.ledger import personal_data as people
from anml.ledger.personal_data import alias_digest, record_digest
from anml.ledger.services.verify import verified
from ledger.ledger_queries import events, who_is
from ledger.ledger_world import World


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Four accounts in two places; tests take back what they do."""
    folder = tmp_path_factory.mktemp("people")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob"))
    accounts = world.register("ls", ["ada", "bea", "hopper"])
    world.pids = {**accounts, "ada@pf": world.register("pf", ["ada"])["ada"]}
    yield world
    world.ledger.close()


def test_erased_people_stay_erased(world):
    pid = world.establish("ann")["ann"]
    people.erase(world.ledger, pid, "request")
    with pytest.raises(ConflictError, match="was erased"):
        people.erase(world.ledger, pid, "request")
    with pytest.raises(AnmlError):
        world.ledger.write(lambda tx: two_people.propose_payee(tx, pid, {"name": "x"}, None))
    # Whoever comes back is somebody new.
    again = world.register("run", ["ann"])["ann"]
    assert again != pid


# --- registering
def test_an_account_has_one_identifier_however_often_it_comes(shared):
    size = shared.size()
    assert shared.register("ls", ["ada", "bea", "ada"]) == {
        "ada": shared.pids["ada"], "bea": shared.pids["bea"],
    }  # fmt: skip
    assert shared.size() == size


def test_the_same_name_in_another_place_is_another_account(shared):
    assert shared.pids["ada"] != shared.pids["ada@pf"]


def test_accounts_are_found_by_place_and_name_alone(shared):
    with shared.ledger.read() as connection:
        ring = shared.ledger.ring
        assert who_is(connection, ring, "ls", "ada") == shared.pids["ada"]
        assert who_is(connection, ring, "ls", "Ada") is None
        assert who_is(connection, ring, "none", "ada") is None
    names = [f"nobody {number}" for number in range(600)]
    with verified(shared.ledger, "looked up in") as reading:
        assert people.lookup_all(reading, ring, "ls", [*names, "bea"]) == {"bea": shared.pids["bea"]}


def test_place_and_name_cannot_be_moved_into_each_other(shared):
    """`ls` with `x:ada` and `ls:x` with `ada` are two accounts: a letter no name has joins them."""

    def work(tx):
        one = people.register(tx, "ls", ["x:ada"])["x:ada"]
        other = people.register(tx, "ls:x", ["ada"])["ada"]
        evidence.sign_records(tx, "import", "test", None)
        return one, other

    one, other = shared.ledger.rehearse(work)
    assert one != other


def test_the_log_holds_no_name(shared):
    with shared.ledger.read() as connection:
        entries = [json.dumps(e.body) + e.key + e.subject for e in events(connection)]
    # Not the others' names: these are hexadecimal numbers too, and hashes hold them by chance.
    assert not any("hopper" in text for text in entries)


def test_the_database_holds_no_name(shared):
    with shared.ledger.read() as connection:
        for table in schema.ERASABLE:
            for row in connection.execute(sa.select(table)):
                assert not any("hopper" in str(value) for value in row)


def test_what_the_log_holds_of_a_row_by_hand():
    assert record_digest("p", b"w", b"s") == sha256(b"record\x00pws")
    assert alias_digest("h", "p", "s") == sha256(b"alias\x00h\x00p\x00s")


# --- profiles
def test_a_profile_is_read_alone_and_with_all_others(shared):
    with shared.ledger.read() as connection:
        ring = shared.ledger.ring
        everybody = people.profiles(connection, ring)
        assert everybody == {pid: people.profile(connection, ring, pid) for pid in shared.pids.values()}
        assert everybody[shared.pids["ada"]] == {"accounts": ["ls:ada"]}
        assert people.profile(connection, ring, "nobody") == {}


def test_an_address_is_changed_by_one_person_and_leaves_the_rest(shared):
    ada = shared.pids["ada"]

    def work(tx):
        made = people.change_email(tx, ada, "ada@example.org", "bob")
        assert (made.kind, made.by) == (kinds.CHANGED, "bob")
        assert "example" not in json.dumps(made.body)
        return people.profile(tx.connection, shared.ledger.ring, ada)

    assert shared.ledger.rehearse(work) == {"accounts": ["ls:ada"], "email": "ada@example.org"}


def test_a_profile_moved_to_somebody_else_does_not_open(shared):
    """Whoever owns the database cannot give one person another's bank details."""
    ada, bea = shared.pids["ada"], shared.pids["bea"]

    def work(tx):
        sealed = tx.connection.scalar(sa.select(schema.person.c.sealed).where(schema.person.c.pid == bea))
        tx.connection.execute(
            sa.update(schema.person).where(schema.person.c.pid == ada).values(sealed=sealed)
        )
        with pytest.raises(IntegrityError, match="does not open"):
            people.profile(tx.connection, shared.ledger.ring, ada)

    shared.ledger.rehearse(work)


# --- papers
def test_a_paper_is_kept_once_for_each_person(shared):
    ada, bea = shared.pids["ada"], shared.pids["bea"]

    def work(tx):
        first = people.store_document(tx, ada, b"words")
        assert first == people.store_document(tx, ada, b"words")
        other = people.store_document(tx, bea, b"words")
        assert (first["paper"], other["paper"]) == (sha256(b"words"), sha256(b"words"))
        assert first["sealed"] != other["sealed"]
        assert people.read_document(tx.connection, shared.ledger.ring, ada, first["paper"]) == b"words"
        assert people.find_document(tx.connection, ada, first["paper"]) == first
        assert (
            people.find_document(tx.connection, ada, "")
            == people.find_document(tx.connection, ada, "x")
            == people.NO_DOCUMENT
        )
        assert people.read_document(tx.connection, shared.ledger.ring, ada, "none") is None

    shared.ledger.rehearse(work)


def test_plain_values_are_salted_so_that_nobody_can_guess_at_them(shared):
    ada, values = shared.pids["ada"], {"iban": "DE89370400440532013000"}

    def work(tx):
        one, other = (people.store_values(tx, ada, values) for _ in range(2))
        assert one["paper"] != other["paper"]
        place = (tx.connection, shared.ledger.ring, ada, one["paper"])
        assert json.loads(people.read_document(*place))["salt"]
        assert people.read_values(*place) == values
        assert people.read_values(tx.connection, shared.ledger.ring, ada, "") == {}

    shared.ledger.rehearse(work)


# --- names that lead to people
def test_a_bank_account_leads_to_its_owner(shared):
    def owner(tx):
        return tx.reading.held.owners.get(tx.ledger.ring.handle(people.PAYEE_KIND, "DE1"))

    def work(tx):
        tx.verified()
        assert owner(tx) is None
        ada = shared.pids["ada"]
        claim = people.add_alias(tx, people.PAYEE_KIND, "DE1", ada)
        paper = people.store_values(tx, ada, {"iban": "DE1"})
        made = two_people.propose(tx, kinds.PAYEE_SET, ada, {"digest": paper["paper"]}, "ann", paper)
        body = {"record": "r", "payee": claim, "digest": paper["paper"], "proposal": made.seq}
        tx.append(kinds.PAYEE_SET, "k", ada, body, by="bob")
        assert owner(tx) == ada
        # An account name of the same letters is something else.
        assert people.lookup_all(tx.reading, shared.ledger.ring, "", ["DE1"]) == {}
        with pytest.raises(sa.exc.IntegrityError):
            people.add_alias(tx, people.PAYEE_KIND, "DE1", shared.pids["bea"])

    shared.ledger.rehearse(work)


# --- erasing
def test_an_erasure_leaves_the_log_and_nothing_personal(make_world):
    world = make_world("sqlite", staff=("ann", "bob"))
    pids = world.register("ls", ["ada", "bea"])

    def work(tx):
        tx.verified()
        people.change_email(tx, pids["ada"], "ada@example.org", "ann")
        paper = people.store_document(tx, pids["ada"], b"a personal remark")
        said = evidence.EvidenceRecord(
            "self", pids["ada"], "tool", "", paper=paper["paper"], sealed=paper["sealed"]
        )
        evidence.add_records(tx, [said])
        evidence.sign_records(tx, "import", "test", "ann")

    world.ledger.write(work)
    size = world.size()
    assert people.erase(world.ledger, pids["ada"], "asked", "bob") == []
    assert world.size() == size + 1
    with world.ledger.read() as connection:
        for table in schema.ERASABLE:
            left = set(connection.scalars(sa.select(table.c.pid)))
            assert pids["ada"] not in left
            assert table.name == "person_document" or pids["bea"] in left
        assert who_is(connection, world.ledger.ring, "ls", "ada") is None
        assert people.profile(connection, world.ledger.ring, pids["ada"]) == {}
        assert {e.kind for e in events(connection, subject=pids["ada"])} == {
            kinds.REGISTERED, kinds.CHANGED, kinds.EVIDENCE, kinds.ERASED,
        }  # fmt: skip
    data = b"".join(path.read_bytes() for path in world.folder.glob("ledger.db*"))
    assert b"ada@example.org" not in data


def test_nothing_can_be_added_about_whom_was_erased(make_world):
    world = make_world("sqlite", staff=("ann", "bob"))
    ada = world.register("ls", ["ada"])["ada"]
    people.erase(world.ledger, ada, "asked", "bob")
    for step in (
        lambda tx: people.store_document(tx, ada, b"x"),
        lambda tx: people.change_email(tx, ada, "x", "ann"),
        lambda tx: people.store_profile(tx, ada, {}),
    ):
        with pytest.raises(ConflictError, match=f"contributor {ada} was erased"):
            world.ledger.rehearse(step)
