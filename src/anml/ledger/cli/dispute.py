"""`anml-ledger dispute`: open, answer and resolve a dispute; a second person approves its payment."""

from pathlib import Path
from typing import Annotated

import typer

from anml.cli.options import arg, opt
from anml.cli.text import columns
from anml.core.errors import InputError
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.contributors.names import find_person, find_settlement, names_of, require_exact_name
from anml.ledger.money import format_amount, format_money, parse_amount
from anml.ledger.pay.disputes import answer as answer_dispute
from anml.ledger.pay.disputes import list_disputes, open_dispute, read_appeal
from anml.ledger.pay.disputes import resolve as resolve_dispute
from anml.ledger.services.steps import resolution
from anml.ledger.services.steps import reverse as reverse_settlement_share

disputes = typer.Typer(help="Disputes about a settlement, and corrections.", no_args_is_help=True)
Settlement = Annotated[str, arg("The settlement.")]
Contributor = Annotated[str, arg("The contributor: a name, source:name or identifier.")]
StatementText = Annotated[str, opt("What they say, in their own words; kept where it can be erased.")]


@disputes.command("list")
@with_ledger_options()
def list_(
    at: LedgerContext,
    settlement: Annotated[str | None, arg("Only of this one, or the latest.")] = None,
    open_only: Annotated[bool, opt("Only those that wait for somebody.", "--open")] = False,
) -> None:
    """List disputes: what was asked, answered, and who is next."""
    sid = None if settlement is None else find_settlement(at.book, settlement, "posted")
    found = list_disputes(at.book, sid, open_only=open_only)
    names = names_of(at.book)
    rows = [
        (d["settlement"], names.get(d["contributor"], d["contributor"]), d["opened"][:10], d["reason"],
         d["text"], d["state"], d["answer_text"] or d["answer"] or "")
        for d in found
    ]  # fmt: skip
    header = ("settlement", "contributor", "opened", "reason", "in their words", "state", "answer")
    at.show({"disputes": found}, columns(header, rows) if rows else ["There are no disputes."])


@disputes.command("open")
@with_ledger_options("by", "dry_run")
def open_(
    at: LedgerContext,
    settlement: Settlement,
    contributor: Contributor,
    reason: Annotated[str | None, opt("wrong-count, wrong-weight, wrong-evidence, … or other.")] = None,
    text: StatementText = "",
    appeal: Annotated[Path | None, opt("What the contributor signed with a key of their own.")] = None,
    own: Annotated[bool, opt("You open it; somebody else answers.", "--as-staff")] = False,
) -> None:
    """Open a dispute: the contributor's held amount waits. Only before the window ends."""
    sid, pid = require_exact_name(settlement), find_person(at.book, contributor)
    signed = None if appeal is None else read_appeal(appeal, sid, pid)
    if (reason is None and signed is None) or (signed and (reason or text or own)):
        raise InputError("give a --reason and --text, or an --appeal that has both")
    name, made = open_dispute(
        at.book, sid, pid, reason or "", text=text, as_staff=own, by=at.by, signed=signed,
    )  # fmt: skip
    done = "Would open" if at.dry_run else "Opened"
    at.show({"dispute": name, "entry": made.seq, "dry_run": at.dry_run}, [f"{done} dispute {name}."])


@disputes.command("answer")
@with_ledger_options("by", "dry_run")
def answer(
    at: LedgerContext,
    settlement: Settlement,
    contributor: Contributor,
    outcome: Annotated[str, opt("upheld or rejected.")],
    reason: Annotated[str, opt("as-computed, count-corrected, not-shown, … or other.")],
    text: Annotated[str, opt("The answer in your words, for the contributor.")] = "",
    add: Annotated[str, opt("Amount to add to what is held, from the pool.")] = "0",
    take: Annotated[str, opt("Amount to take from what is held, to the pool.")] = "0",
) -> None:
    """Answer a dispute with a reason. Where that moves an amount, a second person resolves it."""
    correction = parse_amount(add) - parse_amount(take)
    sid, pid = require_exact_name(settlement), find_person(at.book, contributor)
    given, made = answer_dispute(at.book, sid, pid, outcome, reason, correction=correction, text=text)
    shown = names_of(at.book).get(pid, pid)
    value = {"entry": made.seq, **given._asdict(), "dry_run": at.dry_run}
    lines = [f"The dispute of {shown} is {outcome}: {reason}."]
    if given.correction:
        lines.append(f"Next, somebody else: anml-ledger dispute resolve {sid} {pid} --by THEM")
    at.show(value, lines)


@disputes.command("resolve")
@with_ledger_options("by", "yes", "dry_run")
def resolve(at: LedgerContext, settlement: Settlement, contributor: Contributor) -> None:
    """Post the correction of an answer, as a second person."""
    sid, pid = require_exact_name(settlement), find_person(at.book, contributor)
    content = at.book.rehearse(lambda tx: resolution(tx, sid, pid, at.by))
    answer = content["answer"]
    correction, held = format_amount(answer["correction"]), format_amount(content["held"])
    lines = [
        f"{content['name']} in {sid}: {content['reason']}, opened by {content['opened_by']}"
        f"{', written down by ' + content['written_by'] if content['written_by'] else ''}.",
        *(f"{side}: {text}" for side, text in content["words"].items() if text),
        f"{answer['outcome']} by {answer['by']} ({answer['reason']}): {correction} "
        f"{content['currency']} more, on top of {held} held.",
    ]
    made, currency = resolve_dispute(at.book, sid, pid, by=at.by, seen=at.agreed(content, lines))
    shown = names_of(at.book).get(pid, pid)
    done = "Would post" if at.dry_run else "Posted"
    posted = made.body["correction"]
    value = {"entry": made.seq, "correction": posted, "by": made.by, "dry_run": at.dry_run}
    at.show(value, [f"{done} a correction of {format_money(posted, currency)} {currency} for {shown}."])


@disputes.command("reverse")
@with_ledger_options("by", "dry_run")
def reverse(
    at: LedgerContext,
    settlement: Settlement,
    contributor: Contributor,
    amount: Annotated[str, opt("What to take back.")],
    reason: Annotated[str, opt("duplicate, fraud, wrong-count, … or other.")],
) -> None:
    """Propose to take back an amount. Held money goes first, then payable, which may go below zero."""
    micro = parse_amount(amount)
    sid, pid = require_exact_name(settlement), find_person(at.book, contributor)
    made = reverse_settlement_share(at.book, sid, pid, micro, reason, at.by)
    lines, done, names = ["Would propose it."], False, names_of(at.book)
    if not at.dry_run:
        lines, done = at.proposed([made.seq], f"{amount} back from {names.get(pid, pid)}")
    at.show({"proposal": made.seq, "amount": micro, "reversed": done, "dry_run": at.dry_run}, lines)
