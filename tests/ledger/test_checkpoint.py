"""Signed checkpoints: the text that others keep, and what is refused."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import AnmlError, InputError, IntegrityError
from anml.ledger import checkpoint, keys
from anml.ledger.services.verify import sign_checkpoint
from ledger.ledger_hand import private

RING = keys.KeyRing("test-ledger", private("log"), bytes(32))
ROOT = bytes(range(32))


def test_checkpoints_are_signed_notes(world):
    note, size_then, root_then, _ = sign_checkpoint(world.ledger).values()
    origin, size, root, blank, signature = note.splitlines()
    assert (origin, int(size), blank) == ("test-ledger", size_then, "")
    assert base64.b64decode(root).hex() == root_then
    dash, name, encoded = signature.split(" ")
    raw = base64.b64decode(encoded)
    public = world.ledger.ring.public
    assert (dash, name) == ("—", "test-ledger")
    assert raw[:4] == hashlib.sha256(b"test-ledger\n\x01" + public).digest()[:4]
    assert keys.verify(public, raw[4:], "\n".join([origin, size, root, ""]).encode())
    assert checkpoint.read_checkpoint(note, public).size == size_then
    for wrong in (note.replace(size, "7", 1), note.replace("— ", "- "), "", note.split("\n\n")[0]):
        with pytest.raises(IntegrityError, match="not signed by this ledger's key"):
            checkpoint.read_checkpoint(wrong, public)


@given(st.integers(0, 2**40), st.binary(min_size=32, max_size=32))
def test_what_is_signed_reads_back(size, root):
    note = checkpoint.sign_checkpoint(RING, size, root)
    assert checkpoint.read_checkpoint(note, RING.public) == ("test-ledger", size, root)


def test_the_same_log_gives_the_same_note():
    assert checkpoint.sign_checkpoint(RING, 7, ROOT) == checkpoint.sign_checkpoint(RING, 7, ROOT)


def test_another_key_did_not_sign_it():
    other = keys.KeyRing("test-ledger", private("thief"), bytes(32))
    with pytest.raises(IntegrityError, match="not signed by this ledger's key"):
        checkpoint.read_checkpoint(checkpoint.sign_checkpoint(other, 7, ROOT), RING.public)


def test_the_name_of_the_signer_is_part_of_the_keys_hash():
    """Whoever renames the line of the signature breaks it, although the key is right."""
    note = checkpoint.sign_checkpoint(RING, 7, ROOT)
    with pytest.raises(IntegrityError, match="not signed"):
        checkpoint.read_checkpoint(note.replace("— test-ledger", "— other-ledger"), RING.public)


def test_a_witness_may_sign_beside_us():
    note = checkpoint.sign_checkpoint(RING, 7, ROOT)
    witnessed = note + "— witness.example " + base64.b64encode(bytes(68)).decode() + "\n"
    assert checkpoint.read_checkpoint(witnessed, RING.public).size == 7


@given(st.data())
def test_no_changed_byte_says_something_else(data):
    note = bytearray(checkpoint.sign_checkpoint(RING, 123, ROOT).encode())
    place = data.draw(st.integers(0, len(note) - 1))
    note[place] ^= 1 << data.draw(st.integers(0, 6))
    try:
        found = checkpoint.read_checkpoint(note.decode("utf-8", errors="replace"), RING.public)
    except AnmlError:
        return
    assert found == ("test-ledger", 123, ROOT)


@pytest.mark.parametrize("text", ["one\n", "one\nmany\nAAAA\n", "one\n7\n", "one\n7\nnot base64\n"])
def test_a_signed_note_of_another_shape_is_one_sentence(text):
    """Even where the key signed it: it may be another tool's note."""
    raw = hashlib.sha256(b"one\n\x01" + RING.public).digest()[:4] + RING.log.sign(text.encode())
    note = f"{text}\n— one {base64.b64encode(raw).decode()}\n"
    with pytest.raises(InputError, match=r"^a checkpoint has origin, size and root on its first three"):
        checkpoint.read_checkpoint(note, RING.public)


@pytest.mark.parametrize("size", ["+5", "05", "5 ", "5_0", "\u0665", "-1", "", "5.0"])
def test_a_size_has_one_spelling(size):
    text = f"test-ledger\n{size}\n{base64.b64encode(ROOT).decode()}\n"
    raw = hashlib.sha256(b"test-ledger\n\x01" + RING.public).digest()[:4] + RING.log.sign(text.encode())
    note = f"{text}\n\u2014 test-ledger {base64.b64encode(raw).decode()}\n"
    # With nothing for a size the signed text ends before it.
    with pytest.raises(AnmlError, match=r"origin, size and root|is not signed by"):
        checkpoint.read_checkpoint(note, RING.public)


def test_other_programs_read_the_note_by_its_verifier_key():
    """Written from the text of C2SP signed-note and tlog-checkpoint, without a line of ours."""
    name, fingerprint, encoded = checkpoint.note_verifier_key("test-ledger", RING.public).split("+", 2)
    key = base64.b64decode(encoded)
    assert (key[:1], hashlib.sha256(name.encode() + b"\n" + key).digest()[:4].hex()) == (b"\x01", fingerprint)
    note = checkpoint.sign_checkpoint(RING, 7, ROOT)
    # A witness adds a line of its own, and nothing else changes.
    witnessed = note + "\u2014 witness.example " + base64.b64encode(b"\x00" * 76).decode() + "\n"
    for each in (note, witnessed):
        body, _, lines = each.partition("\n\n")
        signed = {line.split(" ")[1]: base64.b64decode(line.split(" ")[2]) for line in lines.splitlines()}
        assert signed[name][:4].hex() == fingerprint
        Ed25519PublicKey.from_public_bytes(key[1:]).verify(signed[name][4:], (body + "\n").encode())
        assert checkpoint.read_checkpoint(each, RING.public).size == 7
