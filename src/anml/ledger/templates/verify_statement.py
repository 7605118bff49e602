#!/usr/bin/env python3
"""Check a statement of earnings without the program that made it and without its database.

    python verify.py [FOLDER] --public-key KEY [--witness KEY]
    python verify.py --compare ONE OTHER [--proof FILE] --public-key KEY
    python verify.py [FOLDER] --appeal FILE --reason REASON --text TEXT --sign OWN.pem --public-key KEY

FOLDER (this file's own without it) holds statement.json, statement.html, manifest-part.json, checkpoint.txt
and log.pub; the page must be the one that follows from the signed statement.
Needs Python 3.9 and the package cryptography; nothing is sent anywhere. KEY is the ledger's public key, a
file with it, or 16 letters or more of its fingerprint, from elsewhere: a website, a contract. It prints YES
or NO and why, and exits with 0 or 1; without KEY it cannot tell whose key it is, and exits with 2 at best.
Take this program from elsewhere as well.

--witness requires a cosignature of that witness on the checkpoint: no log that was made again has one.
--compare says whether two checkpoints that somebody kept are of one log, which only grew. --appeal writes an
appeal against the statement, signed with a key of your own that they know; send them the file, keep a copy.

It checks that the ledger's key and a member of staff signed the statement; that every entry behind it is in
the log; that two people signed the draft and its approval, those who may every release and reversal, and
others of the staff, back to the founder, for their keys; that your line is in the manifest that they signed;
that share and amount follow from it; and that somebody decided where that is less than your rows alone would
be paid. Entries that were left out cannot be seen from here: compare checkpoints with others.
"""

import base64
import hashlib
import html
import json
import secrets
import sys
from datetime import datetime, timezone
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

STATEMENT = "application/vnd.anml.statement+json"
FORMAT = "anml-statement/4"
LARGEST_FILE = 64 * 2**20
PRIME = 2**255 - 19
ROLES = {"drafter", "approver", "payer", "reviewer", "admin"}
# Which roles may sign an entry, or propose it.
MAY = {
    "ledger.created": ROLES,
    "staff.added": {"admin"},
    "staff.renewed": {"admin"},
    "settlement.drafted": {"drafter"},
    "settlement.approved": {"approver"},
    "settlement.released": {"approver", "payer"},
    "credit.reversed": {"approver"},
    "dispute.resolved": {"approver"},
}
# What a contributor's own entries change: which sum, by the kind of account that they move money on.
CHANGES = {
    "credit.held": {"held": "gross"},
    "credit.released": {"payable": "released", "source": "returned"},
    "credit.reversed": {"source": "reversed"},
    "dispute.resolved": {"held": "corrected"},
}
# Second coordinates of the points of small order, for which anybody could sign.
EIGHTH = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL = {0, 1, PRIME - 1, EIGHTH, PRIME - EIGHTH}
# What reading something that somebody made up may end in.
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError,
              UnsupportedAlgorithm)  # fmt: skip


class No(Exception):
    """Reason of a failed verification."""


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
    """Read a file of the bundle; only regular files of limited size are read."""
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


def open_envelope(data, public, whose="this ledger's key"):
    """The statement, once this key is known to have signed it."""
    outer = json.loads(data)
    payload, kind = unbase(outer["payload"]), outer["payloadType"].encode()
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    need(outer["payloadType"] == STATEMENT, "this is no statement")
    fits = any(signed(public, unbase(item["sig"]), message) for item in outer["signatures"])
    need(fits, "the statement is not signed by %s" % whose)
    return json.loads(payload)


def read_checkpoint(note, public):
    """Origin, size and root of a signed checkpoint."""
    # What was signed ends at the last empty line before signatures, whatever stands before it.
    text, _, lines = note.rpartition("\n\n\u2014 ")
    text += "\n"

    def fits(line):
        name, _, encoded = line[2:].rpartition(" ")
        mark = hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]
        try:
            raw = unbase(encoded)
        except ValueError:
            return False
        return line[:2] == "\u2014 " and raw[:4] == mark and signed(public, raw[4:], text.encode())

    found = any(map(fits, ("\u2014 " + lines).splitlines()))
    need(found, "the checkpoint is not signed by this ledger's key")
    origin, size, root = text.split("\n")[:3]
    need(size == str(int(size)), "the checkpoint spells its size in another way")
    return origin, int(size), unbase(root)


def cosigned(note, witness):
    """The time of a witness's cosignature on a checkpoint (C2SP tlog-cosignature, Ed25519), in seconds."""
    name, _, rest = witness.strip().partition("+")
    mark, _, encoded = rest.partition("+")
    raw = unbase(encoded)
    need(name and len(raw) == 33 and raw[:1] == b"\x04", "the witness's key is none of an Ed25519 cosigner")
    number = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
    need(number.hex() == mark.lower(), "the witness's key has another hash than it says")
    public = read_key("ed25519:" + base64.b64encode(raw[1:]).decode())
    text, _, lines = note.rpartition("\n\n\u2014 ")
    for line in ("\u2014 " + lines).splitlines():
        signer, _, data = line[2:].rpartition(" ")
        if signer != name or unbase(data)[:4] != number:
            continue
        when = int.from_bytes(unbase(data)[4:12], "big")
        message = "cosignature/v1\ntime %d\n%s\n" % (when, text)
        if len(unbase(data)) == 76 and signed(public, unbase(data)[12:], message.encode()):
            return when
    raise No("the checkpoint has no valid cosignature of the witness %s" % name)


def check_entries(statement, checkpoint):
    """The entries behind a statement, each shown to be in the log."""
    origin, size, root = checkpoint
    need(origin == statement["ledger"], "the checkpoint is of another ledger")

    def shown(part):
        data, path = part["entry"].encode(), [unbase(node) for node in part["path"]]
        need(root_from(leaf(data), part["index"], size, path) == root, "an entry is not in the log")
        entry = json.loads(data)
        need(entry["seq"] == part["index"] + 1, "an entry is not at its place")
        need(canonical(entry) == data, "an entry is not in canonical form")
        return entry

    proof = statement["proof"]
    covers = {
        int(seq): (shown(part), list(map(unbase, part["cover"]))) for seq, part in proof["covers"].items()
    }
    return [shown(part) for part in proof["entries"]], covers


def key_of(staff, name, seq):
    """Somebody's key at a place of the log: keys can be renewed."""
    known = [key for since, key in staff.get(name, {"keys": []})["keys"] if since < seq]
    need(known, "%s is nobody of the staff" % (name or "nobody"))
    return known[-1]


def check_signed(entry, staff):
    """An entry is signed by the member of staff that it names, in a role that may."""
    by, kind = entry.get("by", ""), entry["kind"]
    need(by in staff, "nobody of the staff signed a %s" % kind)
    allowed = MAY[entry["body"]["step"] if kind == "proposal.made" else kind]
    need(allowed & staff[by]["roles"], "%s may not sign a %s" % (by, kind))
    message = b"anml-entry/1\n" + canonical({k: v for k, v in entry.items() if k != "sig"})
    public = read_key(key_of(staff, by, entry["seq"]))
    need(signed(public, unbase(entry["sig"]), message), "%s did not sign" % by)


def check_staff(entries, created, public):
    """Keys of staff by name, each signed for by those who were there before: by two from the third on."""
    body = created["body"]
    need(created["seq"] == 1 and created["kind"] == "ledger.created", "the first entry is not there")
    need(read_key(body["public"]) == public, "the log is of another key")
    staff = {body["founder"]: {"keys": [(0, body["founder_key"])], "roles": ROLES}}
    check_signed(created, staff)
    need(created["by"] == body["founder"], "the founder did not sign the first entry")
    proposals = {e["seq"]: e for e in entries if e["kind"] == "proposal.made"}
    added = (e for e in entries if e["kind"] in ("staff.added", "staff.renewed"))
    for entry in sorted(added, key=lambda e: e["seq"]):
        name, key, renewed = entry["subject"], entry["body"]["public"], entry["kind"] == "staff.renewed"
        check_signed(entry, staff)
        if entry["body"]["proposal"]:
            asked = proposals[entry["body"]["proposal"]]
            check_signed(asked, staff)
            said = (asked["subject"], asked["body"]["step"], asked["body"]["body"]["public"])
            need(said == (name, entry["kind"], key), "%s was not proposed" % name)
            need(body["single_person"] or asked["by"] != entry["by"], "one person brought %s in" % name)
        elif renewed:
            about = {"ledger": body["origin"], "name": name, "public": key, "prev": entry["prev"]}
            fits = signed(read_key(body["recovery"]), unbase(entry["body"]["recovery"]),
                          b"anml-recovery/1\n" + canonical(about))  # fmt: skip
            need(fits, "the recovery key did not renew the key of %s" % name)
        else:
            need(len(staff) == 1 and entry["by"] == body["founder"], "one person brought %s in" % name)
        taken = {known for one in staff.values() for _, known in one["keys"]}
        need((name in staff) == renewed and key not in taken, "one person has two names")
        if not renewed:
            staff[name] = {"keys": [], "roles": set(entry["body"]["roles"])}
        staff[name]["keys"].append((entry["seq"], key))
    return staff


def check_change(entry, cover, staff, created):
    """Check the signatures of a change of an amount: by two people if required, or by a covering entry."""
    kind, strict = entry["kind"], created.get("first")
    if entry.get("by"):
        check_signed(entry, staff)
        if kind == "credit.reversed":
            need(cover, "nobody else proposed a reversal")
            asked = cover[0]
            said = (asked["seq"], asked["kind"], asked["subject"], asked["settlement"])
            wanted = (entry["body"]["proposal"], "proposal.made", entry["subject"], entry["settlement"])
            need(said == wanted, "a reversal is not the one that was proposed")
            need(asked["body"]["body"]["amount"] == entry["body"]["amount"], "another amount was proposed")
            need(asked["by"] != entry["by"] or created["body"]["single_person"], "one person took money back")
            check_signed(asked, staff)
        return
    wanted = {"credit.released": "settlement.released", "credit.reversed": "settlement.approved"}.get(kind)
    need(cover and cover[0]["kind"] == wanted, "nobody signed for a %s" % kind)
    signs, path = cover
    check_signed(signs, staff)
    need(entry["seq"] < signs["seq"], "nobody signed for a %s" % kind)
    need(kind != "credit.released" or signs["settlement"] == entry["settlement"], "another one was released")
    if strict or signs.get("first"):
        first = signs["first"]
        root = root_from(leaf(canonical(entry)), entry["seq"] - first, signs["seq"] - first, path)
        need(root.hex() == signs.get("root"), "%s did not sign for entry %d" % (signs["by"], entry["seq"]))


def check_acts(entries, covers, statement, public, size):
    """Two keys of two people signed the draft and its approval, and the right ones every change.

    Returns the hash of the manifest's head, who drafted, who approved, and the key of who issued it.
    """
    (created,) = (entry for entry in entries if entry["kind"] == "ledger.created")
    one = {entry["kind"]: entry for entry in entries if entry["subject"] == statement["settlement"]}
    draft, approval = one["settlement.drafted"], one["settlement.approved"]
    staff = check_staff(entries, created, public)
    for entry in (draft, approval):
        check_signed(entry, staff)
    wanted = {"drafted_by": draft["by"], "approved_by": approval["by"], "posted": approval["at"],
              "project": draft["body"]["project"], "manifest": draft["body"]["manifest"],
              "appeal_to": created["body"]["appeals"]}  # fmt: skip
    if replaced := one.get("settlement.reversed"):
        wanted.update(replaced_by=replaced["body"]["superseded_by"], replaced_at=replaced["at"])
    wanted["state"] = "reversed" if replaced else "posted"
    for name, value in wanted.items():
        need(statement[name] == value, "it names others, or another day: %s is not what was signed" % name)
    for entry in entries:
        if entry["kind"] in CHANGES and entry["kind"] != "credit.held":
            check_change(entry, covers.get(entry["seq"]), staff, created)
    issuer = statement["issued_by"]
    key = key_of(staff, issuer["name"], size + 1)
    need(key == issuer["key"], "%s, who issued it, has another key" % issuer["name"])
    alone = created["body"]["single_person"]
    need(statement["single_person"] == alone, "the statement hides that one person keeps the ledger")
    need(alone or draft["by"] != approval["by"], "one person drafted and approved")
    need(draft["body"]["head"] == approval["body"]["head"], "another manifest was approved than drafted")
    return approval["body"]["head"], draft["by"], approval["by"], read_key(key)


def check_sums(entries, statement):
    """Check the sums of the contributor's entries against the statement; return the credit."""
    own = [e for e in entries if e["kind"] in CHANGES]
    place = (statement["contributor"], statement["settlement"])
    need(all((e["subject"], e["settlement"]) == place for e in own), "an entry is of somebody else")
    need(len({e["seq"] for e in own}) == len(own), "an entry is counted twice")
    credits = [e for e in own if e["kind"] == "credit.held"]
    need(len(credits) == 1, "there is not one credit")
    for name, amount in sums_of((e["kind"], e["postings"]) for e in own).items():
        need(statement["amounts"][name] == amount, "%s is other than its entries: %d" % (name, amount))
    return credits[0]


def sums_of(own):
    """Sum a contributor's entries in one settlement, by kind and posting."""
    sums = dict.fromkeys(("gross", "held", "released", "returned", "reversed", "corrected"), 0)
    for kind, postings in own:
        for account, _, amount in postings:
            sums["held"] += amount if account.startswith("held:") else 0
            name = CHANGES[kind].get(account.partition(":")[0])
            if name:
                sums[name] += amount
    return sums


def check_line(statement, digest):
    """The contributor's line is in the manifest whose head was signed; returns head and line."""
    proof = statement["proof"]
    head, line = proof["head"], proof["line"]
    need(hashlib.sha256(head.encode()).hexdigest() == digest, "the manifest is not the one that was approved")
    rules, path = json.loads(head), [unbase(node) for node in proof["line_path"]]
    root = root_from(leaf(line.encode()), proof["place"], proof["lines"], path)
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
        least = head["pool"] * statement["share"] // unit
        need(gross in (least, least + 1), "the amount does not follow from the share")
        return "share on the word of who issued it: bounds make it depend on everybody's"
    need(statement["share"] == share.numerator * unit // share.denominator, "the share does not follow")
    exact = head["pool"] * share
    need(gross in (int(exact), int(exact) + 1), "the amount does not follow from the share")
    return "share %.4f%% recomputed" % (float(share) * 100)


def check_decided(head, line, entries, statement):
    """Check the reported facts against the approved manifest, and that a reduced amount was decided."""
    rows = {"given": line["rows"], "kept": line["kept"], "counted": line["counted"]}
    found = {name: line[name] for name in ("verdicts", "judged", "bands") if name in line}
    found.update(rows=rows, weight=head["rules"]["weight"], rate=head["rate"])
    names = ("rows", "verdicts", "judged", "bands", "weight", "rate")
    said = {name: statement[name] for name in names if name in statement}
    need(said == found, "it says other things of your labels than the manifest")
    need(statement.get("usage") == head.get("usage"), "it names another use than the manifest")
    one = {e["kind"]: e["body"] for e in entries if e["subject"] == statement["settlement"]}
    (created,) = (e["body"] for e in entries if e["kind"] == "ledger.created")
    approved = one["settlement.approved"]
    by_rows = head["rate"] * line["rows"] or head["pool"] * line["rows"] // head["run"]["rows"]
    lower = statement["amounts"]["gross"] < by_rows
    decided = approved.get("below") or not created.get("decisions")
    need(decided or not lower, "nobody decided that you get less")
    need(statement["because"] == approved.get("because", ""), "another reason was given than is stated")


def write_appeal(folder, public, reason, text, own, out):
    """An appeal against a statement that holds, signed by the contributor."""
    statement, _ = check_bundle(folder, public)
    key = load_pem_private_key(read_file(Path(own)), None)
    need(isinstance(key, Ed25519PrivateKey), "%s is not an Ed25519 key" % own)
    salt = secrets.token_hex(16)
    place = {name: statement[name] for name in ("ledger", "settlement", "contributor")}
    paper = hashlib.sha256(canonical({"text": text, "salt": salt})).hexdigest()
    signature = key.sign(b"anml-appeal/1\n" + canonical({**place, "reason": reason, "paper": paper}))
    shown = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    made = {**place, "reason": reason, "text": text, "salt": salt,
            "public": "ed25519:" + base64.b64encode(shown).decode(),
            "signature": base64.b64encode(signature).decode()}  # fmt: skip
    with Path(out).open("x", encoding="utf-8") as file:
        json.dump(made, file, indent=1, ensure_ascii=False)
    return "%s is your signed appeal (%s); %s" % (out, reason, statement["appeal"])


def check_statement(statement, data, public):
    """A statement and the envelope that it came in; returns what it comes to, in words."""
    need(statement.get("format") == FORMAT, "the statement is of another format than %s" % FORMAT)
    checkpoint = read_checkpoint(statement["proof"]["checkpoint"], public)
    entries, covers = check_entries(statement, checkpoint)
    digest, drafter, approver, issuer = check_acts(entries, covers, statement, public, checkpoint[1])
    open_envelope(data, issuer, "who issued it")
    credit = check_sums(entries, statement)
    head, line = check_line(statement, digest)
    why = check_share(head, line, credit, statement)
    check_decided(head, line, entries, statement)
    sums = statement["amounts"]
    due = sums["gross"] + sums["corrected"] - sums["returned"] - sums["reversed"]
    alone = "one person, who keeps this ledger alone"
    who = alone if statement["single_person"] else "%s and %s" % (drafter, approver)
    said = (statement["contributor"], Decimal(due) / 10**6, statement["currency"], statement["settlement"])
    first = "%s earned %s %s in %s (%s), signed by %s, " % (*said, why, who)
    last = "in a log of %s entries; posted %s, stated %s, issued by %s, on whose word alone rest the name, "
    last += "what was paid, appeals with their dates, all reasons and the date of issue"
    if statement["state"] == "reversed":
        last += "; REPLACED by %s on %s, so this amount no longer counts" % (
            statement["replaced_by"], statement["replaced_at"][:10])  # fmt: skip
    days = (statement["posted"][:10], statement["issued_at"][:10])
    return first + last % (checkpoint[1], *days, statement["issued_by"]["name"])


# What a statement is made of, in words; the first four are shown also where they are nothing.
TITLES = {
    "gross": "Earned in this settlement",
    "held": "Held",
    "released": "Released",
    "paid": "Paid (all settlements)",
    "returned": "Back to the pool",
    "reversed": "Reversed",
    "corrected": "Corrected after a dispute",
    "payable": "Payable (all settlements)",
    "in_transit": "On its way to the bank (all settlements)",
}
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}th,td{text-align:left;padding:.3rem;"
    "border-bottom:1px solid #d0d7de;vertical-align:top}pre{font:13px/1.4 ui-monospace,monospace;"
    "overflow-wrap:anywhere;white-space:pre-wrap}"
)


def amount_text(micro):
    whole, part = divmod(abs(micro), 10**6)
    return "%s%d.%s" % ("-" if micro < 0 else "", whole, ("%06d" % part).rstrip("0").ljust(2, "0"))


def dispute_text(one, statement):
    """A dispute in one line."""
    mine = one["opened_by"] == statement["contributor"]
    text = "%s: opened by %s" % (one["opened"][:10], "you" if mine else one["opened_by"])
    text += ", written down by %s" % one["written_by"] if mine and one["written_by"] else ""
    text += ", reason: %s. %s" % (one["reason"], one["text"])
    if one["answered"]:
        text += " %s: %s by %s, reason: %s" % (
            one["answered"][:10], one["outcome"], one["answered_by"], one["answer"])  # fmt: skip
        moved = "%s %s" % (amount_text(one["correction"]), statement["currency"])
        text += ", correction %s" % moved if one["correction"] else ""
        text += ". %s" % one["answer_text"]
    if one["resolved"]:
        text += " %s: posted by %s." % (one["resolved"][:10], one["resolved_by"])
    return text + " State: %s." % one["state"]


def page(statement):
    """The statement as a page for a browser: nothing but what was signed, and everything escaped."""

    def shown(value):
        return html.escape("".join(letter if letter.isprintable() else " " for letter in str(value)))

    def table(rows):
        cells = ('<tr><th scope="row">%s</th><td>%s</td></tr>' % tuple(map(shown, row)) for row in rows)
        return "<table>\n%s\n</table>" % "\n".join(cells)

    def listed(items):
        return "<ul>\n%s\n</ul>" % "\n".join("<li>%s</li>" % shown(item) for item in items)

    s, proof = statement, statement["proof"]
    rows, state = s["rows"], " (replaced)" if s["state"] == "reversed" else ""
    facts = [("Project", s["project"])] if s["project"] else []
    facts += [
        ("Pool", "%s %s" % (amount_text(s["pool"]), s["currency"])),
        ("Posted", "%s%s, drafted by %s, approved by %s" % (
            s["posted"][:10], state, s["drafted_by"], s["approved_by"])),
        ("Use", "%(model)s, %(from)s to %(to)s, %(queries)s queries, %(check)s" % s["usage"]) if "usage" in s
        else ("Rows", "%d given, %d kept, %d counted" % (rows["given"], rows["kept"], rows["counted"])),
        ("Share of the pool", "%.4f%%" % (100 * s["share"] / s["share_unit"])),
        ("Settlement", s["settlement"]), ("Contributor", s["contributor"]),
        ("Payer", s["ledger"]), ("Issued", "%s by %s" % (s["issued_at"][:10], s["issued_by"]["name"])),
    ]  # fmt: skip
    sums = {name: s["amounts"][name] for name in TITLES}
    sums = [(TITLES[name], amount_text(sums[name])) for n, name in enumerate(TITLES) if sums[name] or n < 4]
    payer = shown(s["ledger"])
    alone = "One person keeps this ledger: nobody else had to agree to this settlement."
    parts = [
        "<!doctype html>", "<html lang=\"en\"><head><meta charset=\"utf-8\">",
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
        "<meta http-equiv=\"Content-Security-Policy\" "
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        "<title>Statement %s</title><style>%s</style></head><body>" % (shown(s["settlement"]), STYLE),
        "<h1>Statement%s</h1>" % (" for %s" % shown(s["name"]) if s["name"] else ""),
        "<p><strong>%s</strong></p>" % alone if s["single_person"] else "",
        "<p>%s</p>" % shown(s["how"]), table(facts),
        "<h2>Amounts in %s</h2>" % shown(s["currency"]), table(sums), "<h2>Why</h2>", listed(s["reasons"]),
        "<h2>Disputes</h2>" + listed(dispute_text(one, s) for one in s["disputes"]) if s["disputes"] else "",
        "<h2>If you disagree</h2>", "<p>%s</p>" % shown(s["appeal"]), "<h2>Proof</h2>",
        "<p>Entry %d of the log of %s under this signed checkpoint. <code>verify.py</code> in the bundle "
        "checks it without access to the ledger.</p>" % (proof["entries"][0]["index"] + 1, payer),
        "<pre>%s</pre>" % "\n".join(map(shown, proof["checkpoint"].split("\n"))),
        "<p>Manifest: <code>%s</code></p>" % shown(s["manifest"]), "</body></html>",
    ]  # fmt: skip
    return "\n".join(filter(None, parts)) + "\n"


def check_bundle(folder, public):
    """Everything in a bundle; returns the statement, and the answer in words."""
    data = read_file(folder / "statement.json")
    statement = open_envelope(data, public)
    answer, proof = check_statement(statement, data, public), statement["proof"]
    note = read_file(folder / "checkpoint.txt").decode()
    need(note == proof["checkpoint"], "the checkpoint is not the statement's")
    part = json.loads(read_file(folder / "manifest-part.json"))
    own = {name: proof[name] for name in ("head", "line", "place", "lines", "line_path")}
    need(part == own, "the manifest part is not the statement's")
    shown = read_file(folder / "statement.html")
    need(shown == page(statement).encode(), "statement.html says something else than the signed statement")
    return statement, answer


def grew(older, newer, path):
    """Verify a consistency proof (RFC 6962) between (size, root) of an older and a newer tree."""
    (size, root), (larger, other), rest = older, newer, list(path)
    if size == larger:
        return root == other and not rest
    if not 0 < size < larger or not rest:
        return False
    first, second = size - 1, larger - 1
    while first % 2:
        first, second = first // 2, second // 2
    node = again = rest.pop(0) if first else root
    for step in rest:
        if not second:
            return False
        if first % 2 or first == second:
            node = hashlib.sha256(b"\x01" + step + node).digest()
            again = hashlib.sha256(b"\x01" + step + again).digest()
            while first and not first % 2:
                first, second = first // 2, second // 2
        else:
            again = hashlib.sha256(b"\x01" + again + step).digest()
        first, second = first // 2, second // 2
    return (node, again, second) == (root, other, 0)


def compare(mine, theirs, proof, public):
    """Check that two checkpoints belong to one log; different sizes require a consistency proof."""
    notes = [read_file(Path(name)).decode() for name in (mine, theirs)]
    small, large = sorted((read_checkpoint(note, public) for note in notes), key=lambda one: one[1])
    need(small[0] == large[0], "the checkpoints are of two ledgers")
    path = []
    if small[1] != large[1]:
        ask = "ask for a proof of growth, made by `anml-ledger verify --since`, and give it as --proof"
        need(proof, "the checkpoints are of %d and %d entries: %s" % (small[1], large[1], ask))
        said = json.loads(read_file(Path(proof)))
        path = [unbase(node) for node in said["path"]]
        sizes = [read_checkpoint(said[name], public)[1:] for name in ("older", "newer")]
        need(sizes == [small[1:], large[1:]], "the proof is between other checkpoints")
    need(grew(small[1:], large[1:], path), "history was rewritten: the checkpoints are of two different logs")
    return "both checkpoints are of one log, which grew from %d to %d entries" % (small[1], large[1])


def option(arguments, name, count=1):
    """The values of an option, taken out of the arguments; nothing where it is not there."""
    if name not in arguments:
        return []
    place = arguments.index(name)
    found = arguments[place + 1 : place + 1 + count]
    need(len(found) == count, "%s needs %d values" % (name, count))
    del arguments[place : place + 1 + count]
    return found


def known_key(folder, given):
    """The ledger's key: as given, or the one in the folder, if it has the fingerprint that was given."""
    if given and given.startswith("ed25519:"):
        return read_key(given)
    if given and Path(given).is_file():
        return read_key(read_file(Path(given)).decode())
    found = read_key(read_file(folder / "log.pub").decode())
    if given:
        wanted = given.lower().replace(":", "").replace(" ", "")
        need(len(wanted) >= 16, "a fingerprint has 16 letters or more")
        shown = hashlib.sha256(found).hexdigest()
        need(shown.startswith(wanted), "the key in the folder is not the one you know")
    return found


def say(text):
    """One line on the screen, whatever somebody put into a bundle: nothing in it moves the cursor."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    code = sys.stdout.encoding or "ascii"
    print(shown.encode(code, "replace").decode(code))


def main(arguments):
    arguments = list(arguments)
    try:
        (given,) = option(arguments, "--public-key") or [None]
        pair, proof = option(arguments, "--compare", 2), (option(arguments, "--proof") or [None])[0]
        (out,) = option(arguments, "--appeal") or [None]
        words = [(option(arguments, name) or [None])[0] for name in ("--reason", "--text", "--sign")]
        (witness,) = option(arguments, "--witness") or [None]
        folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
        public = known_key(folder, given)
        need(not out or all(words), "an appeal needs --reason, --text and --sign")
        if pair:
            answer = compare(pair[0], pair[1], proof, public)
        elif out:
            answer = write_appeal(folder, public, *words, out)
        else:
            statement, answer = check_bundle(folder, public)
            if witness:
                when = cosigned(statement["proof"]["checkpoint"], witness)
                seen = datetime.fromtimestamp(when, timezone.utc).date().isoformat()
                answer += "; cosigned by %s on %s" % (witness.partition("+")[0], seen)
    except No as no:
        say("NO: %s" % no)
        return 1
    except UNREADABLE as error:
        say("NO: the bundle is not whole (%s)" % error)
        return 1
    if given:
        say("YES: %s" % answer)
        return 0
    fingerprint = hashlib.sha256(public).hexdigest()[:32]
    say("NOT CHECKED: whose key this is. It came with the folder; compare its fingerprint %s with one from "
        "elsewhere, or give that one as --public-key" % fingerprint)  # fmt: skip
    say("YES, by that key alone: %s" % answer)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
