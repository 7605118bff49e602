"""From a run to money: names resolved, terms that do not go together, drafts, approvals and releases."""

import pytest

from anml.core.canonical import sha256
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger.pay import settle
from anml.ledger.pay.settle import SettlementTerms, release_settlement
from anml.ledger.services.steps import approval
from anml.settlement.allocate import UNIT, PayoutRules
from ledger.ledger_world import simple_rows, write_run


def terms(**changes) -> SettlementTerms:
    return SettlementTerms(**{"pool": 10_000_000, "currency": "EUR", "by": "ann", "source": "run", **changes})


def names(lived, *given: str) -> dict[str, str]:
    return lived.ledger.rehearse(lambda tx: settle.resolve_names(tx, None, list(given)))


def test_identifiers_need_no_place(lived):
    ada = lived.pids["ada"]
    assert names(lived, ada) == {ada: ada}


def test_a_name_in_several_places_needs_its_place(world):
    for place in ("ls", "pf"):
        world.register(place, ["sam"])
    folder = world.run(simple_rows({"sam": 1}))
    with pytest.raises(
        InputError,
        match=r"say with --source which place 'sam' and the others are accounts of \(known in ls, pf\)",
    ):
        settle.draft_settlement(world.ledger, folder, terms(source=None))
    assert settle.draft_settlement(world.ledger, folder, terms(source="ls")).amounts


def test_pay_by_a_rate_takes_no_shape_of_shares(world):
    folder = world.run(simple_rows({"ada": 2}))
    for changes in (
        {"weight": "product"}, {"multipliers": {"ada": UNIT}}, {"rules": PayoutRules(max_share=UNIT // 2)},
        {"rules": PayoutRules(volume="0.5")},
    ):  # fmt: skip
        with pytest.raises(InputError, match="pay by a rate per label takes no weight, multiplier, volume"):
            settle.draft_settlement(world.ledger, folder, terms(rate=50_000, **changes))
    found = settle.draft_settlement(world.ledger, folder, terms(rate=50_000))
    assert [amount for amount, _ in found.amounts.values()] == [100_000]


@pytest.mark.parametrize("reason", [None, "", "  ", "two\nlines", "x" * 501])
def test_a_disputed_run_needs_a_reason_in_one_line(world, reason):
    folder = world.folder / "disputed"
    write_run(folder, simple_rows({"ada": 1}), disputed="two camps")
    with pytest.raises(InputError, match=r"this run is disputed: two camps|one line of up to 500 letters"):
        settle.draft_settlement(world.ledger, folder, terms(accept=reason))
    found = settle.draft_settlement(world.ledger, folder, terms(accept=" we looked "))
    assert found.manifest["disputed"] == {"because": "two camps", "accepted": "we looked", "by": "ann"}


def test_a_project_is_one_line_and_nobodys_address(world):
    folder = world.run(simple_rows({"ada": 1}))
    for project in ("a\nb", "ann@example.org"):
        with pytest.raises(InputError, match=r"the name of a project is one line .* without an address"):
            settle.draft_settlement(world.ledger, folder, terms(project=project))


def test_a_release_says_who_got_what_and_who_waits_for_what(lived):
    """After the dispute window: Ada's was released, Bea disputes, Cem is new."""
    found = release_settlement(lived.ledger.dry(), lived.sid, by="cat")
    assert found.released == {}
    assert found.waiting[lived.pids["bea"]] == "a dispute is open"
    assert found.waiting[lived.pids["cem"]].startswith("new contributor: needs 10 more contributions")


def test_names_that_look_alike_are_said(world):
    found = settle.draft_settlement(world.ledger, world.run(simple_rows({"ann": 1, "\u0430nn": 1})), terms())
    assert any("look alike and are not one" in said for said in found.warnings)


def test_who_drafted_does_not_approve(world):
    made = settle.draft_settlement(world.ledger, world.run(simple_rows({"ada": 1})), terms())
    with pytest.raises(ConflictError, match="a second person must approve it"):
        settle.approve_settlement(world.ledger, made.id, "ann")
    rehearsed = settle.approve_settlement(world.ledger.dry(), made.id, "bob")
    assert settle.approve_settlement(world.ledger, made.id, "bob").seq == rehearsed.seq


def test_a_run_that_was_changed_with_its_hashes_is_not_the_run_that_was_named(world):
    """Samples and their hash in `run.json` changed together: the folder is sound in itself."""
    folder = world.run(simple_rows({"ada": 2, "bea": 8}))
    told = sha256((folder / "run.json").read_bytes())
    found = settle.draft_settlement(world.ledger.dry(), folder, terms(digest=told[:16]))
    assert found.manifest["run"]["record_sha256"] == told
    write_run(folder, simple_rows({"ada": 8, "bea": 2}))
    for digest in (told, told[:16], told[:8], ""):
        with pytest.raises(IntegrityError, match="it was changed, or is another one"):
            settle.draft_settlement(world.ledger, folder, terms(digest=digest))
    # Whoever approves it is shown which run it is.
    made = settle.draft_settlement(world.ledger, folder, terms())
    shown = world.ledger.rehearse(lambda tx: approval(tx, made.id, "bob"))
    assert shown["run"] == sha256((folder / "run.json").read_bytes()) != told


def test_people_of_one_name_in_two_places_are_two(world):
    first = settle.draft_settlement(world.ledger, world.run(simple_rows({"sam": 1})), terms(source="ls"))
    second = settle.draft_settlement(world.ledger, world.run(simple_rows({"sam": 1})), terms(source="pf"))
    assert not set(first.amounts) & set(second.amounts)
