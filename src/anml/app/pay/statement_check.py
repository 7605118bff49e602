"""Check a statement with nothing but the ledger's public key."""

import base64
import json
from pathlib import Path
from typing import Any

from anml.app.files import read_bytes
from anml.app.pay.statement import FORMAT, OWN, PAYLOAD, moved
from anml.core.canonical import sha256
from anml.core.errors import AnmlError, InputError, IntegrityError
from anml.core.merkle import leaf_hash, verify_inclusion
from anml.ledger import checkpoint, dsse, keys, kinds
from anml.ledger.log import Event, decode, signed_bytes
from anml.ledger.rules_staff import recovery_bytes


def verify_file(path: Path, public_key: str) -> dict[str, Any]:
    """Read a statement from a file, checked with the ledger's public key: text, or a file with it."""
    return verify(read_bytes(path, "statement"), keys.read_public(public_key))


def verify(envelope: bytes, public: bytes) -> dict[str, Any]:
    """Read a statement whose signatures, checkpoint, entries, staff and sums all hold.

    The log's key and a member of staff signed it. Every entry must be in the log that the checkpoint saw,
    draft and approval are signed by two members of staff, and whatever changed the amount since by those who
    may; and the entries must say what the statement says.
    """
    payload, _ = dsse.unwrap(envelope, [public], PAYLOAD)
    try:
        found: dict[str, Any] = json.loads(payload)
        if found.get("format") == "anml-statement/2":
            raise InputError(
                "this statement is of an earlier format, which the log's key alone could make: ask anew"
            )
        if found.get("format") != FORMAT:
            raise InputError(f"this is not a statement of format {FORMAT}")
        issuer = _check(found, public)
        dsse.unwrap(envelope, [issuer], PAYLOAD)
    except AnmlError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError) as error:
        raise InputError(f"the statement is not whole ({error})") from None
    return found


def _check(found: dict[str, Any], public: bytes) -> bytes:
    """Check all but the envelope; returns the key of the member of staff who issued it."""
    proof = found["proof"]
    seen = checkpoint.read(proof["checkpoint"], public, found["ledger"])
    entries = [_entry(part, seen) for part in proof["entries"]]
    covers = {int(seq): (_entry(part, seen), part["cover"]) for seq, part in proof["covers"].items()}
    own = [e for e in entries if e.kind in OWN]
    sums, credit = moved(own), [e for e in own if e.kind == kinds.CREDITED]
    place = {(e.subject, e.settlement) for e in own}
    stated = {name: found["amounts"][name] for name in sums}
    same = place == {(found["contributor"], found["settlement"])} and len({e.seq for e in own}) == len(own)
    if not same or len(credit) != 1 or sums != stated or credit[0].body["share"] != found["share"]:
        raise IntegrityError("the statement says something other than its entries in the log")
    _check_line(found, proof)
    (created,) = (e for e in entries if e.kind == kinds.CREATED)
    staff = _Staff(entries, created, public)
    _check_acts(found, entries, created, staff)
    for e in own:
        if e.kind != kinds.CREDITED:
            _check_change(e, covers.get(e.seq), staff, alone=created.body["single_person"])
    issuer = found["issued_by"]
    key = staff.key(issuer["name"], seen.size + 1)
    if key != issuer["key"]:
        raise IntegrityError(
            f"{issuer['name']!r}, who issued this statement, is not of the staff with this key"
        )
    return keys.parse_public(key)


def _check_line(found: dict[str, Any], proof: dict[str, Any]) -> None:
    """What the statement says of rows and labels is the contributor's own line of the manifest."""
    head, line, place = json.loads(proof["head"]), json.loads(proof["line"]), proof["place"]
    path = [base64.b64decode(node) for node in proof["line_path"]]
    leaf, root = leaf_hash(proof["line"].encode()), bytes.fromhex(head["lines_root"])
    if line["pid"] != found["contributor"] or not verify_inclusion(leaf, place, proof["lines"], path, root):
        raise IntegrityError("the line of this statement is not in its manifest")
    rows = {"given": line["rows"], "kept": line["kept"], "counted": line["counted"]}
    facts = (rows, line.get("judged"), line.get("verdicts"), head["rules"]["weight"], head["rate"])
    names = ("rows", "judged", "verdicts", "weight", "rate")
    # Statements of before these were in them say nothing of them.
    said = [found.get(name, fact) for name, fact in zip(names, facts, strict=True)]
    if said != list(facts):
        raise IntegrityError("the statement says other things of the labels than its manifest")


def _entry(part: dict[str, Any], seen: checkpoint.Checkpoint) -> Event:
    leaf, path = leaf_hash(part["entry"].encode()), [base64.b64decode(node) for node in part["path"]]
    found = decode(part["entry"].encode(), leaf)
    inside = verify_inclusion(leaf, part["index"], seen.size, path, seen.root)
    if not inside or found.seq != part["index"] + 1:
        raise IntegrityError("an entry of this statement is not in the log that the checkpoint saw")
    return found


def _check_acts(found: dict[str, Any], entries: list[Event], created: Event, staff: "_Staff") -> None:
    """Two members of staff signed the draft and its approval of this very settlement."""
    made = {e.kind: e for e in entries if e.subject == found["settlement"]}
    drafted, approved = made[kinds.DRAFTED], made[kinds.APPROVED]
    staff.check(drafted)
    staff.check(approved)
    alone = created.body["single_person"]
    if (drafted.by == approved.by and not alone) or found["single_person"] != alone:
        raise IntegrityError("one person drafted and approved this settlement")
    said = (found["drafted_by"], found["approved_by"], found["posted"])
    if said != (drafted.by, approved.by, approved.at):
        raise IntegrityError(
            "the statement names others than those who drafted and approved it, or another day"
        )
    if found.get("because", "") != approved.body.get("because", ""):
        raise IntegrityError("the statement gives another reason than whoever approved it did")
    digest = sha256(found["proof"]["head"].encode())
    if {drafted.body["head"], approved.body["head"]} != {digest}:
        raise IntegrityError("the manifest of this statement is not the one that was approved")


# Who signs for entries that have no signature of their own.
_SIGNS_FOR = {kinds.RELEASED: kinds.RELEASED_ALL, kinds.REVERSED: kinds.APPROVED}


def _check_change(e: Event, cover: tuple[Event, list[str]] | None, staff: "_Staff", *, alone: bool) -> None:
    """What changed an amount was signed: by two where it takes two, or with others by who signed for all."""
    if e.by:
        staff.check(e)
        if e.kind == kinds.REVERSED:
            first = cover[0] if cover else e
            said = (first.seq, first.kind, first.subject, first.settlement)
            if said != (e.body["proposal"], kinds.PROPOSED, e.subject, e.settlement) or (
                first.body["body"]["amount"] != e.body["amount"] or (first.by == e.by and not alone)
            ):
                raise IntegrityError(f"entry {e.seq}, {e.kind}, was not proposed by somebody else")
            staff.check(first)
        return
    if cover is None or e.kind not in _SIGNS_FOR or cover[0].kind != _SIGNS_FOR[e.kind]:
        raise IntegrityError(f"nobody signed for entry {e.seq}, {e.kind}")
    signed, path = cover[0], [base64.b64decode(node) for node in cover[1]]
    staff.check(signed)
    # Of ledgers of before signatures named what they cover, whoever issued the statement stands for that.
    inside = e.seq < signed.seq and (
        (not signed.first and not staff.strict)
        or verify_inclusion(e.hash, e.seq - signed.first, signed.seq - signed.first, path,
                            bytes.fromhex(signed.root))
    )  # fmt: skip
    if not inside or (e.kind == kinds.RELEASED and signed.settlement != e.settlement):
        raise IntegrityError(f"{signed.by!r} did not sign for entry {e.seq}, {e.kind}")


class _Staff:
    """Keys and roles of staff, each signed for by those who were there before: two from the third on."""

    def __init__(self, entries: list[Event], created: Event, public: bytes) -> None:
        body = created.body
        self.roles = {body["founder"]: set(kinds.ROLES)}
        self._keys = {body["founder"]: [(0, body["founder_key"])]}
        self._asked = {e.seq: e for e in entries if e.kind == kinds.PROPOSED}
        self._recovery = body.get("recovery", "")
        self._created, self.strict = created, bool(created.first)
        self.check(created)
        if created.seq != 1 or created.by != body["founder"] or keys.parse_public(body["public"]) != public:
            raise IntegrityError("the first entry is not that of this ledger")
        added = (e for e in entries if e.kind in (kinds.STAFF_ADDED, kinds.STAFF_RENEWED))
        for e in sorted(added, key=lambda e: e.seq):
            self._follow(e)

    def key(self, name: str, seq: int) -> str:
        """Somebody's key at a place of the log."""
        known = [key for since, key in self._keys.get(name, []) if since < seq]
        return known[-1] if known else ""

    def check(self, e: Event) -> None:
        """An error unless an entry is signed by whom it names, in a role that may."""
        known, roles = self.key(e.by, e.seq), kinds.KINDS[e.kind].roles or ()
        if e.kind == kinds.PROPOSED:
            roles = kinds.TWO_PEOPLE[e.body["step"]]
        fits = self.roles.get(e.by, set()).intersection(roles)
        if not fits or not keys.verify(keys.parse_public(known), base64.b64decode(e.sig), signed_bytes(e)):
            raise IntegrityError(
                f"entry {e.seq}, {e.kind}, is not signed by {e.by or 'anybody'!r} of the staff"
            )

    def _follow(self, e: Event) -> None:
        self.check(e)
        body, name, number, key = self._created.body, e.subject, e.body["proposal"], e.body["public"]
        renewed = e.kind == kinds.STAFF_RENEWED
        if number:
            first = self._asked[number]
            self.check(first)
            said = (first.subject, first.body["step"], first.body["body"]["public"])
            two = said == (name, e.kind, key) and (first.by != e.by or body["single_person"])
        elif renewed:
            message = recovery_bytes(body["origin"], name, key, e.prev)
            signed = base64.b64decode(e.body["recovery"])
            two = bool(self._recovery) and keys.verify(keys.parse_public(self._recovery), signed, message)
        else:
            two = len(self._keys) == 1 and e.by == body["founder"]
        taken = {known for each in self._keys.values() for _, known in each}
        if not two or (name in self._keys) != renewed or key in taken:
            raise IntegrityError(f"{name!r} was not brought in, or given this key, by two people")
        self._keys.setdefault(name, []).append((e.seq, key))
        if not renewed:
            self.roles[name] = set(e.body["roles"])
