"""`anml dispute`: opened in the window, answered by somebody else, paid for by a second person's word."""

from pathlib import Path
from typing import Annotated

import typer

from anml.app import ledger, pay, people
from anml.core.errors import InputError
from anml.core.money import parse_amount, show_amount, show_money
from anml.surfaces.ledger_common import Desk, at_desk, columns
from anml.surfaces.options import arg, opt

disputes = typer.Typer(help="Disputes about a settlement, and corrections.", no_args_is_help=True)
Settlement = Annotated[str, arg("The settlement.")]
Contributor = Annotated[str, arg("The contributor: a name, source:name or identifier.")]
Text = Annotated[str, opt("What they say, in their own words; kept where it can be erased.")]


@disputes.command("list")
@at_desk()
def list_(
    at: Desk,
    settlement: Annotated[str | None, arg("Only of this one, or the latest.")] = None,
    open_only: Annotated[bool, opt("Only those that wait for somebody.", "--open")] = False,
) -> None:
    """List disputes: what was asked, answered, and who is next."""
    sid = None if settlement is None else people.names.find_settlement(at.book, settlement, "posted")
    found = pay.disputes.listed(at.book, sid, open_only=open_only)
    names = people.names.names_of(at.book)
    rows = [
        (d["settlement"], names.get(d["contributor"], d["contributor"]), d["opened"][:10], d["reason"],
         d["text"], d["state"], d["answer_text"] or d["answer"] or "")
        for d in found
    ]  # fmt: skip
    header = ("settlement", "contributor", "opened", "reason", "in their words", "state", "answer")
    at.show({"disputes": found}, columns(header, rows) if rows else ["There are no disputes."])


@disputes.command("open")
@at_desk("by", "dry_run")
def open_(
    at: Desk,
    settlement: Settlement,
    contributor: Contributor,
    reason: Annotated[str | None, opt("wrong-count, wrong-weight, wrong-evidence, … or other.")] = None,
    text: Text = "",
    appeal: Annotated[Path | None, opt("What the contributor signed with a key of their own.")] = None,
    own: Annotated[bool, opt("You open it; somebody else answers.", "--as-staff")] = False,
) -> None:
    """Open a dispute: the contributor's held amount waits. Only before the window ends."""
    sid, pid = people.names.exact(settlement), people.names.find_person(at.book, contributor)
    signed = None if appeal is None else pay.disputes.read_appeal(appeal, sid, pid)
    if (reason is None and signed is None) or (signed and (reason or text or own)):
        raise InputError("give a --reason and --text, or an --appeal that has both")
    name, made = pay.disputes.open_dispute(
        at.book, sid, pid, reason or "", text=text, as_staff=own, by=at.by, signed=signed,
    )  # fmt: skip
    done = "Would open" if at.dry_run else "Opened"
    at.show({"dispute": name, "entry": made.seq, "dry_run": at.dry_run}, [f"{done} dispute {name}."])


@disputes.command("answer")
@at_desk("by", "dry_run")
def answer(
    at: Desk,
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
    sid, pid = people.names.exact(settlement), people.names.find_person(at.book, contributor)
    given, made = pay.disputes.answer(at.book, sid, pid, outcome, reason, correction=correction, text=text)
    shown = people.names.names_of(at.book).get(pid, pid)
    value = {"entry": made.seq, **given._asdict(), "dry_run": at.dry_run}
    lines = [f"The dispute of {shown} is {outcome}: {reason}."]
    if given.correction:
        lines.append(f"Next, somebody else: anml dispute resolve {sid} {pid} --by THEM")
    at.show(value, lines)


@disputes.command("resolve")
@at_desk("by", "yes", "dry_run")
def resolve(at: Desk, settlement: Settlement, contributor: Contributor) -> None:
    """Post the correction of an answer, as a second person."""
    sid, pid = people.names.exact(settlement), people.names.find_person(at.book, contributor)
    content = at.book.rehearse(lambda tx: ledger.steps.resolution(tx, sid, pid, at.by))
    answer = content["answer"]
    correction, held = show_amount(answer["correction"]), show_amount(content["held"])
    lines = [
        f"{content['name']} in {sid}: {content['reason']}, opened by {content['opened_by']}"
        f"{', written down by ' + content['written_by'] if content['written_by'] else ''}.",
        *(f"{side}: {text}" for side, text in content["words"].items() if text),
        f"{answer['outcome']} by {answer['by']} ({answer['reason']}): {correction} "
        f"{content['currency']} more, on top of {held} held.",
    ]
    made, currency = pay.disputes.resolve(at.book, sid, pid, by=at.by, seen=at.agreed(content, lines))
    shown = people.names.names_of(at.book).get(pid, pid)
    done = "Would post" if at.dry_run else "Posted"
    posted = made.body["correction"]
    value = {"entry": made.seq, "correction": posted, "by": made.by, "dry_run": at.dry_run}
    at.show(value, [f"{done} a correction of {show_money(posted, currency)} {currency} for {shown}."])


@disputes.command("reverse")
@at_desk("by", "dry_run")
def reverse(
    at: Desk,
    settlement: Settlement,
    contributor: Contributor,
    amount: Annotated[str, opt("What to take back.")],
    reason: Annotated[str, opt("duplicate, fraud, wrong-count, … or other.")],
) -> None:
    """Propose to take back an amount. Held money goes first, then payable, which may go below zero."""
    micro = parse_amount(amount)
    sid, pid = people.names.exact(settlement), people.names.find_person(at.book, contributor)
    made = ledger.steps.reverse(at.book, sid, pid, micro, reason, at.by)
    lines, done, names = ["Would propose it."], False, people.names.names_of(at.book)
    if not at.dry_run:
        lines, done = at.proposed([made.seq], f"{amount} back from {names.get(pid, pid)}")
    at.show({"proposal": made.seq, "amount": micro, "reversed": done, "dry_run": at.dry_run}, lines)
