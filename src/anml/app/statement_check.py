"""Check a statement with nothing but the ledger's public key."""

import base64
import json
from pathlib import Path
from typing import Any

from anml.app.files import read_bytes
from anml.app.statement import FORMAT, OWN, PAYLOAD, moved
from anml.core.canonical import sha256
from anml.core.errors import InputError, IntegrityError
from anml.core.merkle import leaf_hash, verify_inclusion
from anml.ledger import checkpoint, dsse, keys, kinds
from anml.ledger.log import Event, decode, signed_bytes


def verify_file(path: Path, public_key: str) -> dict[str, Any]:
    """Read a statement from a file, checked with the ledger's public key: text, or a file with it."""
    return verify(read_bytes(path, "statement"), keys.read_public(public_key))


def verify(envelope: bytes, public: bytes) -> dict[str, Any]:
    """Read a statement whose signature, checkpoint, entries, staff and sums all hold.

    Every entry must be in the log that the checkpoint saw, the draft and its approval must be signed by
    two members of staff, and the entries must say what the statement says.
    """
    payload, _ = dsse.unwrap(envelope, [public], PAYLOAD)
    found: dict[str, Any] = json.loads(payload)
    if found.get("format") != FORMAT:
        raise InputError(f"this is not a statement of format {FORMAT}")
    try:
        _check(found, public)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"the statement is not whole ({error})") from None
    return found


def _check(found: dict[str, Any], public: bytes) -> None:
    proof = found["proof"]
    seen = checkpoint.read(proof["checkpoint"], public, found["ledger"])
    entries: list[Event] = []
    for part in proof["entries"]:
        leaf, path = leaf_hash(part["entry"].encode()), [base64.b64decode(node) for node in part["path"]]
        if not verify_inclusion(leaf, part["index"], seen.size, path, seen.root):
            raise IntegrityError("an entry of this statement is not in the log that the checkpoint saw")
        entries.append(decode(part["entry"].encode(), leaf))
    own = [e for e in entries if e.kind in OWN]
    sums, credit = moved(own), [e for e in own if e.kind == kinds.CREDITED]
    place = {(e.subject, e.settlement) for e in own}
    stated = {name: found["amounts"][name] for name in sums}
    same = place == {(found["contributor"], found["settlement"])} and len({e.seq for e in own}) == len(own)
    if not same or len(credit) != 1 or sums != stated or credit[0].body["share"] != found["share"]:
        raise IntegrityError("the statement says something other than its entries in the log")
    _check_staff(found, entries)


def _check_staff(found: dict[str, Any], entries: list[Event]) -> None:
    """Two members of staff, by two keys in the log, signed the draft and its approval."""
    made = {e.kind: e for e in entries}
    created, drafted, approved = (made[kind] for kind in (kinds.CREATED, kinds.DRAFTED, kinds.APPROVED))
    staff = {created.body["founder"]: created.body["founder_key"]}
    staff |= {e.subject: e.body["public"] for e in entries if e.kind == kinds.STAFF_ADDED}
    for e in (drafted, approved):
        raw = base64.b64decode(e.sig)
        if e.subject != found["settlement"] or not keys.verify(
            keys.parse_public(staff[e.by]), raw, signed_bytes(e)
        ):
            raise IntegrityError(f"the {e.kind.partition('.')[2]} settlement is not signed by {e.by!r}")
    one = drafted.by == approved.by or staff[drafted.by] == staff[approved.by]
    if (one and not created.body["single_person"]) or found["single_person"] != created.body["single_person"]:
        raise IntegrityError("one person drafted and approved this settlement")
    digest = sha256(found["proof"]["head"].encode())
    if {drafted.body["head"], approved.body["head"]} != {digest}:
        raise IntegrityError("the manifest of this statement is not the one that was approved")
