"""Files for banks, accountants and spreadsheets."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from xml.etree import ElementTree

from anml.core.errors import InputError
from anml.io.spreadsheets import to_csv
from anml.ledger.log import Event
from anml.ledger.money import bank_charset_name, check_bic, check_iban, format_amount, format_minor_units
from anml.ledger.personal_data import DETAILS
from anml.ledger.services.verify import verified
from anml.ledger.state_money import Payment, PayoutBatch
from anml.ledger.store import Ledger
from anml.settlement.allocate import UNIT

PAIN = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
_DEBITS = ("returned", "reversed")
_ACCOUNTS = {"source": "Expenses:Data", "paid": "Assets:Bank"}
_ACCOUNTS |= {name: f"Liabilities:{name.title()}" for name in ("funding", "held", "payable", "clearing")}


def payout_csv(batch: PayoutBatch, payees: Mapping[str, Mapping[str, Any]]) -> str:
    """A batch for people who pay by hand or upload a list; amounts in the bank's units."""
    return to_csv([
        {
            "batch": batch.id, "payment": payment_id(batch, item), "contributor": item.pid,
            **{name: payees.get(item.pid, {}).get(name, "") for name in DETAILS},
            "currency": batch.currency, "amount": format_minor_units(item.amount, batch.currency),
            "state": item.state,
        }
        for item in batch.payments
    ])  # fmt: skip


def payment_id(batch: PayoutBatch, payment: Payment) -> str:
    """The reference that comes back on a bank statement: unique, and at most 35 characters."""
    return f"{batch.id}-{payment.seq}"


def pain001(batch: PayoutBatch, payees: Mapping[str, Mapping[str, Any]], debtor: Mapping[str, str]) -> str:
    """A credit transfer initiation by ISO 20022, pain.001.001.09."""
    payer = check_payer(debtor)
    if batch.currency != "EUR":
        raise InputError(f"a SEPA credit transfer (pain.001) is in EUR only, got {batch.currency}")
    root = ElementTree.Element("Document", {"xmlns": PAIN})
    initiation = ElementTree.SubElement(root, "CstmrCdtTrfInitn")
    head, info = (ElementTree.SubElement(initiation, name) for name in ("GrpHdr", "PmtInf"))
    counts = {"NbOfTxs": str(len(batch.payments)), "CtrlSum": format_minor_units(batch.total, batch.currency)}
    made = datetime.fromisoformat(batch.at).strftime("%Y-%m-%dT%H:%M:%SZ")
    _add_elements(head, {"MsgId": batch.id[:35], "CreDtTm": made, **counts, "InitgPty/Nm": payer["name"]})
    _add_elements(info, {
        "PmtInfId": batch.id[:35], "PmtMtd": "TRF", "BtchBookg": "true", **counts,
        "PmtTpInf/SvcLvl/Cd": "SEPA",
        "ReqdExctnDt/Dt": batch.at[:10],
        "Dbtr/Nm": payer["name"], "DbtrAcct/Id/IBAN": payer["iban"],
        **_agent("DbtrAgt", payer.get("bic")), "ChrgBr": "SLEV",
    })  # fmt: skip
    for item in batch.payments:
        known = payees[item.pid]
        if not known.get("iban") or not bank_charset_name(known.get("name", "")):
            raise InputError(f"contributor {item.pid} lacks an IBAN or a name in Latin letters")
        transfer = ElementTree.SubElement(info, "CdtTrfTxInf")
        _add_elements(transfer, {"PmtId/EndToEndId": payment_id(batch, item)})
        amount = _add_elements(transfer, {"Amt/InstdAmt": format_minor_units(item.amount, batch.currency)})
        amount.set("Ccy", batch.currency)
        _add_elements(transfer, {
            **_agent("CdtrAgt", known.get("bic")), "Cdtr/Nm": bank_charset_name(known["name"]),
            "CdtrAcct/Id/IBAN": known["iban"], "RmtInf/Ustrd": f"Data contributions, batch {batch.id}",
        })  # fmt: skip
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def check_payer(debtor: Mapping[str, str]) -> dict[str, str]:
    """The account that pays, checked: name and IBAN are needed, the BIC may be left out."""
    checks = {"name": bank_charset_name, "iban": check_iban, "bic": check_bic}
    known = {name: check(str(debtor[name])) for name, check in checks.items() if debtor.get(name)}
    for name in ("name", "iban"):
        if not known.get(name):
            raise InputError(f"a bank file needs the {name} of the account that pays")
    return known


def _agent(tag: str, bic: str | None) -> dict[str, str]:
    return {f"{tag}/FinInstnId/BICFI": bic} if bic else {f"{tag}/FinInstnId/Othr/Id": "NOTPROVIDED"}


def _add_elements(parent: ElementTree.Element, texts: Mapping[str, str]) -> ElementTree.Element:
    """Add elements with text, each under a path of new elements; returns the last."""
    for path, text in texts.items():
        found = parent
        for tag in path.split("/"):
            found = ElementTree.SubElement(found, tag)
        found.text = text
    return found


def beancount(entries: Iterable[Event]) -> str:
    """The books as beancount text. What we owe is a liability there, so every sign turns round."""
    opened: dict[str, str] = {}
    lines: list[str] = []
    for e in entries:
        if e.postings:
            lines.append(f'\n{e.at[:10]} * "{e.kind}" "entry {e.seq}"')
        for item in e.postings:
            kind, _, rest = item.account.partition(":")
            part = re.sub(r"[^A-Za-z0-9-]", "-", rest)
            account = f"{_ACCOUNTS[kind]}:{part[:1].upper()}{part[1:]}"
            opened[account] = min(opened.get(account, e.at[:10]), e.at[:10])
            lines.append(f"  {account}  {format_amount(-item.amount)} {item.currency}")
    heads = [f"{day} open {account}" for account, day in sorted(opened.items())]
    return "\n".join(heads + lines) + "\n"


def statements_csv(statements: Iterable[Mapping[str, Any]]) -> str:
    """Statements as a table; what takes away has a column of its own, so no amount is negative."""
    return to_csv([_statement_row(item) for item in statements])


def _statement_row(item: Mapping[str, Any]) -> dict[str, object]:
    amounts, rows = item["amounts"], item["rows"]
    made = {name: item[name] for name in ("contributor", "settlement", "posted", "state", "currency")}
    made |= {"rows": rows["given"], "kept": rows["kept"], "counted": rows["counted"]}
    made["share"] = format_amount(item["share"] * 10**6 // UNIT)
    for name in ("gross", "held", "released", "returned", "reversed", "in_transit", "paid"):
        made[f"{name}_{'debit' if name in _DEBITS else 'credit'}"] = format_amount(amounts[name])
    for name in ("corrected", "payable"):
        made[f"{name}_credit"] = format_amount(max(amounts[name], 0))
        made[f"{name}_debit"] = format_amount(max(-amounts[name], 0))
    return made | {"reasons": " ".join(item["reasons"])}


def books_beancount(ledger: Ledger) -> str:
    """The whole verified ledger as beancount text."""
    with verified(ledger, "exported from") as reading:
        return beancount(reading.entries(range(1, len(reading.hashes) + 1)))
