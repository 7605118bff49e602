"""Results of payments: by the bank's file, or by a person other than the sender."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from anml.core.errors import ConflictError, InputError
from anml.ledger.pay import bank, payout, settle
from anml.ledger.pay.exports import payment_id
from anml.ledger.services.verify import verify
from ledger.ledger_queries import balance
from ledger.ledger_world import World, simple_rows

CAMT = "urn:iso:std:iso:20022:tech:xsd:camt.05{}.001.08"


def entry(reference: str, amount: str, *, debit: bool = True, more: str = "", status: str = "BOOK") -> str:
    side = "DBIT" if debit else "CRDT"
    return (
        f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{side}</CdtDbtInd><Sts><Cd>{status}</Cd></Sts>'
        f"<NtryDtls><TxDtls><Refs><EndToEndId>{reference}</EndToEndId></Refs>{more}</TxDtls></NtryDtls></Ntry>"
    )


def statement_file(folder: Path, *entries: str, notice: bool = False) -> Path:
    outer, inner = ("BkToCstmrDbtCdtNtfctn", "Ntfctn") if notice else ("BkToCstmrStmt", "Stmt")
    path = folder / "bank.xml"
    path.write_text(
        f'<?xml version="1.0"?><Document xmlns="{CAMT.format(4 if notice else 3)}"><{outer}><{inner}>'
        f"{''.join(entries)}</{inner}></{outer}></Document>"
    )
    return path


def status_file(folder: Path, *statuses: tuple[str, str]) -> Path:
    path = folder / "status.xml"
    each = "".join(
        f"<TxInfAndSts><OrgnlEndToEndId>{reference}</OrgnlEndToEndId><TxSts>{status}</TxSts></TxInfAndSts>"
        for reference, status in statuses
    )
    path.write_text(
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>'
        f"<OrgnlPmtInfAndSts>{each}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>"
    )
    return path


def sent_batch(world: World) -> SimpleNamespace:
    """Cat sent 7.50 to Ada and 2.50 to Bea."""
    pids = world.establish("ada", "bea")
    sid = world.post(world.run(simple_rows({"ada": 3, "bea": 1})), "10")
    world.clock.pass_days(15)
    settle.release_settlement(world.ledger, sid)
    batch = payout.create_batch(world.ledger, "p1", "EUR", "cat").batch
    references = {item.pid: payment_id(batch, item) for item in batch.payments}
    return SimpleNamespace(ada=pids["ada"], bea=pids["bea"], **{
        f"{name}_ref": references[pids[name]] for name in ("ada", "bea")
    })  # fmt: skip


def states(world: World) -> dict[str, str]:
    return {item.pid: item.state for item in payout.batches(world.ledger)[0].payments}


def test_the_sender_alone_says_nothing_was_paid_and_the_banks_file_does(world):
    sent = sent_batch(world)
    with pytest.raises(ConflictError, match="'cat' made this batch; a second person must record without"):
        payout.record_payment_results(world.ledger, "p1", None, paid=True, by="cat")
    path = statement_file(world.folder, entry(sent.ada_ref, "7.50"), entry("other", "1.00"))
    results = bank.record_bank_result(world.ledger, path, "cat")
    assert (results.paid, results.failed, results.unknown) == ([sent.ada], [], ["other"])
    assert states(world) == {sent.ada: "paid", sent.bea: "sent"}
    # The same file again changes nothing.
    before = world.size()
    assert bank.record_bank_result(world.ledger, path, "cat").paid == []
    assert world.size() == before
    assert verify(world.ledger).problems == []


def test_what_came_back_is_recorded_by_another_person_even_with_a_file(world):
    sent = sent_batch(world)
    path = statement_file(
        world.folder, entry(sent.bea_ref, "2.50", debit=False, more="<RtrInf/>"), notice=True
    )
    with pytest.raises(ConflictError, match="a second person must record what came back"):
        bank.record_bank_result(world.ledger, path, "cat")
    assert bank.record_bank_result(world.ledger, path, "bob").failed == [sent.bea]
    with world.ledger.read() as connection:
        assert balance(connection, f"payable:{sent.bea}", "EUR") == 2_500_000


def test_a_payment_that_was_booked_may_come_back_days_later_by_the_banks_file_only(world):
    sent = sent_batch(world)
    payout.record_payment_results(world.ledger, "p1", None, paid=True, by="bob")
    with pytest.raises(ConflictError, match="was used before"):
        payout.record_payment_results(world.ledger, "p1", [sent.bea], paid=False, by="bob")
    path = statement_file(world.folder, entry(sent.bea_ref, "2.50", debit=False, more="<RtrInf/>"))
    bank.record_bank_result(world.ledger, path, "bob")
    assert states(world) == {sent.ada: "paid", sent.bea: "failed"}
    with world.ledger.read() as connection:
        assert balance(connection, f"paid:{sent.bea}", "EUR") == 0
        assert balance(connection, f"payable:{sent.bea}", "EUR") == 2_500_000
    assert verify(world.ledger).problems == []


def test_a_status_report_settles_rejects_and_leaves_open(world):
    sent = sent_batch(world)
    bank.record_bank_result(world.ledger, status_file(world.folder, (sent.ada_ref, "ACSP")), "bob")
    assert set(states(world).values()) == {"sent"}
    path = status_file(world.folder, (sent.ada_ref, "ACSC"), (sent.bea_ref, "RJCT"))
    bank.record_bank_result(world.ledger, path, "bob")
    assert states(world) == {sent.ada: "paid", sent.bea: "failed"}


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        ("7.51", "reports another amount"),
        ("1e3", "reports another amount"),
        ("7.5000001", "another"),
        ("x", "has the amount 'x'"),
        ("NaN", "has the amount 'NaN'"),
    ],
)
def test_another_amount_is_not_ours(make_world, amount, message):
    world = make_world("sqlite")
    sent = sent_batch(world)
    with pytest.raises((ConflictError, InputError), match=message):
        bank.record_bank_result(
            world.ledger, statement_file(world.folder, entry(sent.ada_ref, amount)), "bob"
        )
    assert set(states(world).values()) == {"sent"}


def test_what_is_not_booked_does_not_count(make_world):
    world = make_world("sqlite")
    sent = sent_batch(world)
    path = statement_file(world.folder, entry(sent.ada_ref, "7.50", status="PDNG"))
    assert bank.record_bank_result(world.ledger, path, "cat").paid == []


@pytest.mark.parametrize(
    "text",
    ["", "<a", "<Document/>", "<Document><Other/></Document>", "{}",
     '<!DOCTYPE a [<!ENTITY b "c">]><Document>&b;</Document>'],
)  # fmt: skip
def test_other_files_are_refused_in_a_sentence(tmp_path, text):
    path = tmp_path / "bank.xml"
    path.write_text(text)
    with pytest.raises(InputError, match="bank's file") as refused:
        bank.read_bank_file(path)
    assert "\n" not in str(refused.value)
