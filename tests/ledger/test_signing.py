"""Lookup of signing keys: a file, a folder, an SSH agent."""

import socket
import struct
import threading

import pytest

from anml.core.errors import InputError
from anml.ledger import keys
from anml.ledger.pay import settle
from anml.ledger.services.verify import verify
from anml.ledger.signing import SignerLookup, from_agent, from_file
from ledger.ledger_hand import Hand, private
from ledger.ledger_world import simple_rows


def text(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


class Agent(threading.Thread):
    """An SSH agent as the protocol describes it: lists its keys, signs with them, or hangs up."""

    def __init__(self, path, private, broken=False) -> None:
        super().__init__(daemon=True)
        self.private, self.broken = private, broken
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.line.bind(str(path))
        self.line.listen()

    def run(self) -> None:
        while True:
            try:
                caller, _ = self.line.accept()
            except OSError:
                return
            with caller:
                size = struct.unpack(">I", caller.recv(4))[0]
                request = b""
                while len(request) < size:
                    request += caller.recv(size - len(request))
                caller.sendall(text(self.answer(request)))

    def answer(self, request: bytes) -> bytes:
        public = keys.public_bytes(self.private.public_key())
        blob = text(b"ssh-ed25519") + text(public)
        if request[0] == 11:
            return bytes([12]) + struct.pack(">I", 1) + text(blob) + text(b"a comment")
        if self.broken:
            return bytes([5])
        size = struct.unpack(">I", request[1:5])[0]
        rest = request[5 + size :]
        message = rest[4 : 4 + struct.unpack(">I", rest[:4])[0]]
        signed = text(b"ssh-ed25519") + text(self.private.sign(message))
        return bytes([14]) + text(signed)


@pytest.fixture
def agent(tmp_path_factory, monkeypatch):
    made = []

    def start(private, broken=False):
        path = tmp_path_factory.mktemp("a") / "s"
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        made.append(Agent(path, private, broken))
        made[-1].start()

    yield start
    for one in made:
        one.line.close()


def test_a_key_in_an_agent_signs(world, agent):
    path = world.keys / "staff" / "bob.pem"
    agent(keys.read_private(path))
    path.unlink()
    made = world.draft(world.run(simple_rows({"x": 1})), "1")
    assert settle.approve_settlement(world.reopen(), made.id, "bob").by == "bob"
    assert verify(world.ledger).problems == []


def test_agents_that_do_not_answer_or_do_not_sign(tmp_path, agent, monkeypatch):
    keys.create_signer(tmp_path / "k.pem")
    public = from_file(tmp_path / "k.pem").public
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    assert from_agent(public) is None
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "nothing"))
    assert from_agent(public) is None
    agent(keys.read_private(tmp_path / "k.pem"), broken=True)
    assert from_agent(bytes(32)) is None
    with pytest.raises(InputError, match="the SSH agent did not sign"):
        from_agent(public).sign(b"x")


def test_who_acts_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("ANML_BY", raising=False)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    staff = Hand(staff=("bob",)).state.staff
    signers = SignerLookup((tmp_path / "mine", tmp_path))
    with pytest.raises(InputError, match="say who you are with --by"):
        signers.acting(staff)
    # A key of nobody of the staff is no reason to ask.
    keys.create_signer(tmp_path / "zoe.pem")
    keys.create_signer(tmp_path / "ann.pem")
    assert signers.acting(staff) == "ann"
    (tmp_path / "mine").mkdir()
    keys.create_signer(tmp_path / "mine" / "bob.pem")
    with pytest.raises(
        InputError, match="say who you are with --by: a staff identifier: the keys of ann and bob are"
    ):
        signers.acting(staff)
    monkeypatch.setenv("ANML_BY", " BOB")
    assert signers.acting(staff) == "bob"


def test_a_key_that_was_named_counts_as_at_hand(tmp_path, monkeypatch):
    for name in ("ANML_BY", "SSH_AUTH_SOCK"):
        monkeypatch.delenv(name, raising=False)
    staff = Hand(staff=("bob",)).state.staff
    (tmp_path / "mine.pem").write_bytes(keys.private_pem(private("bob"), "secret"))
    signers = SignerLookup((), tmp_path / "mine.pem", password=lambda path: "secret")
    assert signers.acting(staff) == "bob"


def test_only_the_file_that_was_given_signs_and_its_password_is_asked_for_once(tmp_path, monkeypatch):
    for name in ("ANML_BY", "SSH_AUTH_SOCK"):
        monkeypatch.delenv(name, raising=False)
    staff = Hand(staff=("bob", "cat")).state.staff
    keys.create_signer(tmp_path / "ann.pem")
    (tmp_path / "mine.pem").write_bytes(keys.private_pem(private("cat"), "secret"))
    asked: list[object] = []

    def password(path):
        asked.append(path)
        return "secret"

    signers = SignerLookup((tmp_path,), tmp_path / "mine.pem", password=password)
    assert signers.acting(staff) == "cat"
    assert signers.find("cat", staff.member("cat").public).public == staff.member("cat").public
    assert len(asked) == 1
