"""`anml ledger keys`: who may vouch, with which key."""

from pathlib import Path
from typing import Annotated

import typer

from anml.app import ledger
from anml.surfaces.ledger_common import Desk, at_desk, columns, proposed
from anml.surfaces.options import arg, opt

app = typer.Typer(help="The keys that may vouch for contributions.", no_args_is_help=True)


@app.command("new")
@at_desk(every=("json",))
def new(at: Desk, file: Annotated[Path, arg("Where the private key goes.")]) -> None:
    """Make a signing key; the public part is printed."""
    public = ledger.keys.new_key(file)
    at.show({"private": str(file), "public_key": public}, [public])


@app.command("trust")
@at_desk("by")
def trust(
    at: Desk,
    public_key: Annotated[str, arg("The public key, as text or file.")],
    owner: Annotated[str, opt("An organisation's address, a staff name or a contributor.")],
    may: Annotated[list[str] | None, opt("What it may attest; default: no flags.")] = None,
    since: Annotated[str | None, opt("First moment of validity; default: now.")] = None,
    until: Annotated[str | None, opt("End of validity.")] = None,
) -> None:
    """Propose to trust a key; somebody else confirms it."""
    with at.opened() as book:
        made = ledger.keys.trust_key(book, public_key, owner, may, since, until, at.by)
        lines, done = proposed(book, [made.seq], f"trust in key {made.subject} of {owner}")
    body = made.body["body"]
    value = {"key": made.subject, "owner": owner, "may": body["may"], "proposal": made.seq, "trusted": done}
    at.show(value, lines)


@app.command("revoke")
@at_desk("by")
def revoke(
    at: Desk,
    key: Annotated[str, arg("The short name of the key.")],
    compromised: Annotated[bool, opt("It leaked: nothing it ever signed counts.", "--compromised")] = False,
) -> None:
    """Stop trusting a key."""
    with at.opened() as book:
        ledger.keys.revoke_key(book, key, at.by, compromised=compromised)
    at.show({"key": key, "revoked": True, "compromised": compromised}, [f"Key {key} is revoked."])


@app.command("list")
@at_desk()
def list_(at: Desk) -> None:
    """List all keys."""
    with at.opened() as book:
        known = ledger.keys.known_keys(book)
    rows = [
        (k["id"], k["owner"], "revoked" if k["revoked"] else "valid", k["since"][:10], ", ".join(k["may"]))
        for k in known
    ]
    at.show({"keys": known}, columns(("key", "owner", "state", "since", "may"), rows))
