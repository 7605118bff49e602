"""Staff, keys and what people do in twos: who may act or vouch, what waits, and a second person's word."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anml.app.ledger.review import check_seen, proposal, proposals
from anml.core.identifiers import staff_id
from anml.core.money import show_amount, show_money
from anml.ledger import book, keys, kinds, people, two_people
from anml.ledger.log import Event
from anml.ledger.parts import Keys, Proposals, Staff
from anml.ledger.signing import from_file
from anml.ledger.state import loaded
from anml.ledger.store import Ledger, staff_folder, written
from anml.ledger.writer import Writer


def staff(ledger: Ledger) -> Staff:
    """Everybody who acts, or did, and whether one person keeps the ledger."""
    return ledger.listed(Staff)


def new_member(name: str, path: Path | None = None, password: str = "") -> tuple[str, Path, str]:
    """A key for somebody who will be of the staff: their identifier, its file and the public part."""
    who = staff_id(name)
    place = path or staff_folder() / f"{who}.pem"
    if path is None:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return who, place, new_key(place, password)


def renew_key(ledger: Ledger, name: str, public: str, recovery: Path | None, by: str | None = None) -> Event:
    """Propose another key for a member of staff; with the recovery key it counts at once."""
    raw = read_public(public)
    if recovery is None:
        return ledger.write(lambda tx: two_people.propose_renewal(tx, name, raw, by))
    signer = from_file(recovery, ledger.signers.password)
    return ledger.write(lambda tx: two_people.recover(tx, name, raw, signer, by))


new_key, read_public = keys.create_signer, keys.read_public
add_member = written(two_people.propose_staff)
trust_key = written(two_people.propose_key)
remove_member = written(two_people.remove_staff)
revoke_key = written(two_people.revoke_key)
reverse = written(book.propose_reversal)


@written
def mend_clock(tx: Writer, by: str | None = None) -> Event:
    """Propose that from now on entries are dated by the clock of whoever confirms it."""
    return two_people.propose(tx, kinds.CLOCK, "", {}, by)


def waiting(ledger: Ledger, names: dict[str, str]) -> list[dict[str, Any]]:
    """What waits for a second person, oldest first, and what it `says` in the words of who has to decide."""
    with ledger.read() as connection:
        waits = loaded(Proposals, connection).waiting
        shown = [proposal(connection, ledger, p, names, connection) for p in waits]
    return [{**one, "says": says({**one, "until_now": {}})} for one in shown]


def confirm_all(
    ledger: Ledger, numbers: Sequence[int], by: str | None = None, *, seen: str | None = None
) -> list[Event]:
    """Carry out proposals as the second person, all or none; `seen` is the digest of what was shown."""

    def work(tx: Writer) -> list[Event]:
        check_seen(seen, proposals, tx, numbers, by)
        return [two_people.confirm(tx, number, by) for number in numbers]

    made = ledger.write(work)
    if any(e.kind == kinds.ERASED for e in made):
        people.scrubbed(ledger)
    return made


def drop_all(ledger: Ledger, numbers: Sequence[int], by: str | None = None) -> list[Event]:
    """Take proposals off the list, all or none."""
    return ledger.write(lambda tx: [two_people.drop(tx, number, by) for number in numbers])


def says(p: dict[str, Any]) -> str:
    """A proposal in one line."""
    who, body = p["name"], p["body"]
    listed = ", ".join(f"{name} {value}" for name, value in p["details"].items())
    old = ", ".join(f"{name} {value}" for name, value in p["until_now"].items())
    amount = show_amount(body["amount"]) if "amount" in body else ""
    owed = ", ".join(f"{show_money(micro, currency)} {currency}" for currency, micro in p["open"].items())
    named = {name: ", ".join(map(str, body.get(name, ()))) for name in ("roles", "may")}
    said: dict[str, str] = {
        kinds.STAFF_ADDED: f"bring in {p['subject']} as {named['roles']}, with the key {body.get('public')}",
        kinds.STAFF_RENEWED: f"let {p['subject']} sign with the key {body.get('public')} from now on",
        kinds.CLOCK: "mend the clock: from then on entries are dated by who confirms this",
        kinds.ERASED: f"erase all that is personal of {who}, with {owed or 'money or an appeal'} still open",
        kinds.KEY_TRUSTED: f"trust key {p['subject']} of {body.get('owner')} for {named['may']}, from "
        f"{str(body.get('since'))[:10]}" + (f" until {body['until'][:10]}" if body.get("until") else ""),
        kinds.NAMED: f"{'let reviews by' if body.get('on') else 'no longer let reviews by'} {who} count",
        kinds.PAYEE_SET: f"pay {who} under {listed}" + (f"; until now under {old}" if old else ""),
        kinds.MAPPED: f"take account {p['details'].get('source')}:{p['details'].get('account')} for {who}",
        kinds.MERGED: f"take {who} and {p['into'] or body.get('into')} for one person",
        # To the last micro-unit: who confirms it signs for that.
        kinds.REVERSED: f"take back {amount} {p['currency']} of {who} ({body.get('reason')})",
    }
    return said[p["step"]]


def public_key(ledger: Ledger) -> str:
    """The key that everybody checks this ledger with, as text."""
    return keys.public_text(ledger.ring.public)


def known_keys(ledger: Ledger) -> list[dict[str, Any]]:
    """Every key that was ever trusted, as plain values."""
    known = ledger.listed(Keys).known.values()
    return [
        {**key._asdict(), "public": keys.public_text(key.public), "may": sorted(key.may)} for key in known
    ]
