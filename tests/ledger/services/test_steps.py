"""Steps that wait for a second person: what they say in words, and all of them or none."""

import pytest

from anml.core.errors import ConflictError, InputError
from anml.ledger import kinds, two_people
from anml.ledger.contributors.identity import erase_contributor
from anml.ledger.keys import public_text
from anml.ledger.kinds import TWO_PEOPLE
from anml.ledger.pay import payout
from anml.ledger.services import steps
from anml.ledger.store import Ledger
from anml.ledger.terms import complete_terms
from ledger.ledger_hand import public
from ledger.ledger_queries import settlements

IBAN = "DE89370400440532013000"


@pytest.fixture
def place(paid):
    world, pids = paid.world, paid.pids
    world.pids = pids

    def write(work):
        return world.ledger.write(work).seq

    world.asked = {
        kinds.STAFF_ADDED: write(
            lambda tx: two_people.propose_staff(tx, "zoe", public("zoe"), ["payer"], "ann")
        ),
        kinds.KEY_TRUSTED: write(
            lambda tx: two_people.propose_key(tx, "lab", public("lab"), ["self"], None, None, "ann")
        ),
        kinds.REVIEWER_NAMED: write(
            lambda tx: two_people.propose(tx, kinds.REVIEWER_NAMED, pids["ada"], {"on": True}, "ann")
        ),
        kinds.PAYEE_SET: payout.set_payees(world.ledger, {pids["ada"]: {"name": "Ada", "iban": IBAN}}, "ann")[
            0
        ],
        kinds.MAPPED: write(lambda tx: two_people.propose_account(tx, "pf", "ada.l", pids["ada"], "ann")),
        kinds.TERMS: steps.propose_terms(
            world.ledger, complete_terms({"name": "t", "currency": "EUR"}), "ann"
        ).seq,
        kinds.MERGED: write(
            lambda tx: two_people.propose(tx, kinds.MERGED, pids["bea"], {"into": pids["ada"]}, "ann")
        ),
        kinds.STAFF_RENEWED: steps.renew_key(
            world.ledger, "cat", public_text(public("new")), None, "ann"
        ).seq,
        kinds.CLOCK: steps.propose_clock_repair(world.ledger, "ann").seq,
        kinds.ERASED: erase_contributor(world.ledger, pids["bea"], anyway=True, by="ann")["proposal"],
        kinds.REVERSED: steps.reverse(world.ledger, paid.sid, pids["bea"], 5, "other", "ann").seq,
    }
    return world


def test_every_step_for_two_says_what_it_does_in_words(place):
    names = {place.pids["ada"]: "Ada", place.pids["bea"]: "Bea"}
    said = {found["step"]: found["says"] for found in steps.open_proposals(place.ledger, names)}
    assert set(said) == set(TWO_PEOPLE)
    # Who confirms it compares the key with what its owner says.
    assert said[kinds.STAFF_ADDED].startswith("bring in zoe as payer, with the key ed25519:")
    assert said[kinds.KEY_TRUSTED].endswith(" of lab for self, from 2026-02-15")
    # Two people may have one name: place and identifier are shown with it.
    ada, bea = (f"{name} (run:{name.lower()}, {place.pids[name.lower()]})" for name in ("Ada", "Bea"))
    assert said[kinds.REVIEWER_NAMED] == f"let reviews by {ada} count"
    assert said[kinds.PAYEE_SET] == f"pay {ada} under iban {IBAN}, name Ada"
    assert said[kinds.TERMS] == (
        "agree on the terms: name t, currency EUR, volume 1, min_share 0, max_share 1, newcomers 0.2, "
        "window_days 14, minimum_payout 1, domain default"
    )
    assert said[kinds.MAPPED] == f"take account pf:ada.l for {ada}"
    assert said[kinds.MERGED] == f"take {bea} and {ada} for one person"
    assert said[kinds.STAFF_RENEWED].startswith("let cat sign with the key ed25519:")
    assert said[kinds.CLOCK].startswith("mend the clock")
    assert said[kinds.ERASED] == f"erase all that is personal of {bea}, with nothing still open"
    assert said[kinds.REVERSED] == f"take back 0.000005 EUR of {bea} (other)"


def test_without_keys_what_is_personal_is_not_shown(place):
    found = steps.open_proposals(Ledger(place.ledger.engine, None), {})
    assert all(one["details"] == {} for one in found)
    assert not any(IBAN in one["says"] for one in found)


def test_all_are_confirmed_or_none(place):
    numbers = [place.asked[kinds.REVIEWER_NAMED], place.asked[kinds.STAFF_ADDED]]
    size = place.size()
    with pytest.raises(InputError, match="there is no proposal 9999"):
        steps.confirm_proposals(place.ledger, [*numbers, 9999], "bob")
    assert place.size() == size
    assert [e.kind for e in steps.confirm_proposals(place.ledger, numbers, "bob")] == [
        kinds.REVIEWER_NAMED,
        kinds.STAFF_ADDED,
    ]
    assert list(steps.list_staff(place.ledger).members) == [
        "ann",
        "bob",
        "cat",
        "zoe",
    ]
    with pytest.raises(ConflictError, match="was confirmed already"):
        steps.confirm_proposals(place.ledger, numbers, "bob")


def test_a_ledger_says_whether_one_person_keeps_it(place, tmp_path):
    from ledger.ledger_world import World

    assert not steps.list_staff(place.ledger).single_person
    alone = World(str(tmp_path / "o.db"), tmp_path / "o", tmp_path, ("ann",), single_person=True)
    assert steps.list_staff(alone.ledger).single_person
    alone.ledger.close()


def test_a_rehearsed_reversal_asks_nobody(place):
    size = place.size()
    steps.reverse(place.ledger.dry(), *_of(place), 1, "fraud", "ann")
    assert place.size() == size


def _of(place):

    with place.ledger.read() as connection:
        sid = list(settlements(connection).values())[-1].id
    return sid, place.pids["ada"]
