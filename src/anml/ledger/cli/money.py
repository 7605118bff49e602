"""`anml-ledger settle`, `release`, `pay`, `statement` and `appeal`: from a run to a paid statement."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from anml.cli.options import arg, opt, resolve_run_folder
from anml.cli.text import columns, warn
from anml.core.canonical import canonical
from anml.core.errors import InputError
from anml.core.files import check_writable, write_file
from anml.core.text import pluralise
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.cli.views import dispute_sentences, line_flags
from anml.ledger.contributors.names import (
    by_person,
    find_batch,
    find_people,
    find_person,
    find_settlement,
    names_of,
    require_exact_name,
)
from anml.ledger.money import format_minor_units, format_money, parse_amount
from anml.ledger.pay.bank import record_bank_result
from anml.ledger.pay.disputes import answer as answer_dispute
from anml.ledger.pay.disputes import open_dispute, read_appeal
from anml.ledger.pay.exports import statements_csv
from anml.ledger.pay.payout import (
    create_batch,
    read_bank_list,
    read_payer,
    record_payment_results,
    write_files,
)
from anml.ledger.pay.settle import SettlementTerms, adverse_decisions, draft_settlement, release_settlement
from anml.ledger.pay.statement import build, sign
from anml.ledger.services.steps import content_digest, reverse
from anml.ledger.services.steps import public_key as log_public_key
from anml.ledger.services.verify import verifier
from anml.settlement.allocate import UNIT

# Statements by contributor.
Made = dict[str, dict[str, Any]]
# What of a proof is about the manifest.
_INTERNAL_FIELDS = ("head", "line", "place", "lines", "line_path")
Settlement = Annotated[str, arg("The settlement.")]


@with_ledger_options("by", "dry_run")
def settle(
    at: LedgerContext,
    run: Annotated[Path, arg("Folder of a run, latest, or a usage file.", callback=resolve_run_folder)],
    pool: Annotated[str | None, opt("Amount to share, such as 10000 or 0.50.")] = None,
    per_label: Annotated[str | None, opt("In place of a pool: pay for each label that counts.")] = None,
    currency: Annotated[str, opt("Code of ISO 4217, such as EUR; the one of the terms without.")] = "",
    terms: Annotated[str | None, opt("Name of agreed terms, where there are several.")] = None,
    project: Annotated[str, opt("Name of the project, for statements; the data's without.")] = "",
    supersedes: Annotated[str | None, opt("The settlement of these rows to replace.")] = None,
    accept_disputed: Annotated[str | None, opt("Reason to settle a disputed run; it is recorded.")] = None,
    multiplier: Annotated[Path | None, opt("CSV with contributor and value, such as Shapley values.")] = None,
    source: Annotated[str | None, opt("Place that the run's contributor names are accounts of.")] = None,
    digest: Annotated[
        str | None, opt("SHA-256 of run.json that you received; another run is refused.")
    ] = None,
    manifest: Annotated[Path | None, opt("Write the frozen manifest here.")] = None,
) -> None:
    """Draft a settlement that shares a pool by a run's weights. A second person confirms it."""
    from anml.ledger.pay.multipliers import read_multipliers

    if (pool is None) == (per_label is None):
        raise InputError("give the run with --pool or --per-label")
    rate = parse_amount(per_label or "0")
    if per_label is not None and rate <= 0:
        raise InputError(f"a rate per label is more than 0, got {per_label!r}")
    given = SettlementTerms(
        parse_amount(pool or "0"), currency, at.by, rate=rate, source=source, accept=accept_disputed,
        supersedes=None if supersedes is None else require_exact_name(supersedes), project=project,
        digest=digest, agreed=terms, multipliers=None if multiplier is None else read_multipliers(multiplier),
    )  # fmt: skip
    if manifest is not None:
        check_writable(manifest)
    made = draft_settlement(at.book, run, given)
    if manifest is not None and not at.dry_run:
        write_file(manifest, canonical(made.manifest))
    warn(made.warnings)
    whole, names = made.manifest, names_of(at.book)
    lines, unit = {line["pid"]: line for line in whole["contributors"]}, whole["currency"]
    rows = [
        (names.get(pid, pid), lines[pid]["rows"], lines[pid]["kept"], f"{made.amounts[pid][1] / UNIT:.4%}",
         format_money(made.amounts[pid][0], unit), line_flags(lines[pid]))
        for pid in sorted(made.amounts, key=lambda pid: (-made.amounts[pid][0], pid))
    ]  # fmt: skip
    value = {
        "settlement": made.id, "state": "rehearsed" if at.dry_run else "drafted", "manifest": made.sha256,
        "number": made.entry, "weight": whole["rules"]["weight"], "pool": whole["pool"], "currency": unit,
        "amounts": {pid: amount for pid, (amount, _) in made.amounts.items()},
        "disputed": whole.get("disputed"),
    }  # fmt: skip
    how = f"by {whole['rules']['weight']}" if not rate else "by a rate per label"
    done = "Would draft" if at.dry_run else "Drafted"
    head = f"{done} {made.id}: {format_money(whole['pool'], unit)} {unit} {how}."
    tail = [f"Next, somebody else: anml-ledger confirm {made.entry} --by THEM"] * (not at.dry_run)
    header = ("contributor", "rows", "kept", "share", unit, "")
    at.show(value, [head, *dispute_sentences(whole), *columns(header, rows), *tail])


@with_ledger_options("by", "yes", "dry_run")
def release(
    at: LedgerContext,
    settlement: Settlement,
    hold: Annotated[list[str] | None, opt("This contributor's amount stays held over a flag.")] = None,
    pay: Annotated[list[str] | None, opt("This contributor is paid in spite of a flag.")] = None,
    because: Annotated[str, opt("With --hold: why, for the contributor.")] = "",
) -> None:
    """Release what a settlement holds. Its window is over then; decisions against people are shown first."""
    sid = require_exact_name(settlement)
    decided: dict[str, Any] = {"hold": hold or [], "pay": pay or []}
    decided = {name: find_people(at.book, each) if each else [] for name, each in decided.items()}
    decided |= {"because": because, "by": at.by}
    done = release_settlement(at.book.dry(), sid, **decided)
    names, currency, seen = done.names, done.currency, content_digest(adverse_decisions(sid, done))
    # Nobody gets less, or waits, but by the decision of somebody to whom it was shown.
    if (done.returned or done.kept) and not at.dry_run:
        asked = [
            f"{names.get(pid, pid)}  {format_money(amount, currency)} {currency} would go back to the pool"
            for pid, amount in done.returned.items()
        ]
        asked += [f"{names.get(pid, pid)}  would stay held over a flag" for pid in done.kept]
        seen = at.agreed(adverse_decisions(sid, done), asked)
    if not at.dry_run:
        done = release_settlement(at.book, sid, **decided, seen=seen)

    def listed(amounts: dict[str, int], what: str) -> list[str]:
        shown = [(names.get(pid, pid), format_money(amount, currency)) for pid, amount in amounts.items()]
        return [f"{name}  {amount} {currency} {what}" for name, amount in sorted(shown)]

    lines = listed(done.released, "released") + listed(done.returned, "back to the pool")
    lines += [f"{names.get(pid, pid)}  waits: {reason}" for pid, reason in sorted(done.waiting.items())]
    value = {"released": done.released, "returned": done.returned, "waiting": done.waiting,
             "kept": list(done.kept)}  # fmt: skip
    at.show({"settlement": sid, "dry_run": at.dry_run, **value}, lines or ["Nothing is held."])


@with_ledger_options("by", "dry_run")
def pay(
    at: LedgerContext,
    batch: Annotated[str | None, arg("Name of the batch; the same one twice is one.")] = None,
    currency: Annotated[
        str | None, opt("Pay what is due in this currency; without, write the files again.")
    ] = None,
    debtor: Annotated[
        Path | None, opt("TOML with name, iban and bic of who pays: writes pain.001, in EUR.")
    ] = None,
    out: Annotated[Path | None, opt("Folder for the files of the batch.")] = None,
    bank: Annotated[Path | None, opt("Record a bank's file: camt.053, camt.054 or pain.002.")] = None,
    paid: Annotated[
        str | None, opt("Record, as another person than the sender: this batch was paid.")
    ] = None,
    failed: Annotated[str | None, opt("Record, as another person: payments of this batch came back.")] = None,
    contributor: Annotated[list[str] | None, opt("Only these, with --paid or --failed.")] = None,
    checkpoint: Annotated[Path | None, opt("A checkpoint that was kept elsewhere.")] = None,
    bank_list: Annotated[Path | None, opt("After a restored backup: CSV of what the bank paid.")] = None,
) -> None:
    """Pay what was released. Make a batch, then record what the bank did with it."""
    if sum(map(bool, (batch, bank, paid, failed))) != 1:
        raise InputError("one thing at a time: a batch to make, --bank, --paid or --failed")
    if failed and not contributor:
        raise InputError("say with --contributor whose payment came back")
    if bank is not None:
        _record_bank_file(at, bank)
        return
    if paid or failed:
        name = require_exact_name(str(paid or failed), "batch")
        chosen = None if contributor is None else find_people(at.book, contributor)
        _show_batch(at, record_payment_results(at.book, name, chosen, paid=bool(paid), by=at.by), {})
        return
    name = str(batch)
    # What is wrong with the payer's details is said before any money moves.
    payer = read_payer(debtor) if debtor else None
    if currency is None:
        if out is None:
            raise InputError("to pay, give --currency; to write the files of a batch again, give --out")
        again = write_files(at.book, find_batch(at.book, name), payer, out)
        _show_batch(at, again.batch, {"files": list(map(str, again.files))})
        return
    if payer is not None and currency != "EUR":
        raise InputError(f"pain.001 here is a SEPA credit transfer, which is in EUR only, got {currency!r}")
    if out is not None:
        check_writable(out / "books.beancount")
    listed = None
    if bank_list is not None:
        listed = by_person(at.book, read_bank_list(bank_list), bank_list.name)
    made = create_batch(
        at.book, name, currency, at.by, None, "pain001" if payer else "csv", payer=payer, out=out,
        checkpoint=checkpoint, listed=listed,
    )  # fmt: skip
    more = {"left_out": made.left_out, "again": made.again, "dry_run": at.dry_run,
            "files": list(map(str, made.files))}  # fmt: skip
    _show_batch(at, made.batch, more)


def _record_bank_file(at: LedgerContext, path: Path) -> None:
    results, names = record_bank_result(at.book, path, at.by), names_of(at.book)
    lines = [f"{names.get(pid, pid)}  paid" for pid in results.paid]
    lines += [f"{names.get(pid, pid)}  came back, and will be paid again" for pid in results.failed]
    strange = f"{pluralise(len(results.unknown), 'payment')} in {path.name} of no batch here"
    lines += [strange] * bool(results.unknown)
    at.show(results._asdict(), lines or [f"{path.name} has nothing new."])


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


@with_ledger_options("by")
def statement(
    at: LedgerContext,
    settlement: Annotated[str, arg("The settlement, or the latest.")],
    contributor: Annotated[list[str] | None, opt("Only these contributors.")] = None,
    out: Annotated[Path | None, opt("Folder for signed JSON, HTML and statements.csv.")] = None,
    bundle: Annotated[Path | None, opt("Folder for bundles that anybody can check.")] = None,
    witness: Annotated[str | None, opt("Key of a witness that cosigns the checkpoint.")] = None,
    witness_url: Annotated[str | None, opt("With --witness: its address.")] = None,
) -> None:
    """Write the signed statements of a settlement."""
    for folder in filter(None, (out, bundle)):
        check_writable(folder / "statements.csv")
    sid = find_settlement(at.book, settlement, "posted")
    chosen = None if contributor is None else find_people(at.book, contributor)
    if (witness is None) != (witness_url is None):
        raise InputError("a witness has a key and an address: give --witness and --witness-url")
    asked = (witness, witness_url) if witness and witness_url else None
    made = build(at.book, sid, chosen, by=at.by, witness=asked)
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


@with_ledger_options("by", "dry_run")
def appeal(
    at: LedgerContext,
    settlement: Settlement,
    contributor: Annotated[str, arg("The contributor: a name, source:name or identifier.")],
    reason: Annotated[
        str | None, opt("wrong-count, duplicate, …; of an answer as-computed, not-shown, …")
    ] = None,
    text: Annotated[str, opt("What they say, or the answer; kept where it can be erased.")] = "",
    file: Annotated[
        Path | None, opt("The appeal that the contributor signed with a key of their own.")
    ] = None,
    own: Annotated[bool, opt("You open it; somebody else answers.", "--as-staff")] = False,
    answer: Annotated[str | None, opt("Answer an appeal: upheld or rejected.")] = None,
    add: Annotated[str, opt("With --answer: amount to add to what is held, from the pool.")] = "0",
    take: Annotated[str, opt("With --answer: amount to take from what is held, to the pool.")] = "0",
    take_back: Annotated[str | None, opt("Propose to take an amount back, with a --reason.")] = None,
) -> None:
    """Open an appeal, answer one, or take an amount back. The held amount waits for the answer."""
    sid, pid = require_exact_name(settlement), find_person(at.book, contributor)
    name = names_of(at.book).get(pid, pid)
    decides = (take_back is not None) + (answer is not None)
    if decides > 1 or (decides and reason is None):
        raise InputError("give --answer or --take-back, with a --reason")
    if take_back is not None:
        micro = parse_amount(take_back)
        proposed = reverse(at.book, sid, pid, micro, str(reason), at.by)
        lines, done = ["Would propose it."], False
        if not at.dry_run:
            lines, done = at.proposed([proposed.seq], f"{take_back} back from {name}")
        at.show({"proposal": proposed.seq, "amount": micro, "reversed": done, "dry_run": at.dry_run}, lines)
    elif answer is not None:
        correction = parse_amount(add) - parse_amount(take)
        given, made = answer_dispute(
            at.book, sid, pid, answer, str(reason), correction=correction, text=text, by=at.by
        )
        value = {"entry": made.seq, **given._asdict(), "dry_run": at.dry_run}
        lines = [f"The dispute of {name} is {answer}: {reason}."]
        if given.correction:
            lines.append(f"Next, somebody else: anml-ledger confirm {made.seq} --by THEM")
        at.show(value, lines)
    else:
        signed = None if file is None else read_appeal(file, sid, pid)
        if (reason is None and signed is None) or (signed and (reason or text or own)):
            raise InputError("give a --reason and --text, or a --file that has both")
        label, opened = open_dispute(
            at.book, sid, pid, reason or "", text=text, as_staff=own, by=at.by, signed=signed
        )
        verb = "Would open" if at.dry_run else "Opened"
        value = {"dispute": label, "entry": opened.seq, "dry_run": at.dry_run}
        at.show(value, [f"{verb} dispute {label}."])
