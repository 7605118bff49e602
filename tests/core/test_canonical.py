"""Canonical JSON: bytes by hand, laws over all plain values, and what is refused."""

import hashlib
import json
from collections import OrderedDict, UserDict
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.canonical import MAX_INTEGER, canonical, digest, sha256
from anml.core.errors import InputError

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, b"null"),
        (True, b"true"),
        (-7, b"-7"),
        ("é", '"é"'.encode()),
        ([1, [2, []]], b"[1,[2,[]]]"),
        ((1, 2), b"[1,2]"),
        ({"b": 1, "a": {"d": 2, "c": 3}}, b'{"a":{"c":3,"d":2},"b":1}'),
        ('"\\\n', b'"\\"\\\\\\n"'),
    ],
)
def test_bytes_by_hand(value, expected):
    assert canonical(value) == expected


def test_sha256_is_the_worlds():
    # FIPS 180-2, the message "abc".
    assert sha256(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@given(plain)
def test_what_is_written_reads_back(value):
    assert json.loads(canonical(value)) == value


@given(plain)
def test_writing_what_was_read_gives_the_same_bytes(value):
    data = canonical(value)
    assert canonical(json.loads(data)) == data


@given(st.dictionaries(st.text(max_size=5), st.integers(), max_size=8), st.randoms())
def test_the_order_of_keys_leaves_no_trace(table, random):
    names = random.sample(sorted(table), len(table))
    assert canonical({name: table[name] for name in names}) == canonical(table)


@given(plain)
def test_a_digest_is_the_hash_of_the_bytes(value):
    assert digest(value) == hashlib.sha256(canonical(value)).hexdigest()


@given(plain, plain)
def test_different_values_have_different_bytes(one, other):
    """Equal in Python does not count: True is not 1 here."""
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (canonical(one) == canonical(other)) == same


def test_subclasses_of_plain_types_are_written_as_these():
    class Name(str):
        pass

    assert canonical(OrderedDict(b=1, a=Name("x"))) == b'{"a":"x","b":1}'


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (0.5, "no floating point numbers, got 0.5 at the top"),
        (float("nan"), "no floating point numbers, got nan"),
        ({"a": [1, {"b": 0.5}]}, r"got 0.5 at a\[1\]\.b"),
        ({1: "x"}, "text keys, got 1 at the top"),
        ({"a": {2: "x"}}, "text keys, got 2 at a"),
        (b"x", "no bytes values"),
        ({"a": {1, 2}}, "no set values"),
        ([Decimal("1")], r"no Decimal values, got Decimal\('1'\) at \[0\]"),
        (np.int64(3), "no int64 values"),
        (UserDict(a=1), "no UserDict values"),
        ({"n": MAX_INTEGER + 1}, "at most 127 bits, got .* at n"),
        ([-MAX_INTEGER - 1], "at most 127 bits"),
    ],
)
def test_anything_else_is_refused_and_named(value, says):
    with pytest.raises(InputError, match=says):
        canonical(value)


def test_the_largest_numbers_are_allowed():
    assert canonical([MAX_INTEGER, -MAX_INTEGER]) == f"[{MAX_INTEGER},{-MAX_INTEGER}]".encode()
