"""`anml ledger keys`: who may vouch, with which key."""

from pathlib import Path
from typing import Annotated

import typer

from anml.surfaces.ledger_common import Json, Keys, LedgerUrl, columns, opened, show

app = typer.Typer(
    help="The keys that may vouch for contributions or approve settlements.", no_args_is_help=True
)


@app.command("new")
def new(
    file: Annotated[Path, typer.Argument(help="Where the private key goes.", show_default=False)],
    json: Json = False,
) -> None:
    """Make a signing key; the public part is printed."""
    from anml.ledger.keys import create_signer

    public = create_signer(file)
    show(json, {"private": str(file), "public_key": public}, [public])


@app.command("trust")
def trust(
    public_key: Annotated[str, typer.Argument(help="The public key, as text or file.", show_default=False)],
    owner: Annotated[str, typer.Option(help="An organisation's address, a staff name or a contributor.")],
    may: Annotated[
        list[str] | None, typer.Option(help="What it may attest, or approve; default: no flags.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="First moment of validity; default: now.")] = None,
    until: Annotated[str | None, typer.Option(help="End of validity.")] = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Register a key."""
    from anml.ledger import registry
    from anml.ledger.keys import read_public

    raw = read_public(public_key)
    with opened(ledger, keys) as book:
        made = book.write(
            lambda tx: registry.trust(tx, owner, raw, may or registry.DEFAULT_MAY, since, until)
        )
    show(
        json,
        {"key": made.id, "owner": owner, "may": sorted(made.may)},
        [f"Key {made.id} of {owner} is trusted."],
    )


@app.command("revoke")
def revoke(
    key: Annotated[str, typer.Argument(help="The short name of the key.", show_default=False)],
    compromised: Annotated[
        bool, typer.Option("--compromised", help="It leaked: nothing it ever signed counts.")
    ] = False,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Stop trusting a key."""
    from anml.ledger import registry

    with opened(ledger, keys) as book:
        book.write(lambda tx: registry.revoke(tx, key, compromised=compromised))
    show(json, {"key": key, "revoked": True, "compromised": compromised}, [f"Key {key} is revoked."])


@app.command("list")
def list_(ledger: LedgerUrl = None, keys: Keys = None, json: Json = False) -> None:
    """List all keys."""
    from anml.ledger import registry
    from anml.ledger.keys import public_text

    with opened(ledger, keys) as book, book.read() as connection:
        known = registry.registered(connection).values()
    value = [{**k._asdict(), "public": public_text(k.public), "may": sorted(k.may)} for k in known]
    rows = [
        (k.id, k.owner, "revoked" if k.revoked else "valid", k.since[:10], ", ".join(sorted(k.may)))
        for k in known
    ]
    show(json, {"keys": value}, columns(("key", "owner", "state", "since", "may"), rows))
