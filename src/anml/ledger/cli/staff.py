"""`anml-ledger staff`, `keys` and what needs two people: who may act or vouch, and a second person's word."""

import os
from pathlib import Path
from typing import Annotated

import typer

from anml.cli.options import arg, opt
from anml.cli.text import columns
from anml.core.errors import InputError
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.contributors.names import names_of
from anml.ledger.services.steps import (
    add_member,
    confirm_proposals,
    describe_proposal,
    known_keys,
    list_staff,
    new_member,
    open_proposals,
    propose_clock_repair,
    read_public,
    remove_member,
    renew_key,
    revoke_key,
    trust_key,
    withdraw_proposals,
)
from anml.ledger.services.steps import new_key as make_key
from anml.ledger.services.steps import proposals as proposals_to_sign

app = typer.Typer(help="Who may act in the ledger, and with which key.", no_args_is_help=True)
Name = Annotated[str, arg("A staff identifier.")]


@app.command("new")
@with_ledger_options(every=("json",))
def new(
    at: LedgerContext,
    name: Name,
    out: Annotated[Path | None, opt("Where the private key goes; else your folder.")] = None,
    password: Annotated[bool, opt("Lock it with a password, asked for now.", "--password")] = False,
) -> None:
    """Make a key for yourself. Give the public part, which is printed, to somebody of the staff."""
    who, path, public = new_member(name, out, new_password() if password else "")
    lines = [
        public,
        f"Your private key is {path}; nobody else needs to read it.",
        f"Next, somebody of the staff: anml-ledger staff add {who} --public-key {public} --by THEM",
    ]
    at.show({"name": who, "private": str(path), "public_key": public}, lines)


@app.command("add")
@with_ledger_options("by")
def add(
    at: LedgerContext,
    name: Name,
    public_key: Annotated[str, opt("Their public key, as text or file.")],
    role: Annotated[list[str] | None, opt("drafter, approver, payer, reviewer or admin; else all.")] = None,
) -> None:
    """Bring in a member of staff. From the third on, somebody else confirms it."""
    public = read_public(public_key)
    made = add_member(at.book, name, public, role or None, at.by)
    if done := "roles" in made.body:
        lines = [f"{made.subject} is on the staff: {', '.join(made.body['roles'])}."]
    else:
        lines, done = at.proposed([made.seq], f"{made.subject} as a member of staff")
    at.show({"name": made.subject, "entry": made.seq, "added": done}, lines)


@app.command("remove")
@with_ledger_options("by")
def remove(
    at: LedgerContext,
    name: Name,
    compromised: Annotated[bool, opt("Their key leaked.", "--compromised")] = False,
) -> None:
    """From now on somebody may act no more; what they did before stands."""
    made = remove_member(at.book, name, at.by, compromised=compromised)
    at.show({"name": made.subject, "entry": made.seq}, [f"{made.subject} is no longer on the staff."])


@app.command("renew")
@with_ledger_options("by")
def renew(
    at: LedgerContext,
    name: Name,
    public_key: Annotated[str, opt("Their new public key, as text or file.")],
    recovery: Annotated[Path | None, opt("The recovery key, where nobody else is left.")] = None,
) -> None:
    """Give somebody whose key was lost another one. Somebody else confirms it, or the recovery key does."""
    made = renew_key(at.book, name, public_key, recovery, at.by)
    lines, done = [f"{made.subject} signs with the new key from now on, and not with the old one."], True
    if recovery is None:
        lines, done = at.proposed([made.seq], f"another key for {made.subject}")
    at.show({"name": made.subject, "entry": made.seq, "renewed": done}, lines)


def new_password() -> str:
    """A new password, asked for twice; from ANML_KEY_PASSWORD where nobody can be asked."""
    told = os.environ.get("ANML_KEY_PASSWORD")
    return told or str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))


@app.command("list")
@with_ledger_options()
def list_(at: LedgerContext) -> None:
    """List everybody who may act, or could."""
    found = list_staff(at.book).members.values()
    rows = [
        (m.name, "removed" if m.until else "active", m.since[:10], ", ".join(sorted(m.roles)), m.public_key)
        for m in found
    ]
    plain = ("name", "since", "until", "public_key")
    value = [{**{name: getattr(m, name) for name in plain}, "roles": sorted(m.roles)} for m in found]
    at.show({"staff": value}, columns(("name", "state", "since", "roles", "public key"), rows))


@with_ledger_options()
def proposals(at: LedgerContext) -> None:
    """List what waits for a second person."""
    found = open_proposals(at.book, names_of(at.book))
    shown = ("proposal", "step", "by", "at", "subject", "says", "details")
    value = [{name: one[name] for name in shown} for one in found]
    rows = [(one["proposal"], one["by"], one["at"][:10], one["says"]) for one in found]
    lines = columns(("proposal", "by", "on", "to"), rows) if rows else ["Nothing waits for a second person."]
    at.show({"proposals": value}, lines)


@with_ledger_options("by", "yes")
def confirm(
    at: LedgerContext,
    numbers: Annotated[list[str], arg("Numbers of proposals.")],
    drop: Annotated[bool, opt("Take them off the list instead.", "--drop")] = False,
) -> None:
    """Confirm, as the second person, what somebody proposed. It is shown to you first."""
    chosen = [_number(text) for text in numbers]
    if drop:
        withdraw_proposals(at.book, chosen, at.by)
        at.show({"confirmed": [], "dropped": chosen}, [f"Dropped {number}." for number in chosen])
        return
    content = at.book.rehearse(lambda tx: proposals_to_sign(tx, chosen, at.by))
    asked = content["proposals"]
    said = {p["proposal"]: f"{describe_proposal(p)}, proposed by {p['by']} on {p['at'][:10]}" for p in asked}
    lines = [f"{number}: {text}" for number, text in said.items()]
    left: list[str] = []
    confirm_proposals(at.book, chosen, at.by, seen=at.agreed(content, lines), unreached=left)
    done = [f"Confirmed {number}: {said[number]}." for number in chosen]
    done += [f"NOT reached: {place}." for place in left]
    at.show({"confirmed": chosen, "dropped": [], "unreached": left}, done)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise InputError(f"a proposal is named by its number, got {text[:60]!r}")
    return int(text)


@with_ledger_options("by")
def clock(at: LedgerContext) -> None:
    """Propose to mend a clock that was ahead. Somebody else confirms it."""
    made = propose_clock_repair(at.book, at.by)
    lines, done = at.proposed([made.seq], "the clock mended")
    at.show({"proposal": made.seq, "mended": done}, lines)


keys = typer.Typer(help="The keys that may vouch for contributions.", no_args_is_help=True)


@keys.command("new")
@with_ledger_options(every=("json",))
def new_key(at: LedgerContext, file: Annotated[Path, arg("Where the private key goes.")]) -> None:
    """Make a signing key; the public part is printed."""
    public = make_key(file)
    at.show({"private": str(file), "public_key": public}, [public])


@keys.command("trust")
@with_ledger_options("by")
def trust(
    at: LedgerContext,
    public_key: Annotated[str, arg("The public key, as text or file.")],
    owner: Annotated[str, opt("An organisation's address, a staff name or a contributor.")],
    may: Annotated[list[str] | None, opt("What it may attest; default: no flags.")] = None,
    since: Annotated[str | None, opt("First moment of validity; default: now.")] = None,
    until: Annotated[str | None, opt("End of validity.")] = None,
) -> None:
    """Propose to trust a key; somebody else confirms it."""
    public = read_public(public_key)
    made = trust_key(at.book, owner, public, may, since, until, at.by)
    lines, done = at.proposed([made.seq], f"trust in key {made.subject} of {owner}")
    body = made.body["body"]
    value = {"key": made.subject, "owner": owner, "may": body["may"], "proposal": made.seq, "trusted": done}
    at.show(value, lines)


@keys.command("revoke")
@with_ledger_options("by")
def revoke(
    at: LedgerContext,
    key: Annotated[str, arg("The short name of the key.")],
    compromised: Annotated[bool, opt("It leaked: nothing it ever signed counts.", "--compromised")] = False,
) -> None:
    """Stop trusting a key."""
    revoke_key(at.book, key, at.by, compromised=compromised)
    at.show({"key": key, "revoked": True, "compromised": compromised}, [f"Key {key} is revoked."])


@keys.command("list")
@with_ledger_options()
def list_keys(at: LedgerContext) -> None:
    """List all keys."""
    known = known_keys(at.book)
    rows = [
        (k["id"], k["owner"], "revoked" if k["revoked"] else "valid", k["since"][:10], ", ".join(k["may"]))
        for k in known
    ]
    at.show({"keys": known}, columns(("key", "owner", "state", "since", "may"), rows))
