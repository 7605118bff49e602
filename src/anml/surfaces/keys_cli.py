"""`anml ledger keys`: who may vouch, with which key."""

from pathlib import Path
from typing import Annotated

import typer

from anml.surfaces.ledger_common import Json, On, columns, on_ledger, proposed, show

app = typer.Typer(help="The keys that may vouch for contributions.", no_args_is_help=True)


@app.command("new")
def new(
    file: Annotated[Path, typer.Argument(help="Where the private key goes.", show_default=False)],
    json: Json = False,
) -> None:
    """Make a signing key; the public part is printed."""
    from anml.app.ledger.keys import new_key

    public = new_key(file)
    show(json, {"private": str(file), "public_key": public}, [public])


@app.command("trust")
@on_ledger
def trust(
    on: On,
    public_key: Annotated[str, typer.Argument(help="The public key, as text or file.", show_default=False)],
    owner: Annotated[str, typer.Option(help="An organisation's address, a staff name or a contributor.")],
    may: Annotated[list[str] | None, typer.Option(help="What it may attest; default: no flags.")] = None,
    since: Annotated[str | None, typer.Option(help="First moment of validity; default: now.")] = None,
    until: Annotated[str | None, typer.Option(help="End of validity.")] = None,
) -> None:
    """Propose to trust a key; somebody else confirms it."""
    from anml.app.ledger.keys import trust_key

    book, by, json = on
    made = trust_key(book, public_key, owner, may, since, until, by)
    lines, done = proposed(book, [made.seq], f"trust in key {made.subject} of {owner}")
    body = made.body["body"]
    value = {"key": made.subject, "owner": owner, "may": body["may"], "proposal": made.seq, "trusted": done}
    show(json, value, lines)


@app.command("revoke")
@on_ledger
def revoke(
    on: On,
    key: Annotated[str, typer.Argument(help="The short name of the key.", show_default=False)],
    compromised: Annotated[
        bool, typer.Option("--compromised", help="It leaked: nothing it ever signed counts.")
    ] = False,
) -> None:
    """Stop trusting a key."""
    from anml.app.ledger.keys import revoke_key

    book, by, json = on
    revoke_key(book, key, by, compromised=compromised)
    show(json, {"key": key, "revoked": True, "compromised": compromised}, [f"Key {key} is revoked."])


@app.command("list")
@on_ledger
def list_(seen: On) -> None:
    """List all keys."""
    from anml.app.ledger.keys import known_keys

    book, _, json = seen
    known = known_keys(book)
    rows = [
        (k["id"], k["owner"], "revoked" if k["revoked"] else "valid", k["since"][:10], ", ".join(k["may"]))
        for k in known
    ]
    show(json, {"keys": known}, columns(("key", "owner", "state", "since", "may"), rows))
