"""`anml dispute`: opened in the window, answered by somebody else, paid for by a second person's word."""

from typing import Annotated, Any

import typer

from anml.surfaces.ledger_common import DryRun, Json, Keys, LedgerUrl, opened, show

disputes = typer.Typer(help="Disputes about a settlement, and corrections.", no_args_is_help=True)
Settlement = Annotated[str, typer.Argument(help="The settlement.", show_default=False)]
Contributor = Annotated[str, typer.Argument(help="The contributor.", show_default=False)]


@disputes.command("open")
def open_(
    settlement: Settlement,
    contributor: Contributor,
    reason: Annotated[str, typer.Option(help="wrong-count, wrong-weight, wrong-evidence, … or other.")],
    by: Annotated[
        str | None, typer.Option(help="Who opens it for them; the contributor themselves without.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Name of this dispute; the same one twice is one.")] = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Freeze one contributor's held amount and ask for an answer; only before the window ends."""
    from anml.ledger.disputes import open_dispute

    name = key or f"{settlement}/{contributor}/{reason}"

    def work(tx: Any) -> Any:
        return open_dispute(tx, settlement, contributor, reason, name, by)

    with opened(ledger, keys) as book:
        made = book.carry_out(work, dry_run=dry_run)
    done = "Would open" if dry_run else "Opened"
    show(json, {"dispute": name, "entry": made.seq, "dry_run": dry_run}, [f"{done} dispute {name}."])


@disputes.command("answer")
def answer(
    settlement: Settlement,
    contributor: Contributor,
    outcome: Annotated[str, typer.Option(help="upheld or rejected.")],
    reason: Annotated[str, typer.Option(help="as-computed, count-corrected, not-shown, … or other.")],
    by: Annotated[str, typer.Option(help="Who answers: a staff identifier, not who opened it.")],
    add: Annotated[str, typer.Option(help="Amount to add to what is held, from the pool.")] = "0",
    take: Annotated[str, typer.Option(help="Amount to take from what is held, to the pool.")] = "0",
    key: Annotated[str | None, typer.Option(help="Name of this answer; the same one twice is one.")] = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Answer a dispute with a reason; with an amount, a second person resolves it."""
    from anml.core.money import parse_amount
    from anml.ledger.disputes import Answer
    from anml.ledger.disputes import answer as answer_dispute

    given = Answer(outcome, reason, by, parse_amount(add) - parse_amount(take))
    name = key or f"{settlement}/{contributor}/{outcome}/{by}"

    def work(tx: Any) -> Any:
        return answer_dispute(tx, settlement, contributor, given, name)

    with opened(ledger, keys) as book:
        made = book.carry_out(work, dry_run=dry_run)
    value = {"entry": made.seq, **given._asdict(), "dry_run": dry_run}
    lines = [f"The dispute of {contributor} is {outcome}: {reason}."]
    if given.correction:
        lines.append(f"Next, somebody else: anml dispute resolve {settlement} {contributor} --by THEM")
    show(json, value, lines)


@disputes.command("resolve")
def resolve(
    settlement: Settlement,
    contributor: Contributor,
    by: Annotated[str, typer.Option(help="Who you are: neither who opened nor who answered it.")],
    key: Annotated[str | None, typer.Option(help="Name of this step; the same one twice is one.")] = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Post the correction of an answer, as a second person."""
    from anml.core.money import show_amount
    from anml.ledger.disputes import resolve as resolve_dispute

    def work(tx: Any) -> Any:
        # A contributor may dispute twice; each time is its own step.
        name = key or f"{settlement}/{contributor}/{by}/{_times(tx, settlement, contributor)}"
        return resolve_dispute(tx, settlement, contributor, by, name)

    with opened(ledger, keys) as book:
        made = book.carry_out(work, dry_run=dry_run)
    correction = made.body["correction"]
    done = "Would post" if dry_run else "Posted"
    value = {"entry": made.seq, "correction": correction, "by": by, "dry_run": dry_run}
    show(json, value, [f"{done} a correction of {show_amount(correction)} for {contributor}."])


def _times(tx: Any, settlement: str, contributor: str) -> int:
    from anml.ledger.disputes import disputes as disputes_of

    return len(disputes_of(tx.connection, settlement).get(contributor, []))


@disputes.command("reverse")
def reverse(
    settlement: Settlement,
    contributor: Contributor,
    amount: Annotated[str, typer.Option(help="What to take back.")],
    reason: Annotated[str, typer.Option(help="duplicate, fraud, wrong-count, … or other.")],
    by: Annotated[str, typer.Option(help="Who decides: a staff identifier.")],
    key: Annotated[str, typer.Option(help="Name of this reversal; the same one twice is one.")],
    ledger: LedgerUrl = None,
    keys: Keys = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Take back an amount by a new entry: held money first, then payable, which may go below zero."""
    from anml.core.money import parse_amount
    from anml.ledger import book as steps

    micro = parse_amount(amount)

    def work(tx: Any) -> Any:
        return steps.reverse(tx, settlement, contributor, micro, reason, by, key)

    with opened(ledger, keys) as book:
        made = book.carry_out(work, dry_run=dry_run)
    done = "Would take" if dry_run else "Took"
    show(json, {"entry": made.seq, "amount": micro, "dry_run": dry_run}, [f"{done} back {amount}."])
