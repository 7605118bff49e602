"""Nothing is decided against somebody but by a person who is named, and everybody can say no to it."""

import json

import polars as pl
import pytest

from anml.core.canonical import canonical, sha256
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import keys, kinds
from anml.ledger.pay import disputes, settle, statement
from anml.ledger.pay.disputes import decision_report, decisions_csv
from anml.ledger.pay.settle import release_settlement
from anml.ledger.rules import appeal_bytes
from anml.ledger.rules_money import reductions_digest
from anml.ledger.services import attest
from anml.ledger.services.verify import verify
from anml.ledger.signing import from_file, signature
from anml.settlement.manifest import reduced_payouts
from ledger.ledger_hand import Hand, line, pid
from ledger.ledger_queries import events
from ledger.ledger_world import World, hash_run, simple_rows


def judged_run(world: World):
    """Ann is right nine times in ten, Ben in six; Ben says cat where dog is likelier."""
    rows = simple_rows({"ann": 10, "ben": 10}).with_columns(
        p_correct=pl.Series([0.9] * 10 + [0.6] * 10),
        label=pl.Series(["dog"] * 10 + ["cat"] * 10),
        suggested_label=pl.Series(["dog"] * 14 + ["cat"] * 2 + ["dog"] * 4),
    )
    folder = world.run(rows)
    table = pl.DataFrame(
        {"contributor": ["ann", "ben"], "verdict": ["reliable", "less reliable"], "accuracy": [0.9, 0.6],
         "accuracy_low": [0.8, 0.5], "accuracy_high": [0.95, 0.7], "kappa": [0.8, 0.2],
         "kappa_low": [0.6, 0.0], "kappa_high": [0.9, 0.4]}
    )  # fmt: skip
    table.write_csv(folder / "contributors.csv")
    info = json.loads((folder / "run.json").read_text())
    hash_run(folder, info | {"recipe": {"combine": "evidence"}, "task": {"name": "classification"}})
    return folder


def last(world: World, kind: str):
    with world.ledger.read() as connection:
        return list(events(connection, [kind]))[-1]


# --- by hand
def test_who_gets_less_than_their_rows_by_hand():
    given = {"a": (70, {"rows": 1}), "b": (30, {"rows": 1}), "c": (0, {"rows": 2})}
    assert reduced_payouts(given, 100, 0) == {"c": [0, 50]}
    assert reduced_payouts(given, 100, 40) == {"b": [30, 40], "c": [0, 80]}


def test_an_approval_that_decides_over_nobody_is_refused():
    hand = Hand(decisions=True)
    hand.register(1, 2)
    lines = [line(pid(1), 3), line(pid(2), 1)]
    hand.draft("s1", lines, 100)
    body = {"manifest": hand.documents and next(iter(hand.documents)), "head": hand.log[-1].body["head"]}
    for said in ({}, {"below": ""}, {"below": reductions_digest({pid(2): [24, 50]})}):
        with pytest.raises(IntegrityError, match="it does not decide over those who get less"):
            hand.check(kinds.APPROVED, "s1", {**body, **said, "because": ""}, settlement="s1", by="bob")
    right = {"below": reductions_digest({pid(2): [25, 50]}), "because": ""}
    assert hand.check(kinds.APPROVED, "s1", body | right, settlement="s1", by="bob")
    with pytest.raises(InputError, match="a reason is one line"):
        hand.check(kinds.APPROVED, "s1", body | right | {"because": "a\nb"}, settlement="s1", by="bob")


# --- statements
def test_a_statement_says_how_its_figures_came_to_be(world):
    world.establish("ann", "ben")
    sid = world.draft(judged_run(world), "100").id
    settle.approve_settlement(world.ledger, sid, "bob", because="as agreed in spring")
    made = {s["name"]: s for s in statement.build(world.ledger, sid).values()}
    said = "\n".join(made["ben"]["reasons"])
    for words in (
        "An estimated 60% of your labels are correct (50% to 70%); kappa 0.20 (0.00 to 0.40)",
        "Most frequent probable error: 'cat' instead of 'dog' (8 of your labels).",
        "would be 50.00 EUR. That you get less was decided by bob on 2026-01-31",
        "who was shown your line: as agreed in spring.",
    ):
        assert words in said
    assert "decided by" not in "\n".join(made["ann"]["reasons"])
    assert made["ben"]["appeal_until"] == "2026-02-14 00:00 UTC"
    assert "weighed by the probability that each is correct" in made["ben"]["how"]


# --- flags
def flag(world: World, tmp_path, who: str) -> None:
    public = keys.read_public(keys.create_signer(tmp_path / "lab.pem"))
    world.trust(public, "lab", may=["admin-flag"])
    attest.record_attestations(
        world.ledger,
        {"": attest.sign_attestation(tmp_path / "lab.pem", "lab", ["ANML_FLAG"], world.clock.now, [who])},
    )


@pytest.fixture
def flagged(world, tmp_path) -> tuple[World, str, dict[str, str]]:
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    flag(world, tmp_path, pids["ben"])
    world.clock.pass_days(15)
    return world, sid, pids


def test_who_gets_less_may_appeal_for_two_weeks_though_the_window_is_none(world):
    """The time to dispute ended with the approval, before any statement could be read."""
    sid = world.post(judged_run(world), "30", window_days=0)
    pids = {one["name"]: pid for pid, one in statement.build(world.ledger, sid).items()}
    made = statement.build(world.ledger, sid)
    assert "before 2026-01-15" in made[pids["ben"]]["appeal"]
    assert "ended on 2026-01-01" in made[pids["ann"]]["appeal"]
    world.clock.pass_days(13.9)
    with pytest.raises(ConflictError, match="the dispute window of settlement"):
        disputes.open_dispute(world.ledger, sid, pids["ann"], "wrong-weight")
    disputes.open_dispute(world.ledger.dry(), sid, pids["ben"], "wrong-weight")
    world.clock.pass_days(0.2)
    with pytest.raises(ConflictError, match="the dispute window of settlement"):
        disputes.open_dispute(world.ledger, sid, pids["ben"], "wrong-weight")


def test_a_flag_holds_nothing_by_itself(flagged):
    world, sid, _ = flagged
    before = world.size()
    with pytest.raises(ConflictError, match=r"ben is flagged .*--pay ben, or --hold ben --because WHY"):
        release_settlement(world.ledger, sid, by="dan")
    assert world.size() == before


def test_who_holds_an_amount_is_named_says_why_and_can_be_appealed(flagged):
    world, sid, pids = flagged
    with pytest.raises(InputError, match="say --because"):
        release_settlement(world.ledger, sid, by="dan", hold=[pids["ben"]])
    with pytest.raises(InputError, match="ann is not flagged"):
        release_settlement(world.ledger, sid, by="dan", hold=[pids["ann"], pids["ben"]], because="x")
    done = release_settlement(
        world.ledger, sid, by="dan", hold=[pids["ben"]], because="two labs asked us to wait"
    )
    assert (set(done.released), done.kept) == ({pids["ann"]}, (pids["ben"],))
    assert last(world, kinds.RELEASED_ALL).by == "dan"
    # The same flag is not decided over again; the appeal is open although the window is over.
    again = release_settlement(world.ledger, sid, by="eve")
    assert "dan decided on" in again.waiting[pids["ben"]]
    made = statement.build(world.ledger, sid)[pids["ben"]]
    assert any("as dan decided on" in reason and "two labs" in reason for reason in made["reasons"])
    disputes.open_dispute(world.ledger, sid, pids["ben"], "wrong-evidence", text="not me", by="eve")
    for outcome, reason in (("rejected", "as-computed"), ("upheld", "evidence-corrected")):
        with pytest.raises(ConflictError, match="'dan' decided that this amount stays held; another person"):
            disputes.answer(world.ledger, sid, pids["ben"], outcome, reason, by="dan")
    disputes.answer(world.ledger, sid, pids["ben"], "upheld", "evidence-corrected", by="cat")
    paid = release_settlement(world.ledger, sid, by="eve", pay=[pids["ben"]])
    assert paid.released == {pids["ben"]: 5_000_000}
    assert not verify(world.ledger).problems


def test_two_weeks_after_a_decision_the_appeal_is_over(flagged):
    world, sid, pids = flagged
    release_settlement(world.ledger, sid, by="dan", hold=[pids["ben"]], because="why")
    world.clock.pass_days(14)
    with pytest.raises(ConflictError, match=r"the dispute window of settlement .* ended on"):
        disputes.open_dispute(world.ledger, sid, pids["ben"], "other", by="eve")


# --- appeals that contributors sign
def appealed(world: World, tmp_path, sid: str, who: str, **changes) -> dict[str, str]:
    path = tmp_path / "own.pem"
    public = keys.read_public(keys.create_signer(path)) if not path.exists() else None
    if public is not None:
        world.trust(public, who)
    own = from_file(path)
    text, salt = "I did twenty", "00" * 16
    paper = sha256(canonical({"text": text, "salt": salt}))
    signed = signature(own, appeal_bytes("test-ledger", sid, who, "wrong-count", paper))
    return {"settlement": sid, "contributor": who, "reason": "wrong-count", "text": text, "salt": salt,
            "public": keys.public_text(own.public), "signature": signed, **changes}  # fmt: skip


def read(tmp_path, value: dict, sid: str, who: str) -> dict[str, str]:
    (tmp_path / "appeal.json").write_text(json.dumps(value))
    return disputes.read_appeal(tmp_path / "appeal.json", sid, who)


def test_an_appeal_carries_the_signature_of_the_contributor(world, tmp_path):
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    own = read(tmp_path, appealed(world, tmp_path, sid, pids["ben"]), sid, pids["ben"])
    disputes.open_dispute(world.ledger, sid, pids["ben"], "", signed=own, by="eve")
    made = statement.build(world.ledger, sid)[pids["ben"]]["disputes"][0]
    assert (made["signed_by_contributor"], made["text"]) == (True, "I did twenty")
    assert made["due"] == "2026-02-14 00:00 UTC"
    assert not verify(world.ledger).problems


@pytest.mark.parametrize("lie", [{"text": "I am happy"}, {"reason": "other"}, {"salt": "11" * 16}])
def test_nobody_puts_words_into_a_signed_appeal(world, tmp_path, lie):
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    own = read(tmp_path, appealed(world, tmp_path, sid, pids["ben"], **lie), sid, pids["ben"])
    with pytest.raises(IntegrityError, match="the contributor did not sign this appeal"):
        disputes.open_dispute(world.ledger, sid, pids["ben"], "", signed=own, by="eve")


def test_the_key_of_another_signs_no_appeal(world, tmp_path):
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    value = appealed(world, tmp_path, sid, pids["ben"])
    with pytest.raises(InputError, match="is an appeal of"):
        read(tmp_path, value, sid, pids["ann"])
    own = read(tmp_path, value | {"contributor": pids["ann"]}, sid, pids["ann"])
    with pytest.raises(IntegrityError, match="is not one of contributor"):
        disputes.open_dispute(world.ledger, sid, pids["ann"], "", signed=own, by="eve")


# --- the list for those who watch over it
def test_the_list_names_judgements_decisions_appeals_and_changes(world):
    pids = world.establish("ann", "ben")
    sid = world.draft(judged_run(world), "100").id
    settle.approve_settlement(world.ledger, sid, "bob")
    disputes.open_dispute(world.ledger, sid, pids["ben"], "wrong-count", by="eve", text="private words")
    world.clock.pass_days(15)
    late = decision_report(world.ledger, sid)
    by = {one["contributor"]: one for one in late["judgements"]}
    assert by[pids["ben"]]["unanswered_since"] == "2026-02-14 00:00 UTC"
    disputes.answer(
        world.ledger, sid, pids["ben"], "upheld", "count-corrected", correction=2_000_000, by="cat"
    )
    disputes.resolve(world.ledger, sid, pids["ben"], by="dan")
    made = decision_report(world.ledger, sid)
    by = {one["contributor"]: one for one in made["judgements"]}
    ben, ann = by[pids["ben"]], by[pids["ann"]]
    assert (ben["below_rows"], ben["by_rows"], ben["decided_by"]) == (True, 50_000_000, "bob")
    assert (ann["below_rows"], ann["appeals"], ann["changes"]) == (False, [], [])
    assert [(c["kind"], c["by"], c["amount"]) for c in ben["changes"]] == [
        ("dispute.resolved", "dan", 2_000_000)
    ]
    assert ben["appeals"][0]["outcome"] == "upheld"
    whole = json.dumps(made) + decisions_csv(made)
    assert "private words" not in whole
    assert '"ben"' not in whole
    assert decision_report(world.ledger, sid, names=True)["judgements"][0]["name"] in ("ann", "ben")
