"""The log: bytes that read back, sums that balance, and reading it in parts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.canonical import leaf_hash
from anml.core.errors import InputError, IntegrityError
from anml.ledger import log
from anml.ledger.log import GENESIS, Event, Posting, check_balanced, decode_event, encode_event, signed_bytes
from anml.ledger.money import MAX_MICRO
from ledger.ledger_queries import events, find, leaves, settlements
from ledger.ledger_world import World, simple_rows

text = st.text(max_size=8)
postings = st.lists(st.builds(Posting, text, text, st.integers(-(2**63), 2**63)), max_size=4).map(tuple)
entries = st.builds(
    Event,
    seq=st.integers(1, 2**40),
    kind=text,
    key=text,
    subject=text,
    at=text,
    body=st.dictionaries(text, st.none() | st.booleans() | st.integers(-9, 9) | text, max_size=4),
    settlement=text,
    postings=postings,
    prev=text,
    hash=st.binary(max_size=32),
    by=text,
    sig=text,
    first=st.integers(0, 2**40),
)


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A ledger with one posted settlement, read only."""
    folder = tmp_path_factory.mktemp("log")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob"))
    world.post(world.run(simple_rows({"x": 2, "y": 1})), "1")
    yield world
    world.ledger.close()


@given(entries)
def test_entries_read_back_to_the_same_value_and_the_same_bytes(made):
    data = encode_event(made)
    assert decode_event(data, made.hash) == made
    assert encode_event(decode_event(data, made.hash)) == data


def test_entries_read_back(world):
    sid = world.post(world.run(simple_rows({"ann": 1})), "1")
    with world.ledger.read() as connection:
        for e in events(connection):
            assert decode_event(encode_event(e), e.hash) == e
        assert settlements(connection)[sid].state == "posted"


@given(entries, entries)
def test_different_entries_have_different_bytes(one, other):
    same = one._replace(hash=b"") == other._replace(hash=b"")
    assert (encode_event(one) == encode_event(other)) == same


def test_by_hand():
    made = Event(1, "k", "key", "s", "t", {"b": 1, "a": 2}, "", (Posting("x", "EUR", -3),), "p", b"h")
    assert encode_event(made) == (
        b'{"at":"t","body":{"a":2,"b":1},"key":"key","kind":"k","postings":[["x","EUR",-3]],"prev":"p",'
        b'"seq":1,"settlement":"","subject":"s"}'
    )


@given(entries)
def test_what_is_signed_is_the_whole_entry_without_the_signature(made):
    signed = signed_bytes(made)
    assert signed.startswith(b"anml-entry/1\n")
    # The signature itself is no part of it, and every other field is.
    assert signed_bytes(made._replace(sig="other")) == signed
    assert signed_bytes(made._replace(prev=made.prev + "x")) != signed
    assert signed_bytes(made._replace(seq=made.seq + 1)) != signed
    assert signed_bytes(made._replace(by=made.by + "x")) != signed


def test_what_no_entry_looks_like_is_an_error():
    for data in (b"{}", b"[]", b'{"postings": [], "unknown": 1}', b"\xff"):
        with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
            decode_event(data, b"")


@given(st.lists(st.tuples(st.sampled_from(["EUR", "USD"]), st.integers(-100, 100)), max_size=6))
def test_an_entry_balances_when_every_currency_does(items):
    lines = [Posting("a", currency, amount) for currency, amount in items]
    sums = {c: sum(amount for currency, amount in items if currency == c) for c in ("EUR", "USD")}
    if any(sums.values()):
        with pytest.raises(IntegrityError, match="sum to"):
            check_balanced(lines, "here")
    else:
        check_balanced(lines, "here")


def test_what_does_not_balance_or_fit_is_named():
    with pytest.raises(IntegrityError, match="the postings of step 7 sum to 2 micro-units of USD, not to 0"):
        check_balanced([Posting("a", "EUR", 0), Posting("a", "USD", 2)], "step 7")
    with pytest.raises(InputError, match="do not fit 64 bits"):
        check_balanced([Posting("a", "EUR", MAX_MICRO + 1), Posting("b", "EUR", -MAX_MICRO - 1)], "here")
    check_balanced([Posting("a", "EUR", MAX_MICRO), Posting("b", "EUR", -MAX_MICRO)], "here")


def test_every_entry_follows_the_one_before_by_hash(lived):
    with lived.ledger.read() as connection:
        found = list(events(connection))
        hashes = leaves(connection)
    prev = GENESIS
    for place, e in enumerate(found, start=1):
        assert (e.seq, e.prev) == (place, prev)
        assert e.hash == leaf_hash(encode_event(e))
        prev = e.hash.hex()
    assert hashes == [e.hash for e in found]


def test_the_newest_entry_is_the_last(lived):
    with lived.ledger.read() as connection:
        last = list(events(connection))[-1]
        assert log.log_head(connection) == (last.seq, last.hash, last.at)


def test_entries_are_found_by_their_key_alone(lived):
    with lived.ledger.read() as connection:
        for e in events(connection):
            assert find(connection, e.key) == e
        assert find(connection, "no such key") is None


def test_the_columns_repeat_what_the_bytes_say(lived):
    from anml.ledger.schema import event

    with lived.ledger.read() as connection:
        for row in connection.execute(event.select()):
            said = json.loads(row.entry)
            assert (row.seq, row.kind, row.key, row.subject, row.at) == tuple(
                said[name] for name in ("seq", "kind", "key", "subject", "at")
            )
