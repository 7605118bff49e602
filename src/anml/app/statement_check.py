"""Check a statement with nothing but the ledger's public key."""

import base64
import json
from pathlib import Path
from typing import Any

from anml.app.files import read_bytes
from anml.app.statement import FORMAT, OWN, PAYLOAD, moved
from anml.core.canonical import sha256
from anml.core.errors import AnmlError, InputError, IntegrityError
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
    try:
        found: dict[str, Any] = json.loads(payload)
        if found.get("format") != FORMAT:
            raise InputError(f"this is not a statement of format {FORMAT}")
        _check(found, public)
    except AnmlError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError) as error:
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
    _check_acts(found, entries, public)


def _check_acts(found: dict[str, Any], entries: list[Event], public: bytes) -> None:
    """Two members of staff signed the draft and its approval, and members of staff every correction."""
    made = {e.kind: e for e in entries}
    created, drafted, approved = (made[kind] for kind in (kinds.CREATED, kinds.DRAFTED, kinds.APPROVED))
    staff = _staff(entries, created, public)
    for e in (drafted, approved):
        if e.subject != found["settlement"]:
            raise IntegrityError("an entry of this statement is of another settlement")
        _check_signed(e, staff)
    for e in entries:
        # A settlement that another one replaced is reversed by that one's approval, without a signature each.
        replaced = e.kind == kinds.REVERSED and found["state"] == "reversed" and not e.by
        if e.kind in (kinds.RESOLVED, kinds.REVERSED) and not replaced:
            _check_signed(e, staff)
    alone = created.body["single_person"]
    if (drafted.by == approved.by and not alone) or found["single_person"] != alone:
        raise IntegrityError("one person drafted and approved this settlement")
    digest = sha256(found["proof"]["head"].encode())
    if {drafted.body["head"], approved.body["head"]} != {digest}:
        raise IntegrityError("the manifest of this statement is not the one that was approved")


def _staff(entries: list[Event], created: Event, public: bytes) -> dict[str, str]:
    """Keys of staff by name, each signed for by those who were there before: two from the third on."""
    body = created.body
    staff = {body["founder"]: body["founder_key"]}
    _check_signed(created, staff)
    if created.seq != 1 or created.by != body["founder"] or keys.parse_public(body["public"]) != public:
        raise IntegrityError("the first entry is not that of this ledger")
    asked = {e.seq: e for e in entries if e.kind == kinds.PROPOSED}
    for place, e in enumerate(sorted(e for e in entries if e.kind == kinds.STAFF_ADDED)):
        _check_signed(e, staff)
        number, key = e.body["proposal"], e.body["public"]
        if number:
            first = asked[number]
            _check_signed(first, staff)
            said = (first.subject, first.body["step"], first.body["body"]["public"])
            two = said == (e.subject, kinds.STAFF_ADDED, key) and (first.by != e.by or body["single_person"])
        else:
            two = place == 0 and e.by == body["founder"]
        if not two or e.subject in staff or key in staff.values():
            raise IntegrityError(f"{e.subject!r} was not brought in by two people")
        staff[e.subject] = key
    return staff


def _check_signed(e: Event, staff: dict[str, str]) -> None:
    known = staff.get(e.by)
    if known is None or not keys.verify(keys.parse_public(known), base64.b64decode(e.sig), signed_bytes(e)):
        raise IntegrityError(f"entry {e.seq}, {e.kind}, is not signed by {e.by or 'anybody'!r} of the staff")
