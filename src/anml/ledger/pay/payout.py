"""Pay what is released: a batch for the bank, then word of what was paid and what came back."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.canonical import MerkleTree, sha256
from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.core.files import commit_file, read_text, write_temporary
from anml.ledger import book, checkpoint, two_people
from anml.ledger import personal_data as people
from anml.ledger import replay as audit
from anml.ledger.log import Event
from anml.ledger.money import bank_charset_name, check_bic, check_iban, parse_amount
from anml.ledger.pay.exports import beancount, check_payer, pain001, payout_csv
from anml.ledger.reading import LedgerReader
from anml.ledger.services.steps import require_same_content, retry_payments
from anml.ledger.services.verify import verified
from anml.ledger.state_money import PayoutBatch, Payouts
from anml.ledger.store import Ledger, as_transaction
from anml.ledger.writer import Actor, Writer

# What a payee must have given before a rail can pay them.
PAYMENT_METHODS: dict[str, tuple[str, ...]] = {"csv": ("name",), "pain001": ("name", "iban")}


class Payout(NamedTuple):
    """A batch, who gets it, who could not be put into it, and on whose word some are paid again."""

    batch: PayoutBatch
    payees: dict[str, dict[str, Any]]
    left_out: dict[str, str]
    again: dict[str, str]
    files: tuple[Path, ...] = ()


def create_batch(
    ledger: Ledger, batch: str, currency: str, by: Actor = None, threshold: int | None = 0, rail: str = "csv",
    *, payer: Mapping[str, str] | None = None, out: Path | None = None, checkpoint: Path | None = None,
    listed: Mapping[str, int] | None = None,
) -> Payout:  # fmt: skip
    """Make a payout batch of what is due and can be paid this way; its files are written before it counts.

    Without `threshold` the minimum of the terms holds. The log must go on from `checkpoint` and from what
    this payer saw last; or a bank `listed` what it paid.
    """
    needed = PAYMENT_METHODS[one_of("payment rail", rail, PAYMENT_METHODS)]

    def work(tx: Writer) -> Payout:
        # The database may ask for all of it again.
        _discard(drafts)
        due = book.amounts_due(tx, currency)
        least = threshold if threshold is not None else tx.state.terms.minimum(currency)
        agreed = tx.state.payees.paper
        left: dict[str, str] = {}
        if listed is None:
            check_log_continues(ledger, tx.verified(), checkpoint)
            why = {pid: _not_paid(tx, pid, needed, due[pid] < least) for pid in due}
            left = {pid: reason for pid, reason in why.items() if reason}
            if due and left == why:
                (pid, reason), *rest = left.items()
                more = f", and {len(rest)} more" if rest else ""
                raise ConflictError(f"nothing can be paid in {currency}: {pid}: {reason}{more}")
        able = due.keys() - left.keys() if listed is None else listed
        back = tx.state.payouts.came_back
        again = {pid: ", ".join(sorted(back[pid, currency])) for pid in able if (pid, currency) in back}
        papers = {pid: people.find_document(tx.connection, pid, agreed.get(pid, "")) for pid in able}
        book.create_payout_batch(tx, batch, currency, by, least, papers, listed)
        made = tx.state.payouts.get(batch)
        payees = _payees(tx.connection, ledger, made) if listed is None else {}
        found = Payout(made, payees, left, again)
        if ledger.dry_run:
            return found
        if out is not None and listed is None:
            drafts.update(_draft_files(found, payer, tx.verified(), out))
        files = tuple(drafts)
        drafts.update(draft_last_seen(ledger, tx.verified()))
        return found._replace(files=files)

    drafts: dict[Path, Path] = {}
    with _commit_files(drafts):
        return ledger.write(work)


@contextmanager
def _commit_files(drafts: dict[Path, Path]) -> Iterator[None]:
    """Give files their names where all went well; else none of them is left."""
    try:
        yield
        for path, draft in drafts.items():
            commit_file(draft, path)
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
        drafts = _draft_files(made, payer, reading, out)
    made = made._replace(files=tuple(drafts))
    with _commit_files(drafts):
        return made


def _draft_files(
    made: Payout, payer: Mapping[str, str] | None, reading: LedgerReader, out: Path
) -> dict[Path, Path]:
    """The files of a batch, written beside their places; others than who pays need not read them."""
    files = {f"{made.batch.id}.csv": payout_csv(made.batch, made.payees)}
    if payer is not None:
        files[f"{made.batch.id}.pain001.xml"] = pain001(made.batch, made.payees, payer)
    files["books.beancount"] = beancount(reading.entries(range(1, len(reading.hashes) + 1)))
    return {out / name: write_temporary(out / name, text, private=True) for name, text in files.items()}


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
    values = people.read_values(connection, ledger.ring, pid, paper)
    return {name: values[name] for name in people.DETAILS if values.get(name)}


@as_transaction
def record_payment_results(
    tx: Writer, batch: str, pids: list[str] | None, *, paid: bool, by: Actor = None, seen: str | None = None
) -> PayoutBatch:
    """Record that payments (all open ones where none are named) were paid, or came back, as was `seen`."""
    require_same_content(seen, retry_payments, tx, batch, pids or [], by)
    found = tx.verified().state.payouts.get(batch)
    chosen = pids or [payment.pid for payment in found.payments if payment.state == "sent"]
    book.close_payments(tx, batch, chosen, by, paid=paid)
    return tx.state.payouts.get(batch)


@as_transaction
def set_payees(tx: Writer, changes: Mapping[str, dict[str, str]], by: Actor = None) -> list[int]:
    """Propose names and bank details of contributors, all or none; the numbers that another confirms."""
    checks = {"iban": check_iban, "bic": check_bic, "name": _one_line}
    values = [(pid, {name: checks[name](value) for name, value in changes[pid].items()})
              for pid in sorted(changes)]  # fmt: skip
    return [two_people.propose_payee(tx, pid, given, by).seq for pid, given in values]


@as_transaction
def set_email(tx: Writer, pid: str, email: str, by: Actor = None) -> Event:
    """Change where somebody is written to."""
    return people.change_email(tx, pid, _one_line(email), by)


def read_bank_details(path: Path) -> dict[str, dict[str, str]]:
    """Bank details from a table with contributor and name, iban or bic; by what the first column says."""
    from anml.io.contributions import read_typed  # slow to load, and only needed here

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
    """Read the payments from a bank's list of contributor and amount."""
    from anml.io.contributions import of_contributors  # slow to load, and only needed here

    return {name: parse_amount(str(amount)) for name, amount in of_contributors(path, "amount").items()}


def _one_line(text: str) -> str:
    found = text.strip()
    if not found or len(found) > 200 or not found.isprintable():
        raise InputError(f"a name or an address is one line of up to 200 letters, got {text!r}")
    return found


def _not_paid(tx: Writer, pid: str, needed: tuple[str, ...], small: bool) -> str:
    """Return the reason why a contributor is not paid in this batch; empty if paid."""
    if pid in tx.state.people.erased:
        return "erased: the amount stays on the books"
    if small:
        return "below the threshold: carried"
    # Bank details with a second approval.
    known = _details(tx.connection, tx.ledger, pid, tx.state.payees.paper.get(pid, ""))
    for name in needed:
        if name not in known:
            return f"no {name} given"
    if "name" in needed and not bank_charset_name(known["name"]):
        return "no name in Latin letters given"
    return book.payout_block_reason(tx, pid)


def _last_seen_path(ledger: Ledger) -> Path | None:
    """Beside the keys of whoever pays: who puts an old database in place does not reach it."""
    folders = ledger.signers.folders
    return folders[0] / f"seen-{sha256(ledger.ring.public)[:16]}.txt" if folders else None


def check_log_continues(ledger: Ledger, reading: LedgerReader, kept: Path | None = None) -> None:
    """An error unless the log goes on from what was seen before, and from a checkpoint that was kept."""
    own = _last_seen_path(ledger)
    for path in filter(None, (own if own is not None and own.is_file() else None, kept)):
        older = checkpoint.read_checkpoint(read_text(path, "checkpoint"), ledger.ring.public)
        problems = list(audit.checkpoint_problems(older, reading.hashes, reading.state.staff.origin))
        if problems:
            raise IntegrityError(
                f"{problems[0]} ({path}); what was paid since would be paid again: say what the bank paid "
                "with --bank-list, or bring back the whole ledger"
            )


def draft_last_seen(ledger: Ledger, reading: LedgerReader) -> dict[Path, Path]:
    """The log as it is now, to be remembered: written beside its place, before anything counts."""
    if (path := _last_seen_path(ledger)) is None:
        return {}
    tree = MerkleTree(reading.hashes)
    return {
        path: write_temporary(
            path, checkpoint.sign_checkpoint(ledger.ring, len(tree), tree.root), private=True
        )
    }
