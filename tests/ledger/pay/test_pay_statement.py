"""Statements: what one contributor earned, in sums that hold, with proofs that an outsider can follow."""

import base64
import json

import pytest

from anml.core.canonical import leaf_hash
from anml.core.errors import InputError
from anml.ledger import checkpoint, kinds
from anml.ledger.pay.statement import FORMAT, build, sign
from anml.ledger.services.verify import check_statement as verify
from anml.ledger.services.verify import verifier
from anml.settlement.manifest import ENTRIES_KEY
from ledger.ledger_paths import verify_inclusion


@pytest.fixture(scope="module")
def statements(lived):
    return build(lived.ledger, lived.sid)


def test_everybody_with_a_row_has_a_statement(lived, statements):
    assert set(statements) == set(lived.pids.values())
    assert all(found["format"] == FORMAT for found in statements.values())


def test_amounts_are_those_of_the_books(lived, statements):
    """Three, one and one of five rows, of which the newcomer's fifth is just the cap: 6, 2 and 2 euros."""
    gross = {name: statements[pid]["amounts"]["gross"] for name, pid in lived.pids.items()}
    assert gross == {"ada": 6_000_000, "bea": 2_000_000, "cem": 2_000_000}
    ada, bea = (statements[lived.pids[name]]["amounts"] for name in ("ada", "bea"))
    # Ada's is released, Bea's waits for her dispute.
    assert (ada["released"], ada["held"], bea["held"]) == (6_000_000, 0, 2_000_000)
    for found in statements.values():
        amounts = found["amounts"]
        assert amounts["gross"] + amounts["corrected"] - amounts["reversed"] - amounts["returned"] == (
            amounts["held"] + amounts["released"]
        )


def test_a_statement_says_how_why_and_where_to_write(lived, statements):
    found = statements[lived.pids["ada"]]
    assert found["name"] == "Ada Lovelace"
    assert "are 60.0000% of all; that share of 10.00 EUR is 6.00 EUR" in found["how"]
    assert "3 of 3 rows were kept for training; rows not kept earn nothing." in found["reasons"]
    assert "A dispute is open; the held amount waits." in statements[lived.pids["bea"]]["reasons"]
    assert found["appeal"].startswith("The time to dispute this statement ended on")


def test_a_statement_holds_nobody_elses_line_or_name(lived, statements):
    text = json.dumps(statements[lived.pids["bea"]])
    assert "Lovelace" not in text
    assert lived.pids["ada"] not in text
    assert ENTRIES_KEY not in json.loads(statements[lived.pids["bea"]]["proof"]["head"])


def test_every_entry_is_shown_to_be_in_the_log(lived, statements):
    found = statements[lived.pids["cem"]]["proof"]
    seen = checkpoint.read_checkpoint(found["checkpoint"], lived.ledger.ring.public)
    for part in found["entries"]:
        path = [base64.b64decode(node) for node in part["path"]]
        assert verify_inclusion(leaf_hash(part["entry"].encode()), part["index"], seen.size, path, seen.root)


def test_one_persons_statement_is_the_same_alone(lived, statements):
    pid = lived.pids["ada"]
    assert build(lived.ledger, lived.sid, [pid]) == {pid: statements[pid]}
    with pytest.raises(InputError, match=f"contributor 'nobody' has no row in settlement {lived.sid}"):
        build(lived.ledger, lived.sid, ["nobody"])


def test_a_draft_has_no_statements(world):
    from ledger.ledger_world import simple_rows

    made = world.draft(world.run(simple_rows({"x": 1})), "1")
    with pytest.raises(InputError, match="is drafted; statements follow its approval"):
        build(world.ledger, made.id)


def test_a_signed_statement_is_checked_with_the_public_key_alone(lived, statements):
    for found in statements.values():
        assert verify(sign(lived.ledger, found), lived.ledger.ring.public) == json.loads(json.dumps(found))


def test_what_entries_come_to_by_hand():
    def entry(kind, **lines):
        return kind, [(f"{name}:x", "EUR", amount) for name, amount in lines.items()]

    found = verifier().sums_of(
        [
            entry(kinds.CREDITED, funding=-100, held=100), entry(kinds.RESOLVED, source=-20, held=20),
            entry(kinds.REVERSED, held=-5, source=5), entry(kinds.RELEASED, held=-115, payable=85, source=30),
        ]
    )  # fmt: skip
    assert found == {"gross": 100, "held": 0, "released": 85, "returned": 30, "reversed": 5, "corrected": 20}
