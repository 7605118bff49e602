"""Files for banks, accountants and spreadsheets."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from xml.etree import ElementTree

from anml.app.spreadsheets import to_csv
from anml.core.errors import InputError
from anml.core.money import show_amount, show_minor
from anml.core.payee import bank_name, check_bic, check_iban
from anml.core.settle import UNIT
from anml.ledger.log import Event
from anml.ledger.payouts import Batch, Payment

PAIN = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
_DEBITS = ("returned", "reversed")


def payout_csv(batch: Batch, payees: Mapping[str, Mapping[str, Any]]) -> str:
    """A batch for people who pay by hand or upload a list; amounts in the bank's units."""
    header = ("batch", "payment", "contributor", "name", "iban", "bic", "currency", "amount", "state")
    rows = []
    for item in batch.payments:
        known = payees.get(item.pid, {})
        person = (known.get("name", ""), known.get("iban", ""), known.get("bic", ""))
        amount = show_minor(item.amount, batch.currency)
        reference = payment_id(batch, item)
        rows.append((batch.id, reference, item.pid, *person, batch.currency, amount, item.state))
    return to_csv(header, rows)


def payment_id(batch: Batch, payment: Payment) -> str:
    """The reference that comes back on a bank statement: unique, and at most 35 characters."""
    return f"{batch.id}-{payment.seq}"


def pain001(batch: Batch, payees: Mapping[str, Mapping[str, Any]], debtor: Mapping[str, str]) -> str:
    """A credit transfer initiation by ISO 20022, pain.001.001.09."""
    payer = check_payer(debtor)
    root = ElementTree.Element("Document", {"xmlns": PAIN})
    initiation = ElementTree.SubElement(root, "CstmrCdtTrfInitn")
    count, total = str(len(batch.payments)), show_minor(batch.total, batch.currency)
    head = ElementTree.SubElement(initiation, "GrpHdr")
    _leaf(head, "MsgId", batch.id[:35])
    _leaf(head, "CreDtTm", datetime.fromisoformat(batch.at).strftime("%Y-%m-%dT%H:%M:%SZ"))
    _leaf(head, "NbOfTxs", count)
    _leaf(head, "CtrlSum", total)
    _leaf(head, "InitgPty/Nm", payer["name"])
    info = ElementTree.SubElement(initiation, "PmtInf")
    _leaf(info, "PmtInfId", batch.id[:35])
    _leaf(info, "PmtMtd", "TRF")
    _leaf(info, "NbOfTxs", count)
    _leaf(info, "CtrlSum", total)
    _leaf(info, "ReqdExctnDt/Dt", batch.at[:10])
    _leaf(info, "Dbtr/Nm", payer["name"])
    _leaf(info, "DbtrAcct/Id/IBAN", payer["iban"])
    _agent(info, "DbtrAgt", payer.get("bic"))
    for item in batch.payments:
        _transfer(info, batch, item, payees[item.pid])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def check_payer(debtor: Mapping[str, str]) -> dict[str, str]:
    """The account that pays, checked: name and IBAN are needed, the BIC may be left out."""
    known = {
        "name": bank_name(str(debtor.get("name", ""))),
        "iban": check_iban(str(debtor["iban"])) if debtor.get("iban") else "",
    }
    for name, value in known.items():
        if not value:
            raise InputError(f"a bank file needs the {name} of the account that pays")
    return known | ({"bic": check_bic(str(debtor["bic"]))} if debtor.get("bic") else {})


def _transfer(info: ElementTree.Element, batch: Batch, payment: Payment, known: Mapping[str, Any]) -> None:
    if not known.get("iban") or not bank_name(known.get("name", "")):
        raise InputError(f"contributor {payment.pid} lacks an IBAN or a name in Latin letters")
    transfer = ElementTree.SubElement(info, "CdtTrfTxInf")
    _leaf(transfer, "PmtId/EndToEndId", payment_id(batch, payment))
    instructed = _leaf(transfer, "Amt/InstdAmt", show_minor(payment.amount, batch.currency))
    instructed.set("Ccy", batch.currency)
    _agent(transfer, "CdtrAgt", known.get("bic"))
    _leaf(transfer, "Cdtr/Nm", bank_name(known["name"]))
    _leaf(transfer, "CdtrAcct/Id/IBAN", known["iban"])
    _leaf(transfer, "RmtInf/Ustrd", f"Data contributions, batch {batch.id}")


def _agent(parent: ElementTree.Element, tag: str, bic: str | None) -> None:
    if bic:
        _leaf(parent, f"{tag}/FinInstnId/BICFI", bic)
    else:
        _leaf(parent, f"{tag}/FinInstnId/Othr/Id", "NOTPROVIDED")


def _leaf(parent: ElementTree.Element, path: str, text: str) -> ElementTree.Element:
    """Add an element with text under a path of new elements."""
    for tag in path.split("/"):
        parent = ElementTree.SubElement(parent, tag)
    parent.text = text
    return parent


_ACCOUNTS = {
    "source": "Expenses:Data",
    "funding": "Liabilities:Funding",
    "held": "Liabilities:Held",
    "payable": "Liabilities:Payable",
    "clearing": "Liabilities:Clearing",
    "paid": "Assets:Bank",
}


def beancount(entries: Iterable[Event]) -> str:
    """The books as beancount text. What we owe is a liability there, so every sign turns round."""
    opened: dict[str, str] = {}
    lines: list[str] = []
    for e in entries:
        if not e.postings:
            continue
        day = e.at[:10]
        lines.append(f'\n{day} * "{e.kind}" "entry {e.seq}"')
        for item in e.postings:
            account = _account(item.account)
            opened.setdefault(f"{account} {item.currency}", day)
            lines.append(f"  {account}  {show_amount(-item.amount)} {item.currency}")
    accounts: dict[str, str] = {}
    for name, day in opened.items():
        account = name.split()[0]
        accounts[account] = min(day, accounts.get(account, day))
    heads = [f"{day} open {account}" for account, day in sorted(accounts.items())]
    return "\n".join(heads + lines) + "\n"


def _account(name: str) -> str:
    kind, _, rest = name.partition(":")
    part = re.sub(r"[^A-Za-z0-9-]", "-", rest)
    return f"{_ACCOUNTS[kind]}:{part[:1].upper()}{part[1:]}"


def statements_csv(statements: Iterable[Mapping[str, Any]]) -> str:
    """Statements as a table; what takes away has a column of its own, so no amount is negative."""
    names = ("gross", "held", "released", "returned", "reversed", "in_transit", "paid")
    header = (
        "contributor", "settlement", "posted", "state", "currency", "rows", "kept", "counted", "share",
        *(f"{name}_{'debit' if name in _DEBITS else 'credit'}" for name in names),
        "corrected_credit", "corrected_debit", "payable_credit", "payable_debit", "reasons",
    )  # fmt: skip
    return to_csv(header, (_statement_row(item, names) for item in statements))


def _statement_row(item: Mapping[str, Any], names: tuple[str, ...]) -> list[object]:
    amounts, rows = item["amounts"], item["rows"]
    both = [
        show_amount(max(sign * amounts[name], 0)) for name in ("corrected", "payable") for sign in (1, -1)
    ]
    share = show_amount(item["share"] * 10**6 // UNIT)
    known = [item[name] for name in ("contributor", "settlement", "posted", "state", "currency")]
    counts = [rows["given"], rows["kept"], rows["counted"], share]
    return [
        *known,
        *counts,
        *(show_amount(amounts[name]) for name in names),
        *both,
        " ".join(item["reasons"]),
    ]
