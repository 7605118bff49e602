"""Payouts: who can be paid which way, who waits and why, and details that two people agreed on."""

import pytest
import sqlalchemy as sa

from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import personal_data as people
from anml.ledger import schema
from anml.ledger.pay import payout
from anml.ledger.pay.settle import release_settlement
from ledger.ledger_world import simple_rows

IBAN, OTHER = "DE89370400440532013000", "GB29NWBK60161331926819"


def test_every_rail_asks_for_details_that_can_be_given():
    for needed in payout.PAYMENT_METHODS.values():
        assert set(needed) <= set(people.DETAILS)


def test_a_batch_of_everything_that_is_due(paid, tmp_path):
    made = payout.create_batch(paid.ledger, "p1", "EUR", "cat")
    assert {p.pid: p.amount for p in made.batch.payments} == {
        paid.pids["ada"]: 7_500_000, paid.pids["bea"]: 2_500_000,
    }  # fmt: skip
    assert made.left_out == {}
    assert payout.write_files(paid.ledger, "p1", None, tmp_path).batch == made.batch


def test_a_rail_leaves_out_who_lacks_something_and_says_what(paid):
    paid.world.pay_to(paid.pids["ada"], {"name": "Ada", "iban": IBAN})
    made = payout.create_batch(paid.ledger, "p1", "EUR", "cat", rail="pain001")
    assert [p.pid for p in made.batch.payments] == [paid.pids["ada"]]
    assert made.payees == {paid.pids["ada"]: {"name": "Ada", "iban": IBAN}}
    assert made.left_out == {paid.pids["bea"]: "no iban given"}


def test_where_nobody_can_be_paid_the_first_reason_is_said(paid):
    with pytest.raises(ConflictError, match=r"nothing can be paid in EUR: c0.*: no iban given, and 1 more"):
        payout.create_batch(paid.ledger, "p1", "EUR", "cat", rail="pain001")
    with pytest.raises(AnmlError, match="unknown payment rail 'cash'; allowed: csv, pain001"):
        payout.create_batch(paid.ledger, "p1", "EUR", "cat", rail="cash")


def test_below_the_threshold_it_is_carried(paid):
    made = payout.create_batch(paid.ledger, "p1", "EUR", "cat", threshold=5_000_000)
    assert [p.amount for p in made.batch.payments] == [7_500_000]
    assert made.left_out == {paid.pids["bea"]: "below the threshold: carried"}


def test_a_dry_run_pays_nobody(paid):
    size = paid.world.size()
    assert payout.create_batch(paid.ledger.dry(), "p1", "EUR", "cat").batch.total == 10_000_000
    assert paid.world.size() == size


def test_nothing_is_paid_from_a_ledger_that_does_not_verify(paid):
    with paid.ledger.engine.begin() as connection:
        connection.execute(sa.update(schema.meta).where(schema.meta.c.name == "origin").values(value="x"))
    with pytest.raises(IntegrityError, match="a ledger that does not verify: the table"):
        payout.create_batch(paid.ledger, "p1", "EUR", "cat")


def test_a_batch_keeps_the_details_it_was_made_with(paid, tmp_path):
    ada = paid.pids["ada"]
    paid.world.pay_to(ada, {"name": "Ada", "iban": IBAN})
    payout.create_batch(paid.ledger, "p1", "EUR", "cat", rail="pain001")
    paid.world.pay_to(ada, {"iban": OTHER})
    assert payout.write_files(paid.ledger, "p1", None, tmp_path).payees[ada]["iban"] == IBAN


@pytest.mark.parametrize("ended", [True, False])
def test_all_open_payments_end_where_none_are_named(paid, ended):
    payout.create_batch(paid.ledger, "p1", "EUR", "cat")
    found = payout.record_payment_results(paid.ledger, "p1", None, paid=ended, by="bob")
    assert {p.state for p in found.payments} == {"paid" if ended else "failed"}


# --- details
@pytest.mark.parametrize(
    "changes",
    [
        {"iban": "DE00370400440532013000"},
        {"iban": "x"},
        {"bic": "no"},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 201},
    ],
)
def test_details_that_no_bank_takes_are_refused(paid, changes):
    size = paid.world.size()
    with pytest.raises(InputError):
        payout.set_payees(paid.ledger, {paid.pids["ada"]: changes})
    assert paid.world.size() == size


def test_details_of_several_are_proposed_together_or_not_at_all(paid):
    ada, bea = paid.pids["ada"], paid.pids["bea"]
    size = paid.world.size()
    with pytest.raises(InputError):
        payout.set_payees(paid.ledger, {ada: {"name": "Ada"}, bea: {"iban": "x"}})
    with pytest.raises(InputError, match="there is no contributor 'nobody'"):
        payout.set_payees(paid.ledger, {ada: {"name": "Ada"}, "nobody": {"name": "B"}})
    assert paid.world.size() == size
    assert len(payout.set_payees(paid.ledger, {ada: {"name": "Ada"}, bea: {"name": "Bea"}})) == 2


def test_an_address_is_one_line(paid):
    with pytest.raises(InputError, match="one line of up to 200 letters"):
        payout.set_email(paid.ledger, paid.pids["ada"], "a\nb")
    payout.set_email(paid.ledger, paid.pids["ada"], " ada@example.org ")


def table(tmp_path, text):
    path = tmp_path / "bank.csv"
    path.write_text(text)
    return path


def test_bank_details_are_read_from_a_table(tmp_path):
    found = payout.read_bank_details(
        table(tmp_path, f"contributor,name,iban\nada,Ada,{IBAN}\nbea,,\ncem,Cem,\n")
    )
    assert found == {"ada": {"name": "Ada", "iban": IBAN}, "cem": {"name": "Cem"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("who,name\na,b\n", "needs a column contributor, and name, iban or bic"),
        ("contributor,phone\na,b\n", "needs a column contributor, and name, iban or bic"),
        ("contributor,name\na,b\na,c\n", "names a contributor twice, or none, got 'a'"),
        ("contributor,name\n,b\n", "names a contributor twice, or none, got None"),
        ("contributor,name\na,\n", "has no bank details in it"),
    ],
)
def test_tables_of_bank_details_that_are_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=f"^bank.csv {said}"):
        payout.read_bank_details(table(tmp_path, text))


def test_a_file_that_cannot_be_written_leaves_no_entries(paid, tmp_path):
    """The bank's file comes first: a batch without one would be paid by nobody, and never again."""
    size = paid.world.size()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        payout.create_batch(paid.ledger, "p1", "EUR", "cat", out=tmp_path / "file" / "x")
    assert paid.world.size() == size
    made = payout.create_batch(paid.ledger, "p1", "EUR", "cat", out=tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["books.beancount", "p1.csv"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in made.files)


def test_whom_two_people_know_no_details_of_is_not_sent_to(world):
    world.register("run", ["new"])
    pids = world.establish("ada")
    world.vouch(world.register("run", ["new"])["new"])
    sid = world.post(world.run(simple_rows({"ada": 1, "new": 1})), "10")
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    made = payout.create_batch(world.ledger, "p1", "EUR", "cat")
    assert [item.pid for item in made.batch.payments] == [pids["ada"]]
    assert list(made.left_out.values()) == ["no name given"]
