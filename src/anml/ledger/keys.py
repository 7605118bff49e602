"""Keys on disk, never in the database: `log.pem` signs, `master.key` wraps each contributor's own key."""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from anml.core.errors import InputError, IntegrityError, os_error_message

_NONCE = 12
# Marks a folder of keys whose ledger was not made yet.
UNFINISHED = "unfinished"
MASTER_BYTES = 32
# Asked for the password of a key in a file.
Password = Callable[[Path], str]


@dataclass(frozen=True)
class KeyRing:
    """The two secrets of a ledger, and the name under which it signs."""

    origin: str
    log: Ed25519PrivateKey
    master: bytes

    @property
    def public(self) -> bytes:
        """The log's public key, 32 bytes."""
        return public_bytes(self.log.public_key())

    def handle(self, namespace: str, value: str) -> str:
        """A keyed fingerprint finds a name again; without the master key nobody tests guesses against it."""
        return hmac.new(self.master, f"{namespace}\x00{value}".encode(), hashlib.sha256).hexdigest()


def create_keys(folder: Path, origin: str) -> KeyRing:
    """Make a ledger's keys in `folder`, readable by the owner only; existing ones are never replaced."""
    with os_error_message(f"the folder of keys {folder} cannot be made"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    mark, log, master = (folder / name for name in (UNFINISHED, "log.pem", "master.key"))
    if not mark.exists():
        for path in (log, master):
            if path.exists():
                raise InputError(f"{path} exists already; a key is never overwritten")
        _write_new(mark, b"")
    if not log.exists():
        _write_new(log, private_pem(Ed25519PrivateKey.generate()))
    if not master.exists():
        _write_new(master, base64.b64encode(os.urandom(MASTER_BYTES)) + b"\n")
    ring = load_keys(folder, origin)
    (folder / "log.pub").unlink(missing_ok=True)
    _write_new(folder / "log.pub", public_text(ring.public).encode() + b"\n", 0o644)
    return ring


def load_keys(folder: Path, origin: str) -> KeyRing:
    """Read a ledger's keys."""
    for name in ("log.pem", "master.key"):
        if not (folder / name).is_file():
            raise InputError(f"the ledger's key file {name} is not in {folder}")
    log = read_private(folder / "log.pem")
    try:
        master = base64.b64decode((folder / "master.key").read_bytes())
    except (OSError, ValueError):
        master = b""
    if len(master) != MASTER_BYTES:
        raise InputError(f"{folder / 'master.key'} is not a master key: {MASTER_BYTES} bytes in base64")
    return KeyRing(origin, log, master)


def create_signer(path: Path, password: str = "") -> str:
    """Make a signing key for a person or an organisation; returns the public key as text."""
    key = Ed25519PrivateKey.generate()
    _write_new(path, private_pem(key, password))
    return public_text(public_bytes(key.public_key()))


def from_environment(path: Path) -> str:
    """The password in ANML_KEY_PASSWORD, for programs; nobody is asked."""
    found = os.environ.get("ANML_KEY_PASSWORD")
    if not found:
        raise InputError(f"the key {path} has a password; set ANML_KEY_PASSWORD, or use an SSH agent")
    return found


def read_private(path: Path, password: Password = from_environment) -> Ed25519PrivateKey:
    """Read an Ed25519 private key, in PEM or as OpenSSH writes it, with or without a password."""
    with os_error_message(f"the private key {path} cannot be read"):
        data = path.read_bytes()
    ours = b"BEGIN OPENSSH" not in data[:100]
    load = serialization.load_pem_private_key if ours else serialization.load_ssh_private_key
    for told in (None, password):
        secret = told and told(path).encode()
        try:
            key = load(data, secret)
        except TypeError:
            # It has a password. A wrong one is said, not asked for again: a script would never end.
            continue
        except (ValueError, UnsupportedAlgorithm):
            break
        if not isinstance(key, Ed25519PrivateKey):
            break
        return key
    raise InputError(f"{path} is not a readable Ed25519 key, or its password is another one")


def read_public(text: str) -> bytes:
    """Read a public key from `ed25519:` text, or from the file of that name; what somebody typed."""
    if not text.startswith("ed25519:") and len(text) < 1000 and Path(text).is_file():
        # What a file holds is never shown: it may be the private key by mistake.
        held = Path(text).read_bytes()[:1000].decode("utf-8", errors="replace").strip()
        return parse_public(held, f"the file {text}")
    return parse_public(text)


def parse_public(text: str, got: str = "") -> bytes:
    """Read a public key from `ed25519:` text alone: what a log says names no file of this machine."""
    got = got or (repr(text) if len(text) <= 60 else f"{text[:20]!r}…")
    try:
        raw = base64.b64decode(text.removeprefix("ed25519:"), validate=True)
    except ValueError:
        raw = b""
    if not text.startswith("ed25519:") or len(raw) != 32:
        raise InputError(f"a public key is 'ed25519:' and 32 bytes in base64, or a file with that, got {got}")
    return raw


def public_text(raw: bytes) -> str:
    """A public key as one word of text."""
    return "ed25519:" + base64.b64encode(raw).decode()


def public_bytes(key: Ed25519PublicKey) -> bytes:
    """A public key as 32 bytes."""
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def private_pem(key: Ed25519PrivateKey, password: str = "") -> bytes:
    """A private key in PEM, under a password where one is given."""
    secret = password.encode()
    locked = serialization.BestAvailableEncryption(secret) if secret else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)


def verify(public: bytes, signature: bytes, message: bytes) -> bool:
    """Did the owner of this key sign this message?"""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, TypeError):
        return False
    return True


def verify_text(public: bytes, signature: str, message: bytes) -> bool:
    """The same of a signature in base64; what is no base64 is no signature."""
    try:
        return verify(public, base64.b64decode(signature, validate=True), message)
    except ValueError:
        return False


def encrypt(key: bytes, data: bytes, context: str, entropy: Callable[[int], bytes] = os.urandom) -> bytes:
    """Encrypt and authenticate; `context` ties the result to its place."""
    nonce = entropy(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, data, context.encode())


def decrypt(key: bytes, sealed: bytes, context: str) -> bytes:
    """The reverse of `seal`."""
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], context.encode())
    except (InvalidTag, ValueError):
        raise IntegrityError("sealed data does not open: another master key, or it was changed") from None


def _write_new(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file that was not there: whole or not at all, and never through a link somebody planted."""
    taken = InputError(f"{path} exists already; a key is never overwritten")
    if path.exists():
        raise taken
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with os_error_message(f"the key {path} cannot be written"):
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _name_new(draft, path)
        except FileExistsError:
            raise taken from None
        finally:
            draft.unlink(missing_ok=True)


def _name_new(draft: Path, path: Path) -> None:
    """Give a draft its name, unless somebody took it meanwhile: a rename alone would write over their key."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # Sticks and some shares have no links: there the name is taken first, by an empty file of our own.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            draft.rename(path)
        except OSError:
            path.unlink()
            raise
