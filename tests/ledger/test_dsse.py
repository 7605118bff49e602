"""DSSE envelopes: known bytes, round trips, and envelopes that somebody spoilt."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.canonical import canonical
from anml.core.errors import AnmlError, InputError, IntegrityError
from anml.ledger import keys
from anml.ledger.signing import (
    INTOTO,
    STATEMENT,
    SVR,
    attest,
    from_key,
    open_envelope,
    pre_authentication_encoding,
    read_attestation,
    sign_envelope,
)
from ledger.ledger_hand import START, private, public

LAB = "https://lab.example/qa"
subject = ("anml:contributor:c1", "ab" * 32)


def envelope(payload: bytes = b"hello", name: str = "lab", kind: str = INTOTO) -> bytes:
    return json.dumps(sign_envelope(kind, payload, from_key(private(name)))).encode()


def test_signed_bytes_are_those_of_the_protocol():
    """The example of the DSSE protocol: lengths in decimal, one space between all parts."""
    assert pre_authentication_encoding("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    # Lengths are of bytes: two letters, three bytes.
    assert pre_authentication_encoding("é!", b"") == b"DSSEv1 3 \xc3\xa9! 0 "


@given(st.text(max_size=6), st.binary(max_size=6), st.text(max_size=6), st.binary(max_size=6))
def test_different_things_never_have_the_same_signed_bytes(kind, payload, other_kind, other):
    assert (pre_authentication_encoding(kind, payload) == pre_authentication_encoding(other_kind, other)) == (
        (kind, payload) == (other_kind, other)
    )


@given(st.binary(max_size=200))
def test_what_is_wrapped_is_unwrapped(payload):
    assert open_envelope(envelope(payload), [public("other"), public("lab")]) == (payload, public("lab"))


def test_it_counts_for_the_key_that_signed_and_for_no_other():
    with pytest.raises(IntegrityError, match="no signature of the envelope was made by a known key"):
        open_envelope(envelope(), [public("other")])
    with pytest.raises(IntegrityError, match="known key"):
        open_envelope(envelope(), [])


def test_the_keyid_is_a_hint_and_decides_nothing():
    made = json.loads(envelope())
    made["signatures"][0]["keyid"] = keys.public_text(public("other"))
    assert open_envelope(json.dumps(made).encode(), [public("lab")])[1] == public("lab")
    with pytest.raises(IntegrityError):
        open_envelope(json.dumps(made).encode(), [public("other")])


def test_one_good_signature_among_bad_ones_is_enough():
    made = json.loads(envelope())
    made["signatures"].insert(0, {"sig": base64.b64encode(bytes(64)).decode()})
    assert open_envelope(json.dumps(made).encode(), [public("lab")])[0] == b"hello"


def test_a_signature_for_one_kind_of_payload_is_none_for_another():
    """Whoever relabels the envelope changes what was signed."""
    made = json.loads(envelope(kind="text/plain"))
    made["payloadType"] = INTOTO
    with pytest.raises(IntegrityError, match="known key"):
        open_envelope(json.dumps(made).encode(), [public("lab")])


def test_another_payload_type_is_named():
    with pytest.raises(InputError, match="holds 'text/plain', expected 'application/vnd"):
        open_envelope(envelope(kind="text/plain"), [public("lab")])


SHAPES = [
    b"", b"null", b"[]", b"{}", b"\xff\xfe", b'"x"', b"[" * 100_000, b'{"payload": 1}',
    b'{"payload": "!!", "payloadType": "x", "signatures": []}',
    b'{"payload": "aGk=", "payloadType": "x", "signatures": [1]}',
    b'{"payload": "aGk=", "payloadType": "x", "signatures": [{"sig": "not base64"}]}',
    b'{"payload": "aGk=", "payloadType": "x", "signatures": null}',
]  # fmt: skip


@pytest.mark.parametrize("data", SHAPES, ids=range(len(SHAPES)))
def test_what_is_no_envelope_is_one_sentence(data):
    with pytest.raises(InputError, match=r"^this is not a DSSE envelope: JSON with payload, payloadType, "):
        open_envelope(data, [public("lab")])


@given(st.data())
def test_a_flipped_bit_is_never_taken_for_another_message(data):
    """Whatever bit is flipped: what comes out was signed, or nothing comes out."""
    made = bytearray(envelope(b"pay ann"))
    place = data.draw(st.integers(0, len(made) - 1))
    made[place] ^= 1 << data.draw(st.integers(0, 7))
    try:
        payload, key = open_envelope(bytes(made), [public("lab")])
    except AnmlError:
        return
    assert (payload, key) == (b"pay ann", public("lab"))


def test_an_attestation_reads_back():
    made = attest([subject], LAB, ["ANML_REVIEW_ACCEPTED", "ANML_AFFILIATION"], START, private("lab"))
    found = read_attestation(open_envelope(made, [public("lab")])[0])
    assert found.subjects == (subject,)
    assert (found.verifier, found.created) == (LAB, START)
    assert found.properties == ("ANML_AFFILIATION", "ANML_REVIEW_ACCEPTED")


def test_the_order_of_properties_leaves_no_trace():
    one, other = (attest([subject], LAB, names, START, private("lab")) for names in (["A", "B"], ["B", "A"]))
    assert one == other


def payload(**changes) -> bytes:
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": "n", "digest": {"sha256": "00"}}],
        "predicateType": SVR,
        "predicate": {"verifier": {"id": LAB}, "timeCreated": "2026-01-01T00:00:00Z", "properties": []},
    }
    return canonical({**statement, **changes})


def test_a_subject_without_a_name_has_an_empty_one():
    found = read_attestation(payload(subject=[{"digest": {"sha256": "00"}}]))
    assert found.subjects == (("", "00"),)


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": None}, {"subject": [1]}, {"subject": [{"name": "n"}]}, {"subject": [{"digest": {}}]},
        {"predicate": {}}, {"predicate": {"verifier": LAB}},
        {"predicate": {"verifier": {"id": LAB}, "timeCreated": "soon", "properties": []}},
        {"predicate": {"verifier": {"id": LAB}, "timeCreated": "2026-01-01T00:00:00", "properties": []}},
        {"predicate": {"verifier": {"id": LAB}, "timeCreated": "2026-01-01T00:00:00Z", "properties": None}},
    ],
)  # fmt: skip
def test_what_is_no_verification_result_is_one_sentence(changes):
    with pytest.raises(InputError, match=r"^the statement is not a simple verification result"):
        read_attestation(payload(**changes))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"7", b"[" * 100_000])
def test_what_is_no_statement_is_one_sentence(data):
    with pytest.raises(InputError, match=r"^the statement is not a simple verification result"):
        read_attestation(data)


def test_another_predicate_or_statement_is_named():
    with pytest.raises(InputError, match=r"got 'https://slsa.example/v1'"):
        read_attestation(payload(predicateType="https://slsa.example/v1"))
    with pytest.raises(InputError, match="expected an in-toto statement"):
        read_attestation(payload(_type="https://in-toto.io/Statement/v0.1"))
