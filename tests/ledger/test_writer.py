"""Appending to the log in one transaction: numbers, links, signatures, repeats, and what a failure leaves."""

import base64
from datetime import timedelta

import pytest
import sqlalchemy as sa

from anml.core.canonical import leaf_hash
from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import keys, kinds, schema
from anml.ledger.log import encode_event, log_head, signed_bytes
from anml.ledger.personal_data import register
from ledger.ledger_queries import events, find
from ledger.ledger_world import START, World


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One ledger for tests that take back what they write."""
    folder = tmp_path_factory.mktemp("writer")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob"))
    world.register("test", ["x"])
    yield world
    world.ledger.close()


def taken(tx, by: str = "ann", key: str | None = None):
    """Register somebody, and sign for it."""
    register(tx, "test", [f"new {tx.next_seq}"])
    return tx.append(kinds.RECORDS_SIGNED, key or f"taken/{tx.next_seq}", "test", {"what": "import"}, by=by)


def rehearsed(world: World, work):
    def with_ledger(tx):
        tx.ledger = world.ledger
        return work(tx)

    return world.ledger.rehearse(with_ledger)


def test_entries_are_numbered_linked_signed_and_sealed(shared):
    def work(tx):
        seq, prev, _ = log_head(tx.connection)
        first, second = taken(tx), taken(tx, "bob")
        assert [first.seq, second.seq] == [seq + 2, seq + 4]
        middle = find(tx.connection, f"contributor/{next(iter(_registered(tx, first)))}")
        assert (middle.prev, first.prev) == (prev.hex(), middle.hash.hex())
        for made, name in ((first, "ann"), (second, "bob")):
            assert made.hash == leaf_hash(encode_event(made))
            public = tx.state.staff.members[name].public
            assert keys.verify(public, base64.b64decode(made.sig), signed_bytes(made))
        tx.close()
        head = tx.connection.execute(sa.select(schema.head)).one()
        assert (head.seq, head.hash) == (second.seq, second.hash)

    rehearsed(shared, work)
    # What was closed here was taken back all the same.
    shared.reopen()


def _registered(tx, made) -> list[str]:
    return [e.subject for e in events(tx.connection, [kinds.REGISTERED]) if e.seq == made.seq - 1]


def test_what_was_appended_is_visible_at_once_on_its_connection(shared):
    def work(tx):
        made = taken(tx, key="mine")
        assert find(tx.connection, "mine") == made
        return made.seq

    seq = rehearsed(shared, work)
    with shared.ledger.read() as connection:
        assert log_head(connection)[0] < seq
        assert find(connection, "mine") is None


def test_a_repeat_is_the_first_entry_and_another_body_is_a_conflict(shared):
    def work(tx):
        made = taken(tx, key="once")
        body = {"what": "import"}
        assert tx.repeated(kinds.RECORDS_SIGNED, "once", "test", body, "ann") == made
        assert tx.repeated(kinds.RECORDS_SIGNED, "new", "test", body, "ann") is None
        for change in (
            {"kind": kinds.CHANGED},
            {"subject": "other"},
            {"body": {"what": "run"}},
            {"by": "bob"},
        ):
            given = {
                "kind": kinds.RECORDS_SIGNED,
                "key": "once",
                "subject": "test",
                "body": body,
                "by": "ann",
                **change,
            }
            with pytest.raises(
                ConflictError, match=r"the key 'once' was used before .*\(entry \d+\); use a new"
            ):
                tx.repeated(**given)

    rehearsed(shared, work)


def test_one_spelling_of_who_acts(shared):
    def work(tx):
        assert (tx.who(" BOB "), tx.who(None)) == ("bob", "ann")
        with pytest.raises(InputError, match="not an address"):
            tx.who("bob@example.org")

    rehearsed(shared, work)


def test_a_document_is_kept_once_by_its_hash(shared):
    def work(tx):
        names = {tx.keep("manifest", b"data") for _ in range(3)}
        assert len(names) == 1
        count = sa.select(sa.func.count()).select_from(schema.document)
        assert tx.connection.scalar(count) == 1
        assert tx.state.documents(names.pop()) == b"data"
        assert tx.state.documents("0" * 64) is None

    rehearsed(shared, work)


def test_an_entry_that_nobody_signs_for_ends_the_transaction(shared):
    size = shared.size()
    with pytest.raises(IntegrityError, match="nobody signed for entry"):
        shared.ledger.write(lambda tx: register(tx, "test", ["ghost"]))
    assert shared.size() == size


def test_somebody_without_a_key_at_hand_signs_nothing(make_world, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    world = make_world("sqlite", staff=("ann", "bob"))
    (world.keys / "staff" / "bob.pem").unlink()
    world.reopen()
    with pytest.raises(InputError, match="the key of 'bob' is not at hand"):
        rehearsed(world, lambda tx: taken(tx, "bob"))


def test_a_key_of_another_name_is_refused(make_world):
    world = make_world("sqlite", staff=("ann", "bob"))
    staff = world.keys / "staff"
    (staff / "bob.pem").write_bytes((staff / "ann.pem").read_bytes())
    world.reopen()
    with pytest.raises(IntegrityError, match="is not the key that is registered for 'bob'"):
        rehearsed(world, lambda tx: taken(tx, "bob"))


def test_a_clock_that_is_set_back_keeps_the_last_time(make_world):
    world = make_world("sqlite")
    world.clock.pass_days(3)
    world.register("test", ["a"])
    world.clock.now -= timedelta(minutes=10)
    made = rehearsed(world, taken)
    assert made.at == "2026-01-04T00:00:00.000000Z"
    # Clocks of honest machines do not differ by more: one of the two is wrong, and somebody has to look.
    world.clock.now = START
    with pytest.raises(
        ConflictError, match="the last entry is dated 2026-01-04T00:00:00Z, and here it is 2026"
    ):
        rehearsed(world, taken)


def test_memory_of_the_log_is_used_and_goes_on_with_what_somebody_else_wrote(make_world):
    """Two programs on one ledger: what one remembers must not hide what the other wrote."""
    world = make_world("sqlite", staff=("ann", "bob"))
    world.register("test", ["a"])
    other = World.__new__(World)
    other.__dict__.update(world.__dict__)
    from anml.ledger.store import open_ledger

    other.ledger = open_ledger(world.url, world.keys, world.clock, world.ledger.new_id)
    other.ledger.signers.name = "ann"
    theirs = other.register("test", ["b"])["b"]
    # A second registration of the same account finds the one that the other program wrote.
    assert world.register("test", ["b"])["b"] == theirs
    state = world.ledger.write(lambda tx: tx.state)
    assert world.ledger.write(lambda tx: tx.state) is state
    theirs = other.register("test", ["c"])["c"]
    assert theirs not in state.people.since
    assert theirs in world.ledger.write(lambda tx: tx.state.people.since)
    other.ledger.close()


def test_a_transaction_that_fails_leaves_no_memory_of_itself(make_world):
    world = make_world("sqlite", staff=("ann", "bob"))

    def work(tx):
        register(tx, "test", ["ghost"])
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        world.ledger.write(work)
    assert len(world.register("test", ["real"])) == 1
    assert world.ledger.write(lambda tx: len(tx.state.people.since)) == 1


def test_a_used_key_is_refused_by_the_database_itself(shared):
    def work(tx):
        taken(tx, key="twice")
        taken(tx, key="twice")
        tx.flush()

    with pytest.raises(ConflictError, match="was used before for another entry"):
        rehearsed(shared, work)


def test_what_the_rules_refuse_takes_no_number(shared):
    def work(tx):
        before = tx.next_seq
        with pytest.raises(AnmlError):
            tx.append(kinds.CHANGED, "k", "nobody", {"record": "r"}, by="ann")
        assert tx.next_seq == before

    rehearsed(shared, work)
