"""Keys on disk: made once, readable by their owner only, never shown, never overwritten."""

import base64
import errno
import hashlib
import hmac
import os

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError, IntegrityError
from anml.ledger import keys
from anml.ledger import personal_data as people
from ledger.ledger_hand import private, public

PEM = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)


def test_keys_are_private_and_never_overwritten(tmp_path):
    path = tmp_path / "k.pem"
    text = keys.create_signer(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert keys.public_text(keys.read_public(text)) == text
    with pytest.raises(InputError, match="never overwritten"):
        keys.create_signer(path)
    path.write_text("rubbish")
    with pytest.raises(InputError, match="not a readable Ed25519 key"):
        keys.read_private(path)


def test_a_refused_key_leaves_the_old_one_and_no_draft(tmp_path):
    path = tmp_path / "k.pem"
    keys.create_signer(path)
    before = path.read_bytes()
    with pytest.raises(InputError):
        keys.create_signer(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["k.pem"]


def test_a_key_that_the_disk_has_no_room_for_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(keys.os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        keys.create_signer(tmp_path / "k.pem")
    assert list(tmp_path.iterdir()) == []


def test_a_key_in_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written: "):
        keys.create_signer(tmp_path / "file" / "k.pem")


def test_a_ledgers_keys_are_made_once(tmp_path):
    ring = keys.create_keys(tmp_path / "keys", "origin")
    (tmp_path / "keys" / keys.UNFINISHED).unlink()
    names = {path.name: path for path in (tmp_path / "keys").iterdir()}
    assert set(names) == {"log.pem", "master.key", "log.pub"}
    assert all(names[name].stat().st_mode & 0o077 == 0 for name in ("log.pem", "master.key"))
    assert (tmp_path / "keys").stat().st_mode & 0o077 == 0
    assert names["log.pub"].read_text() == keys.public_text(ring.public) + "\n"
    again = keys.load_keys(tmp_path / "keys", "origin")
    assert (again.master, again.public) == (ring.master, ring.public)
    with pytest.raises(InputError, match=r"log.pem exists already; a key is never overwritten"):
        keys.create_keys(tmp_path / "keys", "origin")


@pytest.mark.parametrize("lost", ["log.pem", "master.key"])
def test_an_attempt_that_was_cut_short_is_continued_with_what_it_made(tmp_path, lost):
    first = keys.create_keys(tmp_path, "origin")
    (tmp_path / lost).unlink()
    again = keys.create_keys(tmp_path, "origin")
    assert (again.public == first.public) == (lost != "log.pem")
    assert (again.master == first.master) == (lost != "master.key")


@pytest.mark.parametrize("lost", ["log.pem", "master.key"])
def test_a_missing_key_is_named(tmp_path, lost):
    keys.create_keys(tmp_path, "origin")
    (tmp_path / lost).unlink()
    with pytest.raises(InputError, match=f"key file {lost} is not in"):
        keys.load_keys(tmp_path, "origin")


@pytest.mark.parametrize("data", [b"", b"x", base64.b64encode(bytes(31)), base64.b64encode(bytes(33))])
def test_a_master_key_has_32_bytes(tmp_path, data):
    keys.create_keys(tmp_path, "origin")
    (tmp_path / "master.key").write_bytes(data)
    with pytest.raises(InputError, match="is not a master key: 32 bytes in base64"):
        keys.load_keys(tmp_path, "origin")


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"the folder of keys .* cannot be made"):
        keys.create_keys(tmp_path / "file" / "keys", "origin")


def test_other_kinds_of_keys_are_refused(tmp_path):
    path = tmp_path / "ec.pem"
    key = generate_private_key(SECP256R1())
    path.write_bytes(key.private_bytes(*PEM, serialization.NoEncryption()))
    with pytest.raises(InputError, match="is not a readable Ed25519 key"):
        keys.read_private(path)
    path.write_bytes(private("x").private_bytes(*PEM, serialization.BestAvailableEncryption(b"secret")))
    with pytest.raises(InputError, match="cannot be read"):
        keys.read_private(tmp_path)


def test_a_key_with_a_password_opens_with_it_and_with_no_other(tmp_path, monkeypatch):
    monkeypatch.delenv("ANML_KEY_PASSWORD", raising=False)
    ssh = (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH)
    (tmp_path / "ssh").write_bytes(private("x").private_bytes(*ssh, serialization.NoEncryption()))
    assert keys.public_bytes(keys.read_private(tmp_path / "ssh").public_key()) == public("x")
    for name in ("pem",):
        path = tmp_path / name
        path.write_bytes(keys.private_pem(private("x"), "secret"))
        with pytest.raises(
            InputError, match=f"the key {path} has a password; set ANML_KEY_PASSWORD, or use an SSH"
        ):
            keys.read_private(path)
        with pytest.raises(InputError, match="its password is another one"):
            keys.read_private(path, lambda path: "guess")
        assert keys.public_bytes(keys.read_private(path, lambda path: "secret").public_key()) == public("x")
        monkeypatch.setenv("ANML_KEY_PASSWORD", "secret")
        keys.read_private(path)
        monkeypatch.delenv("ANML_KEY_PASSWORD")


def test_a_private_key_reads_back(tmp_path):
    path = tmp_path / "k.pem"
    path.write_bytes(keys.private_pem(private("ann")))
    assert keys.public_bytes(keys.read_private(path).public_key()) == public("ann")


@given(st.binary(min_size=32, max_size=32))
def test_a_public_key_as_text_reads_back(raw):
    assert keys.read_public(keys.public_text(raw)) == raw


def test_a_public_key_may_stand_in_a_file(tmp_path):
    path = tmp_path / "log.pub"
    path.write_text(f"  {keys.public_text(public('log'))}\n")
    assert keys.read_public(str(path)) == public("log")


@pytest.mark.parametrize(
    "text", ["", "ed25519:", "ed25519:AAAA", "ed25519:" + "A" * 60, "x25519:" + "A" * 43 + "=", "none.pub"]
)
def test_what_is_no_public_key_is_shown_as_it_was_given(text):
    with pytest.raises(InputError, match="'ed25519:' and 32 bytes in base64") as error:
        keys.read_public(text)
    assert text[:20] in str(error.value)


def test_what_a_file_holds_is_never_shown(tmp_path):
    """Somebody who names the private key by mistake must not read it in the log of a server."""
    path = tmp_path / "k.pem"
    path.write_bytes(keys.private_pem(private("ann")))
    with pytest.raises(InputError, match="got the file") as error:
        keys.read_public(str(path))
    secret = path.read_text().splitlines()[1]
    assert secret[:20] not in str(error.value)


def test_a_long_text_is_cut_in_the_message():
    with pytest.raises(InputError) as error:
        keys.read_public("x" * 10_000)
    assert len(str(error.value)) < 200


@given(st.binary(max_size=40), st.binary(min_size=64, max_size=64))
def test_only_the_owner_signs(message, other):
    signed = private("ann").sign(message)
    assert keys.verify(public("ann"), signed, message)
    assert not keys.verify(public("bob"), signed, message)
    assert not keys.verify(public("ann"), signed, message + b"!")
    assert not keys.verify(public("ann"), other, message)


@pytest.mark.parametrize("signature", [b"", b"x", bytes(63), bytes(65)])
def test_signatures_of_a_wrong_length_verify_nothing(signature):
    assert not keys.verify(public("ann"), signature, b"m")


@given(st.binary(max_size=100), st.text(max_size=10))
def test_what_is_sealed_opens_at_its_place(data, context):
    key = bytes(range(32))
    assert keys.decrypt(key, keys.encrypt(key, data, context), context) == data


@given(st.binary(max_size=30), st.data())
def test_sealed_data_does_not_open_elsewhere_or_changed(data, draw):
    key = bytes(range(32))
    sealed = bytearray(keys.encrypt(key, data, "person/c1", lambda size: bytes(size)))
    with pytest.raises(IntegrityError, match="does not open"):
        keys.decrypt(key, bytes(sealed), "person/c2")
    with pytest.raises(IntegrityError, match="does not open"):
        keys.decrypt(bytes(32), bytes(sealed), "person/c1")
    sealed[draw.draw(st.integers(0, len(sealed) - 1))] ^= 1
    with pytest.raises(IntegrityError, match="does not open"):
        keys.decrypt(key, bytes(sealed), "person/c1")


def test_randomness_is_handed_in():
    key = bytes(32)
    assert keys.encrypt(key, b"x", "c", bytes) == keys.encrypt(key, b"x", "c", bytes)
    assert keys.encrypt(key, b"x", "c") != keys.encrypt(key, b"x", "c")


def test_a_handle_is_an_hmac_of_namespace_and_value():
    ring = keys.KeyRing("o", private("log"), b"m" * 32)
    expected = hmac.new(b"m" * 32, b"account\x00ls\x00ann", hashlib.sha256).hexdigest()
    assert ring.handle("account", "ls\x00ann") == expected
    other = keys.KeyRing("o", private("log"), b"n" * 32)
    assert other.handle("account", "ls\x00ann") != expected
    assert ring.handle("payee", "ls\x00ann") != expected


def test_another_master_key_opens_nothing(make_world):
    world = make_world("sqlite")
    pid = world.establish("ann")["ann"]
    wrong = keys.KeyRing("x", world.ledger.ring.log, bytes(32))
    with world.ledger.read() as connection, pytest.raises(IntegrityError, match="does not open"):
        people.profile(connection, wrong, pid)


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_key_that_somebody_makes_meanwhile_is_not_overwritten(tmp_path, monkeypatch, links):
    path, synced, linked = tmp_path / "k.pem", os.fsync, os.link

    def meanwhile(descriptor: int) -> None:
        synced(descriptor)
        path.write_text("theirs")

    def link(draft, name):
        if not links:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        linked(draft, name)

    monkeypatch.setattr(keys.os, "fsync", meanwhile)
    monkeypatch.setattr(keys.os, "link", link)
    with pytest.raises(InputError, match=r"k.pem exists already; a key is never overwritten"):
        keys.create_signer(path)
    assert path.read_text() == "theirs"
    assert [one.name for one in tmp_path.iterdir()] == ["k.pem"]


def test_a_disk_without_links_holds_keys_too_and_nothing_of_what_failed(tmp_path, monkeypatch):
    def refuse(*_) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(keys.os, "link", refuse)
    text = keys.create_signer(tmp_path / "k.pem")
    assert (tmp_path / "k.pem").stat().st_mode & 0o777 == 0o600
    assert keys.public_text(keys.public_bytes(keys.read_private(tmp_path / "k.pem").public_key())) == text
    monkeypatch.setattr(keys.Path, "rename", refuse)
    with pytest.raises(InputError, match="cannot be written: Operation not permitted"):
        keys.create_signer(tmp_path / "other.pem")
    assert [one.name for one in tmp_path.iterdir()] == ["k.pem"]
