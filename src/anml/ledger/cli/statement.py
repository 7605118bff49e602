"""`anml-ledger statement` and `anml-ledger payout`: what people get to see, and what banks get to do."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from anml.cli.options import arg, opt
from anml.cli.text import columns
from anml.core.canonical import canonical
from anml.core.errors import InputError
from anml.core.files import check_writable, read_bytes, write_file
from anml.core.text import pluralise
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.contributors.names import (
    by_person,
    find_batch,
    find_people,
    find_settlement,
    names_of,
    require_exact_name,
)
from anml.ledger.money import format_minor_units, format_money, parse_amount
from anml.ledger.pay.bank import record_bank_result
from anml.ledger.pay.exports import statements_csv
from anml.ledger.pay.payout import (
    batches,
    create_batch,
    read_bank_list,
    read_payer,
    record_payment_results,
    write_files,
)
from anml.ledger.pay.statement import build, sign
from anml.ledger.services.steps import public_key as log_public_key
from anml.ledger.services.steps import read_public, retry_payments
from anml.ledger.services.verify import check_statement, verifier

# Statements by contributor.
Made = dict[str, dict[str, Any]]
# What of a proof is about the manifest.
_INTERNAL_FIELDS = ("head", "line", "place", "lines", "line_path")


@with_ledger_options("by", "domain", "policy")
def statement(
    at: LedgerContext,
    settlement: Annotated[str | None, arg("The settlement, or the latest.")] = None,
    contributor: Annotated[list[str] | None, opt("Only these contributors.")] = None,
    out: Annotated[Path | None, opt("Folder for signed JSON, HTML and statements.csv.")] = None,
    bundle: Annotated[Path | None, opt("Folder for bundles that anybody can check.")] = None,
    verify: Annotated[Path | None, opt("Check this signed statement instead.")] = None,
    public_key: Annotated[str | None, opt("The ledger's public key, to check with.")] = None,
) -> None:
    """Write everybody's statement of a settlement, or check one. They are signed in your name."""
    if verify is not None:
        _verify(at, verify, public_key)
        return
    if settlement is None:
        raise InputError("give the settlement, or a statement with --verify")
    for folder in filter(None, (out, bundle)):
        check_writable(folder / "statements.csv")
    sid = find_settlement(at.book, settlement, "posted")
    chosen = None if contributor is None else find_people(at.book, contributor)
    made = build(at.book, sid, chosen, at.domain, at.read_policy())
    _write(at, made, out, bundle)
    lines = _table(made, names_of(at.book))
    lines += [f"Wrote {pluralise(len(made), 'statement')} to {out}"] if out else []
    last = f"Wrote {pluralise(len(made), 'bundle')} to {bundle}; in each: python verify.py --public-key KEY"
    places = {name: None if path is None else str(path) for name, path in (("out", out), ("bundle", bundle))}
    value = {"settlement": sid, "statements": list(made.values()), **places}
    at.show(value, [*lines, *([last] if bundle else [])])


def _write(at: LedgerContext, made: Made, out: Path | None, bundle: Path | None) -> None:
    """Write statements into a folder for all of them, and into one with a bundle each."""
    for pid, item in made.items() if out or bundle else ():
        signed = sign(at.book, item)
        if out is not None:
            write_file(out / f"{pid}.json", signed, private=True)
            write_file(out / f"{pid}.html", verifier().page(item), private=True)
        if bundle is not None:
            write_bundle(bundle / pid, item, signed, log_public_key(at.book))
    if out is not None:
        write_file(out / "statements.csv", statements_csv(made.values()), private=True)


def _table(made: Made, names: dict[str, str]) -> list[str]:
    currency = next(iter(made.values()))["currency"] if made else ""
    rows = []
    for pid, s in made.items():
        amounts = [
            format_money(s["amounts"][name], currency) for name in ("gross", "held", "released", "paid")
        ]
        rows.append((names.get(pid, pid), s["rows"]["kept"], *amounts, pid))
    head = ("contributor", "kept", f"gross {currency}", "held", "released", "paid", "identifier")
    return columns(head, sorted(rows))


def _verify(at: LedgerContext, path: Path, public_key: str | None) -> None:
    if public_key is None:
        public_key = log_public_key(at.book)
    public = read_public(public_key)
    found = check_statement(read_bytes(path, "statement"), public)
    sums, currency = found["amounts"], found["currency"]
    due = sums["gross"] + sums["corrected"] - sums["returned"] - sums["reversed"]
    value = {
        "verified": True,
        **{name: found[name] for name in ("state", "posted", "issued_at", "replaced_by")},
        "contributor": found["contributor"],
        "settlement": found["settlement"],
        "gross": format_money(sums["gross"], currency),
        "due": format_money(due, currency),
        "changes": {
            name: format_money(sums[name], currency) for name in ("corrected", "returned", "reversed")
        },
    }
    who = found["name"] or found["contributor"]
    line = f"Sound: {who} was credited {value['gross']} {currency} in {found['settlement']}."
    moved = {"corrected by": sums["corrected"], "back to the pool": -sums["returned"]}
    moved["reversed"] = -sums["reversed"]
    changes = [f"{word} {format_money(amount, currency)}" for word, amount in moved.items() if amount]
    changed = [f"Since then {', '.join(changes)}: {value['due']} {currency} in all."] if changes else []
    days = f"Posted {found['posted'][:10]}, stated {found['issued_at'][:10]}."
    changed.append(days)
    if found["state"] == "reversed":
        day = found["replaced_at"][:10]
        changed.append(f"REPLACED by {found['replaced_by']} on {day}: this amount no longer counts.")
    alone = ["One person keeps this ledger."] if found["single_person"] else []
    at.show(value, [line, *changed, *alone, "Signatures, checkpoint and inclusion proofs hold."])


@with_ledger_options("by", "yes", "dry_run")
def payout(
    at: LedgerContext,
    currency: Annotated[str | None, opt("Pay what is due in this currency.")] = None,
    batch: Annotated[str | None, opt("Name of the batch; the same one twice is one.")] = None,
    threshold: Annotated[str, opt("Smallest amount to pay; the rest is carried.")] = "0",
    rail: Annotated[str, opt("csv, or pain001 (needs bank details).")] = "csv",
    debtor: Annotated[Path | None, opt("TOML with name, iban and bic of who pays.")] = None,
    out: Annotated[Path | None, opt("Folder for the files of the batch.")] = None,
    paid: Annotated[str | None, opt("Record that this batch was paid.")] = None,
    failed: Annotated[str | None, opt("Record that payments of this batch came back.")] = None,
    contributor: Annotated[list[str] | None, opt("Only these, with --paid or --failed.")] = None,
    bank: Annotated[Path | None, opt("Record a bank's file: camt.053, camt.054 or pain.002.")] = None,
    checkpoint: Annotated[Path | None, opt("A checkpoint that was kept elsewhere.")] = None,
    bank_list: Annotated[Path | None, opt("After a restored backup: CSV of what the bank paid.")] = None,
) -> None:
    """Pay what was released. Make a batch, then record what was paid or came back."""
    if bool(paid) + bool(failed) + bool(bank) > 1:
        raise InputError("one thing at a time: --bank, --paid or --failed")
    if bank is not None:
        _record_bank_file(at, bank)
        return
    if failed and not contributor:
        raise InputError("say with --contributor whose payment came back")
    if paid or failed:
        _close(at, str(paid or failed), contributor, bool(paid))
        return
    if batch and out is not None and not currency:
        payer = read_payer(debtor) if rail == "pain001" else None
        again = write_files(at.book, find_batch(at.book, batch), payer, out)
        _show_batch(at, again.batch, {"files": list(map(str, again.files))})
        return
    if not (currency or batch):
        _list_batches(at)
        return
    if not (currency and batch):
        raise InputError(
            "to pay, give --currency and --batch; with neither, batches are listed; --batch with --out "
            "writes an earlier one again"
        )
    if out is not None:
        check_writable(out / "books.beancount")
    # What is wrong with the payer's details is said before any money moves.
    payer = read_payer(debtor) if rail == "pain001" and (out or debtor) else None
    listed = None
    if bank_list is not None:
        listed = by_person(at.book, read_bank_list(bank_list), bank_list.name)
    made = create_batch(
        at.book, batch, currency, at.by, parse_amount(threshold), rail, payer=payer, out=out,
        checkpoint=checkpoint, listed=listed,
    )  # fmt: skip
    more = {"left_out": made.left_out, "again": made.again, "dry_run": at.dry_run,
            "files": list(map(str, made.files))}  # fmt: skip
    _show_batch(at, made.batch, more)


def _record_bank_file(at: LedgerContext, path: Path) -> None:
    found, names = record_bank_result(at.book, path, at.by), names_of(at.book)
    lines = [f"{names.get(pid, pid)}  paid" for pid in found.paid]
    lines += [f"{names.get(pid, pid)}  came back, and will be paid again" for pid in found.failed]
    strange = f"{pluralise(len(found.unknown), 'payment')} in {path.name} of no batch here"
    lines += [strange] * bool(found.unknown)
    at.show(found._asdict(), lines or [f"{path.name} has nothing new."])


def _close(at: LedgerContext, batch: str, contributor: list[str] | None, paid: bool) -> None:
    """Record that payments of a batch were made, or came back; what came back is shown first."""
    batch, seen = require_exact_name(batch, "batch"), None
    chosen = None if contributor is None else find_people(at.book, contributor)
    if not paid:
        content = at.book.rehearse(lambda tx: retry_payments(tx, batch, chosen or [], at.by))
        lines = [
            f"{item['name']}  {format_minor_units(item['amount'], content['currency'])} "
            f"{content['currency']} of "
            f"{batch} came back, and will be paid again"
            for item in content["payments"]
        ]
        seen = at.agreed(content, lines)
    _show_batch(at, record_payment_results(at.book, batch, chosen, paid=paid, by=at.by, seen=seen), {})


def _show_batch(at: LedgerContext, batch: Any, more: dict[str, Any]) -> None:
    names, paid = names_of(at.book), [item._asdict() for item in batch.payments]
    rows = [
        (names.get(p.pid, p.pid), format_minor_units(p.amount, batch.currency), p.state)
        for p in batch.payments
    ]
    lines = columns(("contributor", batch.currency, "state"), rows)
    lines += [
        f"{names.get(pid, pid)}  is paid again, as {who} recorded that it came back: ask the bank first"
        for pid, who in more.get("again", {}).items()
    ]
    lines += [f"{names.get(pid, pid)}  not paid: {why}" for pid, why in more.get("left_out", {}).items()]
    lines += [f"Wrote {name}" for name in more.get("files", [])]
    at.show({**batch._asdict(), "total": batch.total, **more, "payments": paid}, lines)


def _list_batches(at: LedgerContext) -> None:
    found = batches(at.book)
    rows = [
        (b.id, b.at[:10], len(b.payments), format_minor_units(b.total, b.currency), b.currency) for b in found
    ]
    value = [{"batch": b.id, "at": b.at, "total": b.total, "currency": b.currency} for b in found]
    at.show({"batches": value}, columns(("batch", "made", "payments", "total", ""), rows))


def write_bundle(folder: Path, statement: Mapping[str, Any], signed: bytes, public_key: str) -> None:
    """All that an outsider needs to check one statement: no anml, no database, no network."""
    proof = statement["proof"]
    made: dict[str, bytes | str] = {
        "statement.json": signed,
        "statement.html": verifier().page(statement),
        "manifest-part.json": canonical({name: proof[name] for name in _INTERNAL_FIELDS}) + b"\n",
        "checkpoint.txt": proof["checkpoint"],
        "log.pub": public_key + "\n",
        "verify.py": (files("anml.ledger") / "templates" / "verify_statement.py").read_bytes(),
    }
    for name, data in made.items():
        write_file(folder / name, data, private=True)
