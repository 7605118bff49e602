"""v and r of rows as the ledger knows them: general evidence, that of a batch, and that of an item."""

import polars as pl
import pytest

from anml.ledger.evidence import EvidenceRecord, item_scope
from anml.ledger.log import format_timestamp
from anml.ledger.services.annotate import add_signal_columns
from anml.ledger.signing import batch_scope
from anml.signals.policy import Policy
from anml.signals.track_record import ReputationRule


@pytest.fixture
def place(world):
    world.pids = world.register("ls", ["ada", "bea", "rosa"])
    world.name_reviewer(world.pids["rosa"])
    return world


def rows(world, *keys):
    names = {**world.pids, "nobody": "nobody"}
    frame = pl.DataFrame(
        [(names[who], item, batch) for who, item, batch in keys],
        schema=["contributor", "item", "batch"], orient="row",
    )  # fmt: skip
    with world.ledger.read() as connection:
        return add_signal_columns(connection, frame, format_timestamp(world.clock.now))


def levels(found) -> list[str]:
    return found["level"].to_list()


def test_evidence_counts_for_what_it_is_about(place):
    ada = place.pids["ada"]
    place.record(EvidenceRecord("publication", ada, place.pids["rosa"], "", batch_scope("b1")))
    place.record(EvidenceRecord("retracted", ada, place.pids["rosa"], "", item_scope("b1", "7")))
    keys = [("ada", "7", "b1"), ("ada", "8", "b1"), ("ada", "7", "b2"), ("bea", "7", "b1")]
    found = rows(place, *keys)
    assert levels(found) == ["flagged", "peer-reviewed", "self-attested", "self-attested"]
    # Each v names the entries it rests on.
    assert [len(text.split(";")) if text else 0 for text in found["evidence"]] == [1, 1, 0, 0]


def test_evidence_about_the_contributor_counts_for_every_row(place):
    place.record(EvidenceRecord("affiliation", place.pids["ada"], place.pids["rosa"], ""))
    assert levels(rows(place, ("ada", "1", "x"), ("ada", "2", "y"))) == ["institution", "institution"]


def test_whom_the_ledger_does_not_know_starts_where_everybody_starts(place):
    found = rows(place, ("nobody", "1", "b"))
    assert found["reputation"].to_list() == [ReputationRule().r0]
    assert found["verification"].to_list() == [Policy().levels["self-attested"]]


def test_rows_keep_their_order_and_their_columns(place):
    keys = [("bea", "2", "b"), ("ada", "1", "b"), ("bea", "1", "b")]
    found = rows(place, *keys)
    assert found.columns == [
        "contributor",
        "item",
        "batch",
        "verification",
        "reputation",
        "level",
        "evidence",
    ]
    assert found["item"].to_list() == ["2", "1", "1"]
    one_by_one = [rows(place, key).row(0) for key in keys]
    assert found.rows() == one_by_one
