"""A witness by C2SP tlog-witness, started in the test: cosignatures are asked for, kept and checked."""

import base64
import hashlib
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from anml.core.canonical import MerkleTree
from anml.core.errors import InputError, IntegrityError
from anml.ledger import checkpoint, keys
from anml.ledger.cli.money import write_bundle
from anml.ledger.pay import statement
from anml.ledger.services.steps import public_key
from anml.ledger.services.verify import check_against_checkpoints, sign_checkpoint, verifier
from anml.ledger.witness import cosign, require_cosigned
from ledger.ledger_world import simple_rows

NAME = "witness.example/w1"


class Witness:
    """Keeps the last checkpoint of one log, and cosigns what extends it, as the specification says."""

    def __init__(self, log: bytes, when: int = 1_700_000_000) -> None:
        self.private = Ed25519PrivateKey.generate()
        self.public = keys.public_bytes(self.private.public_key())
        self.log, self.when, self.size, self.root = log, when, 0, b""
        marked = b"\x04" + self.public
        self.number = hashlib.sha256(NAME.encode() + b"\n" + marked).digest()[:4]
        self.key = f"{NAME}+{self.number.hex()}+{base64.b64encode(marked).decode()}"

    def answer(self, body: bytes) -> tuple[int, bytes]:
        head, _, note = body.decode().partition("\n\n")
        old, *proof = head.split("\n")
        try:
            seen = checkpoint.read_checkpoint(note, self.log)
        except (InputError, IntegrityError):
            return 403, b""
        if int(old.removeprefix("old ")) != self.size:
            return 409, f"{self.size}\n".encode()
        path = [base64.b64decode(line) for line in proof]
        if self.size and not verifier().grew((self.size, self.root), (seen.size, seen.root), path):
            return 422, b""
        self.size, self.root = seen.size, seen.root
        text = note.partition("\n\n— ")[0] + "\n"
        signed = self.private.sign(f"cosignature/v1\ntime {self.when}\n{text}".encode())
        data = self.number + self.when.to_bytes(8, "big") + signed
        return 200, f"— {NAME} {base64.b64encode(data).decode()}\n".encode()


@pytest.fixture
def served(make_world):
    """A world, its witness, and the witness's address."""
    world = make_world("sqlite")
    witness = Witness(world.ledger.ring.public)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            status, answer = (404, b"")
            if self.path == "/w/add-checkpoint":
                status, answer = witness.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield world, witness, f"http://127.0.0.1:{server.server_port}/w"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_growing_log_is_cosigned_each_time_and_the_cosignature_is_kept(served, tmp_path):
    world, witness, url = served
    notes = tmp_path / "notes"
    notes.mkdir()
    for size in range(3):
        world.register("run", [f"p{size}"])
        check_against_checkpoints(world.ledger, notes, (witness.key, url))
    kept = sorted(notes.iterdir())
    assert len(kept) == 3
    for path in kept:
        assert require_cosigned(path.read_text(), witness.key) == 1_700_000_000
        assert checkpoint.read_checkpoint(path.read_text(), world.ledger.ring.public).size > 0
    # The last checkpoint is cosigned again; kept ones still compare.
    assert check_against_checkpoints(world.ledger, notes, (witness.key, url)).problems == []


def test_a_log_made_anew_and_an_old_copy_get_no_cosignature(served):
    world, witness, url = served
    shutil.copy(world.url, f"{world.url}.old")
    world.register("run", ["ann", "ben", "cat"])
    sign_checkpoint(world.ledger, (witness.key, url))
    world.ledger.close()
    shutil.copy(f"{world.url}.old", world.url)
    for path in (Path(f"{world.url}-wal"), Path(f"{world.url}-shm")):
        path.unlink(missing_ok=True)
    world.reopen()
    with pytest.raises(IntegrityError, match="it is an old copy or cut"):
        sign_checkpoint(world.ledger, (witness.key, url))
    # With other entries it grows past the size that was seen, and is another history.
    world.register("run", [f"q{number}" for number in range(9)])
    with pytest.raises(IntegrityError, match="the witness saw another history of this log"):
        sign_checkpoint(world.ledger, (witness.key, url))


def test_an_outsider_asks_for_the_cosignature(served, tmp_path, capsys):
    world, witness, url = served
    world.establish("ann")
    sid = world.post(world.run(simple_rows({"ann": 1})), "10")
    program, public = verifier(), public_key(world.ledger)
    for name, asked in (("plain", None), ("seen", (witness.key, url))):
        for item in statement.build(world.ledger, sid, witness=asked).values():
            write_bundle(tmp_path / name, item, statement.sign(world.ledger, item), public)
    given = ["--public-key", public, "--witness", witness.key]
    assert program.main([str(tmp_path / "seen"), *given]) == 0
    assert capsys.readouterr().out.strip().endswith(f"; cosigned by {NAME} on 2023-11-14")
    assert program.main([str(tmp_path / "plain"), *given]) == 1
    assert "has no valid cosignature of the witness" in capsys.readouterr().out
    other = Witness(world.ledger.ring.public)
    assert program.main([str(tmp_path / "seen"), "--public-key", public, "--witness", other.key]) == 1
    for wrong in ("", "x", witness.key.replace("+", "-"), witness.key[:-8], NAME + "+00000000+" + "A" * 44):
        assert program.main([str(tmp_path / "seen"), "--public-key", public, "--witness", wrong or "x"]) == 1
    capsys.readouterr()


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (403, b"", "trusts another key of this log"),
        (404, b"", "does not know this log"),
        (500, b"", "status 500"),
        (200, b"", "has no valid cosignature"),
        (200, b"\xe2\x80\x94 witness.example/w1 AAAA\n", "has no valid cosignature"),
        (409, b"99999999\n", "it is an old copy or cut"),
        (409, b"x" * 100, "another history"),
        (422, b"", "another history"),
    ],
)
def test_answers_that_are_no_cosignature(world, status, answer, message):
    witness = Witness(world.ledger.ring.public)
    note = sign_checkpoint(world.ledger)["note"]
    tree = MerkleTree([bytes(32)] * checkpoint.read_checkpoint(note, world.ledger.ring.public).size)
    with pytest.raises((InputError, IntegrityError), match=message):
        cosign(note, tree, witness.key, "https://w.example", lambda url, body: (status, answer))


def test_a_changed_cosignature_or_time_does_not_verify(world):
    witness = Witness(world.ledger.ring.public)
    note = sign_checkpoint(world.ledger)["note"]
    whole = note + witness.answer(b"old 0\n\n" + note.encode())[1].decode()
    assert require_cosigned(whole, witness.key) == 1_700_000_000
    line = whole.splitlines()[-1]
    data = bytearray(base64.b64decode(line.rpartition(" ")[2]))
    for place in (5, 11, 12, 75):
        changed = bytearray(data)
        changed[place] ^= 1
        text = whole.replace(line, f"— {NAME} {base64.b64encode(bytes(changed)).decode()}")
        with pytest.raises(IntegrityError, match="no valid cosignature"):
            require_cosigned(text, witness.key)


def test_the_key_hash_is_that_of_the_specification():
    """SHA-256 of name, newline, 0x04 and the key: its first four bytes; another type of key is refused."""
    witness = Witness(b"")
    other = base64.b64encode(b"\x06" + witness.public).decode()
    with pytest.raises(IntegrityError, match="none of an Ed25519 cosigner"):
        require_cosigned("", f"{NAME}+00000000+{other}")
    with pytest.raises(IntegrityError, match="another hash than it says"):
        require_cosigned("", witness.key.replace(witness.number.hex(), "00000000"))


@pytest.mark.parametrize("url", ["ftp://x", "x", "http://127.0.0.1:1/"])
def test_an_address_that_does_not_answer_is_a_sentence(world, url):
    witness = Witness(world.ledger.ring.public)
    with pytest.raises(InputError, match="witness"):
        sign_checkpoint(world.ledger, (witness.key, url))
