"""Read a bank's own file: booked and returned payments by camt.053, camt.054 and pain.002 (ISO 20022)."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from anml.core.canonical import sha256
from anml.core.errors import ConflictError, InputError
from anml.core.files import read_bytes
from anml.ledger import book
from anml.ledger.money import MICRO, format_minor_units
from anml.ledger.pay.exports import payment_id
from anml.ledger.state_money import Payment, PayoutBatch
from anml.ledger.store import Ledger, as_transaction
from anml.ledger.writer import Actor, Writer

LARGEST_FILE = 64 * 2**20
# Status of a transaction in pain.002: settled, or rejected; others are on their way.
_STATUS = {"ACSC": "paid", "ACCC": "paid", "RJCT": "failed"}


class BankResult(NamedTuple):
    """A payment in a bank's file: `paid` or `failed`, with amount and currency where the file has them."""

    state: str
    amount: int | None
    currency: str


class Reconciliation(NamedTuple):
    """Result of a bank's file: payments recorded as paid and as returned, references that are not ours."""

    paid: list[str]
    failed: list[str]
    unknown: list[str]


def read_bank_file(path: Path) -> tuple[dict[str, BankResult], str]:
    """Read a bank's file: results by end-to-end reference, and the hash of the file."""
    data = read_bytes(path, "bank's file")
    if len(data) > LARGEST_FILE or re.search(rb"<!(DOCTYPE|ENTITY)", data):
        raise InputError(f"{path} is not a bank's file: it is larger than 64 MiB or declares a document type")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"the bank's file {path} cannot be read: {error}") from None
    for element in root.iter():
        element.tag = str(element.tag).rpartition("}")[2]
    kinds = {"BkToCstmrStmt": _entries, "BkToCstmrDbtCdtNtfctn": _entries, "CstmrPmtStsRpt": _statuses}
    kind = root[0].tag if len(root) else root.tag
    if kind not in kinds:
        raise InputError(f"a bank's file is camt.053, camt.054 or pain.002, got {path.name} with {kind!r}")
    results: dict[str, BankResult] = {}
    for reference, result in kinds[kind](root):
        # A payment that was booked and came back later in the same file came back.
        if reference not in results or result.state == "failed":
            results[reference] = result
    return results, sha256(data)


def _text(element: ElementTree.Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _amount(element: ElementTree.Element | None) -> tuple[int | None, str]:
    if element is None:
        return None, ""
    try:
        scaled = Decimal((element.text or "").strip()) * MICRO
        return int(scaled) if scaled == int(scaled) else -1, element.get("Ccy", "")
    except (InvalidOperation, ValueError, OverflowError):
        raise InputError(f"the bank's file has the amount {(element.text or '')[:40]!r}") from None


def _entries(root: ElementTree.Element) -> Iterator[tuple[str, BankResult]]:
    """Booked entries of an account: debits are paid, credits with a return are returned."""
    for entry in root.iter("Ntry"):
        if (_text(entry, "Sts/Cd") or _text(entry, "Sts")) not in ("BOOK", ""):
            continue
        reversal = _text(entry, "RvslInd") == "true"
        each = list(entry.iter("TxDtls"))
        for one in each:
            debit = (_text(one, "CdtDbtInd") or _text(entry, "CdtDbtInd")) == "DBIT"
            returned = reversal or one.find("RtrInf") is not None
            if (
                (reference := _text(one, "Refs/EndToEndId"))
                and (returned or debit)
                and not (returned and debit)
            ):
                own = one.find("AmtDtls/TxAmt/Amt")
                own = own if own is not None else one.find("Amt")
                own = entry.find("Amt") if own is None and len(each) == 1 else own
                yield reference, BankResult("failed" if returned else "paid", *_amount(own))


def _statuses(root: ElementTree.Element) -> Iterator[tuple[str, BankResult]]:
    """Statuses of the transactions of a batch; those on their way are excluded."""
    for one in root.iter("TxInfAndSts"):
        if state := _STATUS.get(_text(one, "TxSts")):
            yield (
                _text(one, "OrgnlEndToEndId"),
                BankResult(state, *_amount(one.find("OrgnlTxRef/Amt/InstdAmt"))),
            )


@as_transaction
def record_bank_file(
    tx: Writer, results: Mapping[str, BankResult], bank: str, by: Actor = None
) -> Reconciliation:
    """Record the results of a bank's file with the hash `bank`; payments recorded before are skipped."""
    payouts = tx.verified().state.payouts
    own: dict[str, tuple[PayoutBatch, Payment]] = {}
    for name in payouts.heads:
        batch = payouts.get(name)
        own |= {payment_id(batch, item): (batch, item) for item in batch.payments}
    made: dict[str, dict[str, list[str]]] = {"paid": {}, "failed": {}}
    for reference, result in sorted(results.items()):
        if reference not in own:
            continue
        batch, item = own[reference]
        if result.amount not in (None, item.amount) or result.currency not in ("", batch.currency):
            sent = f"{format_minor_units(item.amount, batch.currency)} {batch.currency}"
            raise ConflictError(
                f"the bank reports another amount for payment {reference} than the {sent} sent"
            )
        if item.state != result.state and (item.state, result.state) != ("failed", "paid"):
            made[result.state].setdefault(batch.id, []).append(item.pid)
    for state, batches in made.items():
        for batch_id, pids in batches.items():
            book.close_payments(tx, batch_id, pids, by, paid=state == "paid", bank=bank)
    listed = {state: [pid for pids in each.values() for pid in pids] for state, each in made.items()}
    return Reconciliation(listed["paid"], listed["failed"], sorted(set(results) - set(own)))


def record_bank_result(ledger: Ledger, path: Path, by: Actor = None) -> Reconciliation:
    """Record the results of a bank's file."""
    return record_bank_file(ledger, *read_bank_file(path), by)
