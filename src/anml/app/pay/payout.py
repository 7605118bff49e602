"""Pay what is released: a batch for the bank, then word of what was paid and what came back."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.app.files import draft_file, put_in_place, read_text
from anml.app.ledger.steps import came_back, check_seen
from anml.app.ledger.verify import verified
from anml.app.pay.exports import beancount, check_payer, pain001, payout_csv
from anml.core.canonical import Tree, sha256
from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.core.money import bank_name, check_bic, check_iban, parse_amount
from anml.ledger import audit, book, checkpoint, people, two_people
from anml.ledger.log import Event
from anml.ledger.money_parts import PayoutBatch, Payouts
from anml.ledger.reading import Reading
from anml.ledger.store import Ledger, written
from anml.ledger.writer import By, Writer

# What a payee must have given before a rail can pay them.
RAILS: dict[str, tuple[str, ...]] = {"csv": ("name",), "pain001": ("name", "iban")}


class Payout(NamedTuple):
    """A batch, who gets it, who could not be put into it, and on whose word some are paid again."""

    batch: PayoutBatch
    payees: dict[str, dict[str, Any]]
    left_out: dict[str, str]
    again: dict[str, str]
    files: tuple[Path, ...] = ()


def create(
    ledger: Ledger, batch: str, currency: str, by: By = None, threshold: int = 0, rail: str = "csv",
    *, payer: Mapping[str, str] | None = None, out: Path | None = None, checkpoint: Path | None = None,
    listed: Mapping[str, int] | None = None,
) -> Payout:  # fmt: skip
    """Make a payout batch of what is due and can be paid this way; its files are written before it counts.

    The log must go on from `checkpoint`, and from what this payer saw last; or a bank `listed` what it paid.
    """
    needed = RAILS[one_of("payment rail", rail, RAILS)]

    def work(tx: Writer) -> Payout:
        # The database may ask for all of it again.
        _discard(drafts)
        due = book.due(tx, currency)
        agreed = tx.state.payees.paper
        left: dict[str, str] = {}
        if listed is None:
            check_seen_before(ledger, tx.verified(), checkpoint)
            why = {pid: _not_paid(tx, pid, needed, due[pid] < threshold) for pid in due}
            left = {pid: reason for pid, reason in why.items() if reason}
            if due and left == why:
                (pid, reason), *rest = left.items()
                more = f", and {len(rest)} more" if rest else ""
                raise ConflictError(f"nothing can be paid in {currency}: {pid}: {reason}{more}")
        able = due.keys() - left.keys() if listed is None else listed
        back = tx.state.payouts.came_back
        again = {pid: ", ".join(sorted(back[pid, currency])) for pid in able if (pid, currency) in back}
        papers = {pid: people.paper_of(tx.connection, pid, agreed.get(pid, "")) for pid in able}
        book.send(tx, batch, currency, by, threshold if listed is None else 0, papers, listed)
        made = tx.state.payouts.get(batch)
        payees = _payees(tx.connection, ledger, made) if listed is None else {}
        found = Payout(made, payees, left, again)
        if ledger.dry_run:
            return found
        if out is not None and listed is None:
            drafts.update(_drafted(found, payer, tx.verified(), out))
        files = tuple(drafts)
        drafts.update(drafted_seen(ledger, tx.verified()))
        return found._replace(files=files)

    drafts: dict[Path, Path] = {}
    with _placed(drafts):
        return ledger.write(work)


@contextmanager
def _placed(drafts: dict[Path, Path]) -> Iterator[None]:
    """Give files their names where all went well; else none of them is left."""
    try:
        yield
        for path, draft in drafts.items():
            put_in_place(draft, path)
    finally:
        _discard(drafts)


def _discard(drafts: dict[Path, Path]) -> None:
    for draft in drafts.values():
        draft.unlink(missing_ok=True)
    drafts.clear()


def batches(ledger: Ledger) -> list[PayoutBatch]:
    """All batches, oldest first."""
    found = ledger.listed(Payouts)
    return [found.get(name) for name in found.heads]


def write_files(ledger: Ledger, batch: str, payer: Mapping[str, str] | None, out: Path) -> Payout:
    """Write a batch made earlier as a table, the books, and with a payer the file that a bank takes."""
    with verified(ledger, "paid from") as reading:
        found = reading.state.payouts.get(batch)
        # Payees as they were then.
        made = Payout(found, _payees(reading.connection, ledger, found), {}, {})
        drafts = _drafted(made, payer, reading, out)
    made = made._replace(files=tuple(drafts))
    with _placed(drafts):
        return made


def _drafted(made: Payout, payer: Mapping[str, str] | None, reading: Reading, out: Path) -> dict[Path, Path]:
    """The files of a batch, written beside their places; others than who pays need not read them."""
    files = {f"{made.batch.id}.csv": payout_csv(made.batch, made.payees)}
    if payer is not None:
        files[f"{made.batch.id}.pain001.xml"] = pain001(made.batch, made.payees, payer)
    files["books.beancount"] = beancount(reading.entries(range(1, len(reading.hashes) + 1)))
    return {out / name: draft_file(out / name, text, private=True) for name, text in files.items()}


def read_payer(path: Path | None) -> dict[str, str]:
    """The account that pays, from a TOML file with name, iban and bic."""
    if path is None:
        raise InputError("a bank file needs --debtor, a TOML file with name and iban")
    text = read_text(path, "payer's file")
    try:
        return check_payer(tomllib.loads(text))
    except ValueError as error:
        raise InputError(f"the payer's file {path} cannot be read: {error}") from None


def _payees(connection: sa.Connection, ledger: Ledger, made: PayoutBatch) -> dict[str, dict[str, Any]]:
    return {item.pid: _details(connection, ledger, item.pid, item.paper) for item in made.payments}


def _details(connection: sa.Connection, ledger: Ledger, pid: str, paper: str) -> dict[str, Any]:
    values = people.attached_values(connection, ledger.ring, pid, paper)
    return {name: values[name] for name in people.DETAILS if values.get(name)}


@written
def close(
    tx: Writer, batch: str, pids: list[str] | None, *, paid: bool, by: By = None, seen: str | None = None
) -> PayoutBatch:
    """Record that payments (all open ones where none are named) were paid, or came back, as was `seen`."""
    check_seen(seen, came_back, tx, batch, pids or [], by)
    found = tx.verified().state.payouts.get(batch)
    chosen = pids or [payment.pid for payment in found.payments if payment.state == "sent"]
    book.close(tx, batch, chosen, by, paid=paid)
    return tx.state.payouts.get(batch)


@written
def set_payees(tx: Writer, changes: Mapping[str, dict[str, str]], by: By = None) -> list[int]:
    """Propose names and bank details of contributors, all or none; the numbers that another confirms."""
    checks = {"iban": check_iban, "bic": check_bic, "name": _one_line}
    values = [(pid, {name: checks[name](value) for name, value in changes[pid].items()})
              for pid in sorted(changes)]  # fmt: skip
    return [two_people.propose_payee(tx, pid, given, by).seq for pid, given in values]


@written
def set_email(tx: Writer, pid: str, email: str, by: By = None) -> Event:
    """Change where somebody is written to."""
    return people.change_email(tx, pid, _one_line(email), by)


def read_bank_details(path: Path) -> dict[str, dict[str, str]]:
    """Bank details from a table with contributor and name, iban or bic; by what the first column says."""
    from anml.intake.contributions import read_typed  # slow to load, and only needed here

    frame = read_typed(path, ("contributor", *people.DETAILS))
    given = [name for name in people.DETAILS if name in frame.columns]
    if "contributor" not in frame.columns or not given:
        raise InputError(f"{path.name} needs a column contributor, and name, iban or bic")
    found: dict[str, dict[str, str]] = {}
    for who, *values in frame.select("contributor", *given).iter_rows():
        if who is None or who in found:
            raise InputError(f"{path.name} names a contributor twice, or none, got {who!r}")
        if any(values):
            found[who] = {name: value for name, value in zip(given, values, strict=True) if value}
    if not found:
        raise InputError(f"{path.name} has no bank details in it")
    return found


def read_bank_list(path: Path) -> dict[str, int]:
    """What a bank paid, from its own list with contributor and amount."""
    from anml.intake.contributions import of_contributors  # slow to load, and only needed here

    return {name: parse_amount(str(amount)) for name, amount in of_contributors(path, "amount").items()}


def _one_line(text: str) -> str:
    found = text.strip()
    if not found or len(found) > 200 or not found.isprintable():
        raise InputError(f"a name or an address is one line of up to 200 letters, got {text!r}")
    return found


def _not_paid(tx: Writer, pid: str, needed: tuple[str, ...], small: bool) -> str:
    """Why somebody is not paid in this batch; empty where they are."""
    if pid in tx.state.people.erased:
        return "erased: the amount stays on the books"
    if small:
        return "below the threshold: carried"
    # The details that two people agreed on.
    known = _details(tx.connection, tx.ledger, pid, tx.state.payees.paper.get(pid, ""))
    for name in needed:
        if name not in known:
            return f"no {name} given"
    if "name" in needed and not bank_name(known["name"]):
        return "no name in Latin letters given"
    return book.waits(tx, pid)


def _seen_place(ledger: Ledger) -> Path | None:
    """Beside the keys of whoever pays: who puts an old database in place does not reach it."""
    folders = ledger.signers.folders
    return folders[0] / f"seen-{sha256(ledger.ring.public)[:16]}.txt" if folders else None


def check_seen_before(ledger: Ledger, reading: Reading, kept: Path | None = None) -> None:
    """An error unless the log goes on from what was seen before, and from a checkpoint that was kept."""
    own = _seen_place(ledger)
    for path in filter(None, (own if own is not None and own.is_file() else None, kept)):
        older = checkpoint.read(read_text(path, "checkpoint"), ledger.ring.public)
        problems = list(audit.checkpoint_problems(older, reading.hashes, reading.state.staff.origin))
        if problems:
            raise IntegrityError(
                f"{problems[0]} ({path}); what was paid since would be paid again: say what the bank paid "
                "with --bank-list, or bring back the whole ledger"
            )


def drafted_seen(ledger: Ledger, reading: Reading) -> dict[Path, Path]:
    """The log as it is now, to be remembered: written beside its place, before anything counts."""
    if (path := _seen_place(ledger)) is None:
        return {}
    tree = Tree(reading.hashes)
    return {path: draft_file(path, checkpoint.sign(ledger.ring, len(tree), tree.root), private=True)}
