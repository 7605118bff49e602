"""Rules of who is on record and where they stand: contributors, evidence, scores."""

import pytest

from anml.core.canonical import sha256
from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import keys, kinds
from anml.ledger.rules_people import RECORD_SOURCES
from anml.settlement.allocate import UNIT
from anml.signals.policy import DEFAULT_LEVELS as EVIDENCE_KINDS
from anml.signals.track_record import SOURCES
from ledger.ledger_hand import Hand, at, line, pid, public


@pytest.fixture
def hand() -> Hand:
    made = Hand()
    made.register(1, 2, 3)
    return made


def record(**changes) -> dict:
    return {"record": "r", "account": "a", **changes}


@pytest.mark.parametrize("name", ["ann", "c1", "C" + "0" * 32, "c" + "0" * 31, "c" + "g" * 32, ""])
def test_an_identifier_says_nothing_about_who_it_stands_for(hand, name):
    with pytest.raises(IntegrityError, match="is no identifier of a contributor"):
        hand.add(kinds.REGISTERED, name, record())


def test_nobody_is_registered_twice(hand):
    with pytest.raises(IntegrityError, match=f"contributor {pid(1)} is on record already"):
        hand.add(kinds.REGISTERED, pid(1), record())


@pytest.mark.parametrize(
    "kind",
    [
        kinds.CHANGED,
        kinds.CONTRIBUTION,
        kinds.EVIDENCE,
        kinds.SCORED,
        kinds.ERASED,
        kinds.REVIEWER_NAMED,
        kinds.MAPPED,
        kinds.PAYEE_SET,
    ],
)
@pytest.mark.parametrize("gone", [False, True])
def test_nothing_is_said_of_nobody_and_of_whom_was_erased(hand, kind, gone):
    empty = {str: "", int: 0, bool: False, list: [], object: None}
    body = {name: empty[wanted] for name, wanted in kinds.ENTRY_KINDS[kind].fields.items()}
    who = pid(1) if gone else pid(9)
    if gone:
        hand.add(kinds.ERASED, pid(1), {"reason": "asked", "also": [], "kept": [], "proposal": 0}, by="ann")
    by = "" if kinds.ENTRY_KINDS[kind].roles is None else "ann"
    with pytest.raises(AnmlError, match="was erased" if gone else "there is no contributor"):
        hand.add(kind, who, body, by=by)


# --- merging
def merge(hand: Hand, one: int, into: int) -> None:
    hand.by_two(kinds.MERGED, pid(one), {"into": pid(into)})


def test_debts_and_credits_follow_a_person_in_every_currency(hand):
    hand.post("s", [line(pid(1), 10)], 100)
    hand.post("t", [line(pid(1), 10)], 70, run="2", currency="USD")
    hand.days = 15
    hand.release("s", pid(1))
    hand.release("t", pid(1))
    merge(hand, 1, 2)
    assert [hand.balance(f"payable:{pid(1)}", c) for c in ("EUR", "USD")] == [0, 0]
    assert [hand.balance(f"payable:{pid(2)}", c) for c in ("EUR", "USD")] == [100, 70]


def test_what_is_held_stays_where_it_is_and_is_paid_to_the_whole_person(hand):
    hand.post("s", [line(pid(1), 10)], 100)
    merge(hand, 1, 2)
    assert hand.held("s", pid(1)) == 100
    hand.days = 15
    hand.release("s", pid(1))
    assert hand.balance(f"payable:{pid(2)}") == 100


def test_nobody_is_merged_twice_or_into_themselves(hand):
    with pytest.raises(ConflictError, match="is one person already"):
        merge(hand, 1, 1)
    merge(hand, 1, 2)
    for one, into in ((1, 3), (3, 1)):
        with pytest.raises(ConflictError, match=f"contributor {pid(1)} was merged into {pid(2)} before"):
            merge(hand, one, into)


def test_merges_never_run_in_a_circle(hand):
    merge(hand, 1, 2)
    merge(hand, 2, 3)
    with pytest.raises(ConflictError):
        merge(hand, 3, 1)
    assert hand.state.people.resolve(pid(1)) == pid(3)


# --- erasing
def test_an_erasure_is_of_a_whole_person(hand):
    merge(hand, 1, 2)
    body = {"reason": "asked", "kept": [], "proposal": 0}
    for subject, also in ((1, []), (1, [pid(2)]), (2, []), (2, [pid(1), pid(3)])):
        with pytest.raises(IntegrityError, match="an erasure is of a whole person"):
            hand.add(kinds.ERASED, pid(subject), {**body, "also": also}, by="ann")
    hand.add(kinds.ERASED, pid(2), {**body, "also": [pid(1)]}, by="ann")
    assert hand.state.people.erased == {pid(1), pid(2)}


# --- contributions, evidence, scores
@pytest.mark.parametrize("changes", [{"rows": 0}, {"rows": -1}, {"source": " ls"}, {"source": "ls\n"}])
def test_a_contribution_has_a_place_and_rows(hand, changes):
    body = {"batch": "b", "source": "ls", "domain": "d", "rows": 1, "paper": "", "sealed": ""}
    hand.check(kinds.CONTRIBUTION, pid(1), body)
    with pytest.raises(
        AnmlError, match=r"a contribution has a place and rows|a source is the name of a place"
    ):
        hand.check(kinds.CONTRIBUTION, pid(1), {**body, **changes})


def evidence(**changes) -> dict:
    return {"kind": "affiliation", "issuer": "https://lab.example", "at": at(), "scope": "*", "until": None,
            "vouched": "platform", "key": "", "paper": "", "sealed": "", **changes}  # fmt: skip


@pytest.mark.parametrize("kind", EVIDENCE_KINDS)
def test_every_kind_of_evidence_can_be_recorded(hand, kind):
    hand.check(kinds.EVIDENCE, pid(1), evidence(kind=kind))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "praise"}, "unknown kind of evidence 'praise'"),
        ({"vouched": "me"}, "unknown voucher 'me'"),
        ({"at": "soon"}, "a time is written like"),
        ({"at": ""}, "a time is written like"),
        ({"until": "never"}, "a time is written like"),
        ({"vouched": "signature"}, "evidence with a signature names the key of it"),
        ({"key": "k"}, "evidence with a signature names the key of it, and no other does"),
        ({"vouched": "signature", "key": "k"}, "the key 'k' is not one of 'https://lab.example'"),
    ],
)
def test_evidence_that_nobody_could_judge_later_is_refused(hand, changes, said):
    with pytest.raises(AnmlError, match=said):
        hand.check(kinds.EVIDENCE, pid(1), evidence(**changes))


def test_a_key_vouches_for_its_owner_in_its_time_and_for_its_rights(hand):
    name = sha256(public("lab"))[:16]
    said = {"owner": "https://lab.example", "public": keys.public_text(public("lab")), "may": ["affiliation"],
            "since": at(), "until": at(10)}  # fmt: skip
    hand.by_two(kinds.KEY_TRUSTED, name, said)
    good = evidence(vouched="signature", key=name)
    hand.check(kinds.EVIDENCE, pid(1), good)
    for changes, sentence in (
        ({"issuer": "https://other.example"}, "is not one of 'https://other.example'"),
        ({"kind": "reproduced"}, "may not attest 'reproduced'"),
        ({"at": at(-1)}, "is not valid for"),
    ):
        with pytest.raises(IntegrityError, match=sentence):
            hand.check(kinds.EVIDENCE, pid(1), {**good, **changes})
    hand.days = 10
    with pytest.raises(IntegrityError, match="is not valid for"):
        hand.check(kinds.EVIDENCE, pid(1), good)


def score(**changes) -> dict:
    return {"domain": "d", "source": "gold", "batch": "b", "at": at(), "quality": UNIT, "rows": 2, "of": 3,
            "items": ["1", "2"], **changes}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_of_scores_counts_an_item_once_for_itself(hand, source):
    hand.add(kinds.SCORED, pid(1), score(source=source))
    with pytest.raises(ConflictError, match=f"1 judgements by {source} were counted before"):
        hand.add(kinds.SCORED, pid(1), score(source=source, items=["2", "3"]))
    hand.add(kinds.SCORED, pid(1), score(source=source, items=["3", "4"]))
    for other in set(SOURCES) - {source}:
        hand.check(kinds.SCORED, pid(1), score(source=other))
    hand.check(kinds.SCORED, pid(2), score(source=source))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"quality": -1}, "a quality of 0..1000000000000 and rows, got -1"),
        ({"quality": UNIT + 1}, "a quality of 0..1000000000000"),
        ({"rows": 0, "items": []}, "a score has a quality"),
        ({"of": 1}, "a score has a quality"),
        ({"items": ["1"]}, "names each piece of work that it rests on once"),
        ({"items": ["1", "1"]}, "names each piece of work that it rests on once"),
        ({"items": [1, 2]}, "names each piece of work that it rests on once"),
        ({"source": "me"}, "unknown reputation source 'me'"),
        ({"at": "soon"}, "a time is written like"),
    ],
)
def test_scores_that_could_be_counted_twice_or_beyond_bounds_are_refused(hand, changes, said):
    with pytest.raises(AnmlError, match=said):
        hand.check(kinds.SCORED, pid(1), score(**changes))


@pytest.mark.parametrize("what", RECORD_SOURCES)
def test_records_are_signed_for_by_where_they_came_from(hand, what):
    hand.add(kinds.EVIDENCE, pid(1), evidence())
    assert [entry.kind for entry in hand.state.open] == [kinds.EVIDENCE]
    hand.add(kinds.RECORDS_SIGNED, "file", {"what": what}, by="cat")
    assert list(hand.state.open) == []
    hand.state.finish()


def test_another_origin_of_records_is_named(hand):
    with pytest.raises(AnmlError, match="unknown origin of records 'hearsay'; allowed: import, run, attest"):
        hand.add(kinds.RECORDS_SIGNED, "file", {"what": "hearsay"}, by="cat")
    with pytest.raises(InputError, match="say who you are"):
        hand.add(kinds.RECORDS_SIGNED, "file", {"what": "run"})
