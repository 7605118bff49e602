#!/usr/bin/env python3
"""Check a statement of earnings without the program that made it and without its database.

    python verify.py [FOLDER] [--public-key KEY]

FOLDER (this file's own without it) holds statement.json, manifest-part.json, checkpoint.txt and log.pub.
Needs Python 3.9 or newer and the package cryptography; nothing is sent anywhere. It prints one line, which
begins with YES or NO, and exits with 0 or 1.

It checks that the ledger's key signed the statement and the checkpoint; that every entry behind the
statement is in the log that the checkpoint stands for; that two people with two keys of their own signed the
draft and its approval, and every correction, and that others of the staff, back to the founder, signed for
these keys; that your line is in the manifest that they signed; and that share and amount follow from it. Get
the public key from somewhere else than this folder, and compare checkpoints with others: only then does YES
hold also against whoever sent the folder. Entries that were left out cannot be seen from here.
"""

import base64
import hashlib
import json
import sys
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

STATEMENT = "application/vnd.anml.statement+json"
LARGEST_FILE = 64 * 2**20
PRIME = 2**255 - 19
# Second coordinates of the points of small order, for which anybody could sign.
SMALL = {
    0,
    1,
    PRIME - 1,
    int.from_bytes(
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
    ),
    int.from_bytes(
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
    ),
}


# What reading something that somebody made up may end in.
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class No(Exception):
    """Why the answer is no."""


def need(condition, why):
    if not condition:
        raise No(why)


def unbase(text):
    return base64.b64decode(text, validate=True)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_key(text):
    raw = unbase(text.strip().partition("ed25519:")[2])
    number = int.from_bytes(raw, "little") % 2**255
    need(len(raw) == 32 and number < PRIME and number not in SMALL, "a public key is not sound")
    return raw


def read_file(path):
    """What a file of the bundle holds; what is no file, or far too large, is not read."""
    need(path.is_file(), "%s is not there" % path.name)
    need(path.stat().st_size <= LARGEST_FILE, "%s is too large" % path.name)
    return path.read_bytes()


def signed(public, signature, message):
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def leaf(data):
    return hashlib.sha256(b"\x00" + data).digest()


def root_from(node, index, size, path):
    """The root that a path leads to (RFC 6962); an error where the path does not fit the place."""
    need(0 <= index < size, "a proof names a place outside its tree")
    last, rest = size - 1, list(path)
    while last:
        if index % 2 or index < last:
            need(rest, "a proof is too short")
            other = rest.pop(0)
            pair = other + node if index % 2 else node + other
            node = hashlib.sha256(b"\x01" + pair).digest()
        index, last = index // 2, last // 2
    need(not rest, "a proof is too long")
    return node


def open_envelope(data, public):
    """The statement, once the ledger's key is known to have signed it."""
    outer = json.loads(data)
    payload, kind = unbase(outer["payload"]), outer["payloadType"].encode()
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    need(outer["payloadType"] == STATEMENT, "this is no statement")
    fits = any(signed(public, unbase(item["sig"]), message) for item in outer["signatures"])
    need(fits, "the statement is not signed by this ledger's key")
    return json.loads(payload)


def read_checkpoint(note, public):
    """Origin, size and root of a signed checkpoint."""
    text, _, lines = note.partition("\n\n")
    text += "\n"
    for line in lines.splitlines():
        if line.startswith("\u2014 ") and signed(public, unbase(line.split(" ")[-1])[4:], text.encode()):
            origin, size, root = text.splitlines()[:3]
            return origin, int(size), unbase(root)
    raise No("the checkpoint is not signed by this ledger's key")


def check_entries(statement, checkpoint):
    """The entries behind a statement, each shown to be in the log."""
    origin, size, root = checkpoint
    need(origin == statement["ledger"], "the checkpoint is of another ledger")
    found = []
    for part in statement["proof"]["entries"]:
        data, path = part["entry"].encode(), [unbase(node) for node in part["path"]]
        need(root_from(leaf(data), part["index"], size, path) == root, "an entry is not in the log")
        entry = json.loads(data)
        need(entry["seq"] == part["index"] + 1, "an entry is not at its place")
        found.append(entry)
    return found


def check_signed(entry, staff):
    """An entry is signed by the member of staff that it names."""
    by = entry.get("by", "")
    need(by in staff, "nobody of the staff signed a %s" % entry["kind"])
    message = b"anml-entry/1\n" + canonical({k: v for k, v in entry.items() if k != "sig"})
    need(signed(read_key(staff[by]), unbase(entry["sig"]), message), "%s did not sign" % by)


def check_staff(entries, created, public):
    """Keys of staff by name, each signed for by those who were there before: by two from the third on."""
    body = created["body"]
    need(created["seq"] == 1 and created["kind"] == "ledger.created", "the first entry is not there")
    need(read_key(body["public"]) == public, "the log is of another key")
    staff = {body["founder"]: body["founder_key"]}
    check_signed(created, staff)
    need(created["by"] == body["founder"], "the founder did not sign the first entry")
    proposals = {e["seq"]: e for e in entries if e["kind"] == "proposal.made"}
    added = sorted((e for e in entries if e["kind"] == "staff.added"), key=lambda e: e["seq"])
    for number, entry in enumerate(added):
        name, key = entry["subject"], entry["body"]["public"]
        check_signed(entry, staff)
        if entry["body"]["proposal"]:
            asked = proposals[entry["body"]["proposal"]]
            check_signed(asked, staff)
            said = (asked["subject"], asked["body"]["step"], asked["body"]["body"]["public"])
            need(said == (name, "staff.added", key), "%s was not proposed" % name)
            need(body["single_person"] or asked["by"] != entry["by"], "one person brought %s in" % name)
        else:
            need(number == 0 and entry["by"] == body["founder"], "one person brought %s in" % name)
        need(name not in staff and key not in staff.values(), "one person has two names")
        staff[name] = key
    return staff


def check_acts(entries, statement, public):
    """Two keys of two people signed the draft and its approval; returns the hash of the manifest's head."""
    one = {entry["kind"]: entry for entry in entries}
    created, draft, approval = (
        one[k] for k in ("ledger.created", "settlement.drafted", "settlement.approved")
    )
    staff = check_staff(entries, created, public)
    for entry in (draft, approval):
        need(entry["subject"] == statement["settlement"], "an entry is of another settlement")
        check_signed(entry, staff)
    for entry in entries:
        replaced = entry["kind"] == "credit.reversed" and statement["state"] == "reversed"
        if entry["kind"] in ("dispute.resolved", "credit.reversed") and not (replaced and "by" not in entry):
            check_signed(entry, staff)
    alone = created["body"]["single_person"]
    need(statement["single_person"] == alone, "the statement hides that one person keeps the ledger")
    need(alone or draft["by"] != approval["by"], "one person drafted and approved")
    need(draft["body"]["head"] == approval["body"]["head"], "another manifest was approved than drafted")
    return approval["body"]["head"], draft["by"], approval["by"]


def check_sums(entries, statement):
    """What the contributor's own entries come to; returns the credit."""
    own = [
        e
        for e in entries
        if e["kind"] in ("credit.held", "credit.released", "credit.reversed", "dispute.resolved")
    ]
    place = (statement["contributor"], statement["settlement"])
    need(all((e["subject"], e["settlement"]) == place for e in own), "an entry is of somebody else")
    need(len({e["seq"] for e in own}) == len(own), "an entry is counted twice")
    credits = [e for e in own if e["kind"] == "credit.held"]
    need(len(credits) == 1, "there is not one credit")

    def total(kinds, account):
        return sum(
            amount
            for e in own
            if e["kind"] in kinds
            for name, _, amount in e["postings"]
            if name.startswith(account + ":")
        )

    every = {e["kind"] for e in own}
    sums = {
        "gross": total({"credit.held"}, "held"),
        "held": total(every, "held"),
        "released": total({"credit.released"}, "payable"),
        "returned": total({"credit.released"}, "source"),
        "reversed": total({"credit.reversed"}, "source"),
        "corrected": total({"dispute.resolved"}, "held"),
    }
    for name, amount in sums.items():
        need(statement["amounts"][name] == amount, "%s is %d, not as stated" % (name, amount))
    return credits[0]


def check_line(part, statement, digest):
    """The contributor's line is in the manifest whose head was signed; returns head and line."""
    head, line = part["head"], part["line"]
    need(hashlib.sha256(head.encode()).hexdigest() == digest, "the manifest is not the one that was approved")
    proof = statement["proof"]
    need((head, line) == (proof["head"], proof["line"]), "the manifest part is not the statement's")
    rules, path = json.loads(head), [unbase(node) for node in part["line_path"]]
    root = root_from(leaf(line.encode()), part["place"], part["lines"], path)
    need(root.hex() == rules["lines_root"], "the line is not in the manifest")
    own = json.loads(line)
    need(own["pid"] == statement["contributor"], "the line is of somebody else")
    return rules, own


def recomputed_share(head, line):
    """The share that follows from a line; None where bounds of shares make it depend on all others."""
    unit, rules = head["unit"], head["rules"]
    power = Decimal(rules["volume"]) - 1
    factor, context = unit, Context(prec=60)
    if power != 0 and line["counted"] > 1:
        factor = int(context.multiply(context.power(Decimal(line["counted"]), power), Decimal(unit)))
    weight = line["units"] * line["multiplier"] * factor
    new, old = int(head["totals"]["newcomers"]), int(head["totals"]["others"])
    cap = Fraction(rules["newcomer_cap"], unit)
    if weight == 0:
        return Fraction(0)
    share = Fraction(weight, new + old)
    if old and Fraction(new, new + old) > cap:
        share = cap * Fraction(weight, new) if line["newcomer"] else (1 - cap) * Fraction(weight, old)
    bounded = rules["min_share"] > 0 or rules["max_share"] < unit
    return None if bounded else share


def check_share(head, line, credit, statement):
    """Share and amount follow from the line; a remainder gives at most one micro-unit more."""
    gross, unit = statement["amounts"]["gross"], head["unit"]
    need(credit["body"]["share"] == statement["share"], "the share is not that of the credit")
    need((head["currency"], head["pool"]) == (statement["currency"], statement["pool"]), "the pool differs")
    if head["rate"]:
        need(gross == head["rate"] * line["counted"], "the amount is not the rate times the labels")
        return "%d labels at the rate of the manifest" % line["counted"]
    share = recomputed_share(head, line)
    if share is None:
        need(
            gross
            in (head["pool"] * statement["share"] // unit, head["pool"] * statement["share"] // unit + 1),
            "the amount does not follow from the share",
        )
        return "share as approved: this settlement bounds shares, so it depends on everybody's"
    need(statement["share"] == share.numerator * unit // share.denominator, "the share does not follow")
    exact = head["pool"] * share
    need(gross in (int(exact), int(exact) + 1), "the amount does not follow from the share")
    return "share %.4f%% recomputed" % (float(share) * 100)


def main(arguments):
    try:
        known = None
        if "--public-key" in arguments:
            place = arguments.index("--public-key")
            known = arguments[place + 1]
            arguments = arguments[:place] + arguments[place + 2 :]
        folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
        if known is None or not known.startswith("ed25519:"):
            known = read_file(Path(known) if known else folder / "log.pub").decode()
        public = read_key(known)
        statement = open_envelope(read_file(folder / "statement.json"), public)
        note = read_file(folder / "checkpoint.txt").decode()
        need(note == statement["proof"]["checkpoint"], "the checkpoint is not the statement's")
        entries = check_entries(statement, read_checkpoint(note, public))
        digest, drafter, approver = check_acts(entries, statement, public)
        credit = check_sums(entries, statement)
        part = json.loads(read_file(folder / "manifest-part.json"))
        why = check_share(*check_line(part, statement, digest), credit, statement)
    except No as no:
        print("NO: %s" % no)
        return 1
    except UNREADABLE as error:
        print("NO: the bundle is not whole (%s)" % " ".join(str(error).split()))
        return 1
    sums = statement["amounts"]
    due = sums["gross"] + sums["corrected"] - sums["returned"] - sums["reversed"]
    who = (
        "one person, who keeps this ledger alone"
        if statement["single_person"]
        else "%s and %s" % (drafter, approver)
    )
    print(
        "YES: %s earned %s %s in %s (%s), signed by %s, in a log of %s entries"
        % (
            statement["contributor"],
            Decimal(due) / 10**6,
            statement["currency"],
            statement["settlement"],
            why,
            who,
            read_checkpoint(note, public)[1],
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
