"""A client of C2SP tlog-witness: checkpoints are sent for cosigning, and cosignatures are checked.

A witness cosigns a checkpoint only if it extends the last one that it saw of this log. A log that was made
again, an old copy and a fork therefore get no cosignature.
"""

import base64
import urllib.error
import urllib.request
from collections.abc import Callable

from anml.core.canonical import MerkleTree
from anml.core.errors import InputError, IntegrityError
from anml.ledger.services.verify import verifier

# Answers of a witness are a few lines.
LARGEST_ANSWER = 64 * 2**10
TIMEOUT = 30
# Sends a request body to an address; returns the status and the answer.
Post = Callable[[str, bytes], tuple[int, bytes]]


def post(url: str, body: bytes) -> tuple[int, bytes]:
    """Send a request over HTTP or HTTPS."""
    if not url.startswith(("https://", "http://")):
        raise InputError(f"a witness has an address that begins with https://, got {url[:80]!r}")
    try:
        request = urllib.request.Request(url, body, method="POST")
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return answer.status, answer.read(LARGEST_ANSWER)
    except urllib.error.HTTPError as error:
        return error.code, error.read(LARGEST_ANSWER)
    except (OSError, ValueError) as error:
        raise InputError(f"the witness at {url} does not answer: {error}") from None


def cosign(note: str, tree: MerkleTree, key: str, url: str, send: Post = post) -> str:
    """Return a signed checkpoint of a tree with the cosignature of a witness, by its key and address."""
    status, answer = send(f"{url.rstrip('/')}/add-checkpoint", _request(note, tree, 0))
    if status == 409:
        # The answer is the size of the checkpoint that the witness saw last.
        text = answer.decode("ascii", errors="replace").strip()
        size = int(text) if text.isdigit() and len(text) < 19 else 0
        if size > len(tree):
            raise IntegrityError(
                f"the witness saw {size} entries of this log, not {len(tree)}: it is an old copy or cut"
            )
        status, answer = send(f"{url.rstrip('/')}/add-checkpoint", _request(note, tree, size))
    if status in (409, 422):
        raise IntegrityError("the witness saw another history of this log: it was made again or is a fork")
    if status != 200:
        reasons = {403: "it trusts another key of this log", 404: "it does not know this log"}
        reason = reasons.get(status, "it gives no reason")
        raise InputError(f"the witness did not cosign (status {status}): {reason}")
    lines = answer.decode("utf-8", errors="replace").splitlines()
    whole = note + "".join(f"{line}\n" for line in lines if line.startswith("— ") and line.isprintable())
    require_cosigned(whole, key)
    return whole


def _request(note: str, tree: MerkleTree, size: int) -> bytes:
    proof = tree.consistency(size) if 0 < size < len(tree) else []
    lines = [f"old {size}", *(base64.b64encode(node).decode() for node in proof)]
    return ("\n".join(lines) + "\n\n" + note).encode()


def require_cosigned(note: str, key: str) -> int:
    """Return the time of a witness's cosignature on a checkpoint, in seconds; an error without one."""
    program = verifier()
    try:
        return int(program.cosigned(note, key))
    except program.No as no:
        raise IntegrityError(str(no)) from None
    except program.UNREADABLE as error:
        raise InputError(f"a witness's key is NAME+HASH+BASE64 ({error})") from None
