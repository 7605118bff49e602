"""`anml statement` and `anml payout`: what people get to see, and what banks get to do."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.app.files import check_place, read_bytes, read_text, write_file
from anml.core.errors import InputError
from anml.surfaces.ledger_common import (
    Domain,
    DryRun,
    Json,
    Keys,
    LedgerUrl,
    PolicyFile,
    columns,
    named_settlement,
    opened,
    read_policy,
    show,
)  # fmt: skip

if TYPE_CHECKING:
    from anml.app.payout import Payouts
    from anml.ledger.store import Ledger


def statement(
    settlement: Annotated[
        str | None, typer.Argument(help="The settlement, or the latest.", show_default=False)
    ] = None,
    contributor: Annotated[list[str] | None, typer.Option(help="Only these contributors.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for signed JSON, HTML and statements.csv.")] = None,
    verify: Annotated[Path | None, typer.Option(help="Check this signed statement instead.")] = None,
    public_key: Annotated[str | None, typer.Option(help="The ledger's public key, to check with.")] = None,
    domain: Domain = "default",
    policy: PolicyFile = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Write a statement for each contributor of a settlement, or check one."""
    from anml.app.statement import build, sign
    from anml.core.money import show_amount
    from anml.surfaces.exports import statements_csv
    from anml.surfaces.statement_html import statement_html

    if verify is not None:
        _verify(verify, public_key, ledger, keys, json)
        return
    if settlement is None:
        raise InputError("give the settlement, or a statement with --verify")
    if out is not None:
        check_place(out / "statements.csv")
    with opened(ledger, keys) as book:
        settlement = named_settlement(book, settlement, "posted")
        made = build(book, settlement, contributor, domain, read_policy(policy))
        if out is not None:
            for pid, item in made.items():
                write_file(out / f"{pid}.json", sign(book, item))
                write_file(out / f"{pid}.html", statement_html(item))
            write_file(out / "statements.csv", statements_csv(made.values()))
    rows = [
        (
            pid,
            s["rows"]["kept"],
            *(show_amount(s["amounts"][name]) for name in ("gross", "held", "released", "paid")),
        )
        for pid, s in made.items()
    ]
    lines = columns(("contributor", "kept", "gross", "held", "released", "paid"), rows)
    value = {
        "settlement": settlement,
        "statements": list(made.values()),
        "out": None if out is None else str(out),
    }
    show(json, value, lines + ([f"Wrote {len(made)} statements to {out}"] if out else []))


def _verify(path: Path, public_key: str | None, url: str | None, keys: Path | None, json: bool) -> None:
    from anml.app.statement import verify
    from anml.core.money import show_amount
    from anml.ledger.keys import read_public

    if public_key is not None:
        public = read_public(public_key)
    else:
        with opened(url, keys) as book:
            public = book.ring.public
    found = verify(read_bytes(path, "statement"), public)
    gross = show_amount(found["amounts"]["gross"])
    value = {
        "verified": True,
        "contributor": found["contributor"],
        "settlement": found["settlement"],
        "gross": gross,
    }
    line = f"Sound: {found['contributor']} was credited {gross} {found['currency']} in {found['settlement']}."
    show(json, value, [line, "Signature, checkpoint and inclusion proof hold."])


def payout(
    currency: Annotated[str | None, typer.Option(help="Pay what is due in this currency.")] = None,
    by: Annotated[str | None, typer.Option(help="Who you are: a staff identifier.")] = None,
    batch: Annotated[str | None, typer.Option(help="Name of the batch; the same one twice is one.")] = None,
    threshold: Annotated[str, typer.Option(help="Smallest amount to pay; the rest is carried.")] = "0",
    rail: Annotated[str, typer.Option(help="csv, or pain001 (needs bank details).")] = "csv",
    debtor: Annotated[Path | None, typer.Option(help="TOML with name, iban and bic of who pays.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the files of the batch.")] = None,
    paid: Annotated[str | None, typer.Option(help="Record that this batch was paid.")] = None,
    failed: Annotated[str | None, typer.Option(help="Record that payments of this batch came back.")] = None,
    contributor: Annotated[
        list[str] | None, typer.Option(help="Only these, with --paid or --failed.")
    ] = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Pay what was released: make a batch, then record what was paid or came back."""
    from anml.app.payout import close, create
    from anml.core.money import parse_amount

    with opened(ledger, keys) as book:
        if paid or failed:
            if failed and not contributor:
                raise InputError("say with --contributor whose payment came back")
            done = close(book, str(paid or failed), contributor, paid=bool(paid), dry_run=dry_run)
            _show_batch(done._asdict() | {"total": done.total}, done.payments, done.currency, json)
            return
        if not (currency or by or batch):
            _list_batches(book, json)
            return
        if not (currency and by and batch):
            raise InputError(
                "to pay, give --currency, --by and --batch; with none of them batches are listed"
            )
        if out is not None:
            check_place(out / "books.beancount")
        # What is wrong with the payer's details is said before any money moves.
        payer = _read_debtor(debtor) if rail == "pain001" and out is not None else None
        made = create(book, batch, currency, by, parse_amount(threshold), rail, dry_run=dry_run)
        files = _write_batch(book, made, payer, out) if out is not None and not dry_run else []
    value = made.batch._asdict() | {"total": made.batch.total, "left_out": made.left_out, "dry_run": dry_run}
    _show_batch(value | {"files": files}, made.batch.payments, currency, json, made.left_out)


def _read_debtor(path: Path | None) -> dict[str, str]:
    import tomllib

    from anml.surfaces.exports import check_payer

    if path is None:
        raise InputError("a bank file needs --debtor, a TOML file with name and iban")
    text = read_text(path, "payer's file")
    try:
        return check_payer(tomllib.loads(text))
    except ValueError as error:
        raise InputError(f"the payer's file {path} cannot be read: {error}") from None


def _write_batch(book: "Ledger", made: "Payouts", payer: dict[str, str] | None, out: Path) -> list[str]:
    from anml.ledger.log import events
    from anml.surfaces.exports import beancount, pain001, payout_csv

    files = {f"{made.batch.id}.csv": payout_csv(made.batch, made.payees)}
    if payer is not None:
        files[f"{made.batch.id}.pain001.xml"] = pain001(made.batch, made.payees, payer)
    with book.read() as connection:
        files["books.beancount"] = beancount(events(connection))
    for name, text in files.items():
        write_file(out / name, text)
    return [str(out / name) for name in files]


def _show_batch(
    value: dict[str, Any], payments: Any, currency: str, json: bool, left_out: dict[str, str] | None = None
) -> None:
    from anml.core.money import show_minor

    rows = [(item.pid, show_minor(item.amount, currency), item.state) for item in payments]
    value = value | {"payments": [item._asdict() for item in payments]}
    lines = columns(("contributor", currency, "state"), rows)
    lines += [f"{pid}  not paid: {reason}" for pid, reason in (left_out or {}).items()]
    show(json, value, [*lines, *(f"Wrote {name}" for name in value.get("files", []))])


def _list_batches(book: "Ledger", json: bool) -> None:
    from anml.core.money import show_minor
    from anml.ledger.payouts import batches

    with book.read() as connection:
        found = batches(connection)
    rows = [(b.id, b.at[:10], len(b.payments), show_minor(b.total, b.currency), b.currency) for b in found]
    value = [{"batch": b.id, "at": b.at, "total": b.total, "currency": b.currency} for b in found]
    show(json, {"batches": value}, columns(("batch", "made", "payments", "total", ""), rows))
