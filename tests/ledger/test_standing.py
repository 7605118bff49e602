"""Status of a contributor: reputation, prior contributions, newcomers, flags; by hand and by replay."""

import pytest

from anml.core.errors import ConflictError
from anml.ledger import evidence, kinds, signing, standing, two_people
from anml.ledger.evidence import EvidenceRecord
from anml.ledger.log import format_timestamp, parse_timestamp, seconds
from anml.ledger.signing import contributor_subject
from anml.ledger.standing import Score, contributor_statuses, eligible_reviewers, item_hash, scores
from anml.ledger.state_money import Settlements
from anml.settlement.allocate import UNIT
from anml.signals.track_record import ReputationEvent, ReputationRule, replay
from ledger.ledger_world import START, World, simple_rows

LAB = "https://lab.example"
DAY = 86_400


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Two contributors with ten settled rows and thirty days, and one who came today."""
    folder = tmp_path_factory.mktemp("standing")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob"))
    world.pids = world.establish("x", "y")
    world.pids |= world.register("run", ["new"])
    yield world
    world.ledger.close()


def score(
    pid: str, quality: float = 1.0, items=("1",), source: str = "gold", batch: str = "b", **more
) -> Score:
    marks = tuple(item_hash("t", item) for item in items)
    when = more.get("when", format_timestamp(START))
    return Score(
        pid, "default", source, batch, when, round(quality * UNIT), marks, more.get("of", len(marks))
    )


def of(tx, pid: str, days: float = 30, **more) -> standing.ContributorStatus:
    from datetime import timedelta

    return contributor_statuses(tx.connection, format_timestamp(START + timedelta(days=days)), **more)[pid]


def scored(tx, *made: Score) -> None:
    standing.add_scores(tx, made)
    evidence.sign_records(tx, "import", "test", "ann")


def vouched(tx, *records: EvidenceRecord) -> None:
    evidence.add_records(tx, records)
    evidence.sign_records(tx, "import", "test", "ann")


def test_an_item_is_marked_by_source_and_name_and_tells_neither():
    assert item_hash("a", "bc") != item_hash("ab", "c")
    assert len(item_hash("a", "b")) == 20
    assert item_hash("a", "b") == item_hash("a", "b")


# --- track record
def test_r_by_hand(shared):
    """One gold batch all right on the day of asking: (1 + 4 * 0.4) / (1 + 4) = 0.52."""

    def work(tx):
        scored(tx, score(shared.pids["x"]))
        found = of(tx, shared.pids["x"], days=0)
        assert found.track.r == pytest.approx(0.52)
        assert of(tx, shared.pids["y"], days=0).track.r == pytest.approx(0.4)

    shared.ledger.rehearse(work)


def test_part_of_a_batch_counts_as_that_part(shared):
    """One of four items judged is a quarter of a batch: (0.25 + 1.6) / (0.25 + 4)."""

    def work(tx):
        scored(tx, score(shared.pids["x"], of=4))
        assert of(tx, shared.pids["x"], days=0).track.r == pytest.approx(1.85 / 4.25)

    shared.ledger.rehearse(work)


def test_standings_are_a_replay_of_the_scores_in_the_log(shared):
    x = shared.pids["x"]

    def work(tx):
        scored(
            tx, score(x, 1.0, ("1",)), score(x, 0.25, ("2",), "review", "c"),
            score(x, 0.5, ("3",), "consensus", "d"), score(x, 1.0, ("4",), "held-out", "e"),
        )  # fmt: skip
        found = scores(tx.connection)[x, "default"]
        assert {(e.quality, e.source, e.batch, e.weight) for e in found} == {
            (1.0, "gold", "b", 1.0), (0.25, "review", "c", 1.0), (0.5, "consensus", "d", 1.0),
            (1.0, "held-out", "e", 1.0),
        }  # fmt: skip
        now = seconds(format_timestamp(START)) + 30 * DAY
        assert of(tx, x).track == replay(found, now, ReputationRule())

    shared.ledger.rehearse(work)


def test_scores_of_another_domain_are_another_record(shared):
    x = shared.pids["x"]

    def work(tx):
        scored(tx, score(x)._replace(domain="faces"))
        assert of(tx, x, days=0).track.r == pytest.approx(0.4)
        assert of(tx, x, days=0, domain="faces").track.r == pytest.approx(0.52)

    shared.ledger.rehearse(work)


def test_a_judgement_counts_once(shared):
    x = shared.pids["x"]

    def work(tx):
        assert standing.add_scores(tx, [score(x, items=("1", "2"))]) == 1
        with pytest.raises(ConflictError, match="1 judgements by gold were counted before"):
            standing.add_scores(tx, [score(x, items=("2", "3"))])
        evidence.sign_records(tx, "import", "test", "ann")

    shared.ledger.rehearse(work)


def test_scores_follow_a_person_through_a_merge(shared):
    x, y = shared.pids["x"], shared.pids["y"]

    def work(tx):
        scored(tx, score(x))
        made = two_people.propose(tx, kinds.MERGED, x, {"into": y}, "ann")
        two_people.confirm(tx, made.seq, "bob")
        found = contributor_statuses(tx.connection, format_timestamp(START))
        assert x not in found
        assert found[y].track.r == pytest.approx(0.52)
        # Twenty settled rows: ten of each.
        assert found[y].prior == 20

    shared.ledger.rehearse(work)


# --- newcomers
def test_who_is_new_and_what_they_need(shared):
    def work(tx):
        for who, new in (("x", False), ("new", True)):
            assert of(tx, shared.pids[who], days=40).newcomer == new
        found = of(tx, shared.pids["new"], days=31.5)
        assert found.needs == (
            "10 more contributions in settled runs and an account 4 days old (now 1.5)",
            "or one verification by somebody else",
        )
        assert of(tx, shared.pids["x"], days=40).needs == ()
        young = of(tx, shared.pids["x"], days=1)
        assert young.newcomer
        assert young.needs[0] == "an account 4 days old (now 1.0)"

    shared.ledger.rehearse(work)


def test_a_settlement_does_not_count_for_its_own_release(shared):
    def work(tx):
        (only,) = tx.state.part(Settlements).found
        assert of(tx, shared.pids["x"]).prior == 10
        without = of(tx, shared.pids["x"], without=only)
        assert (without.prior, without.newcomer) == (0, True)

    shared.ledger.rehearse(work)


def test_contributions_of_a_reversed_settlement_do_not_count(make_world):
    world = make_world("sqlite")
    folder = world.run(simple_rows({"x": 12}))
    sid = world.post(folder, "1")
    x = world.register("run", ["x"])["x"]
    with world.ledger.read() as connection:
        assert contributor_statuses(connection, format_timestamp(world.clock.now))[x].prior == 12
    world.post(folder, "2", supersedes=sid)
    with world.ledger.read() as connection:
        assert contributor_statuses(connection, format_timestamp(world.clock.now))[x].prior == 12


def test_one_verification_by_somebody_with_standing_ends_it(shared):
    new = shared.pids["new"]

    def work(tx):
        vouched(tx, EvidenceRecord("affiliation", new, "https://nobody.example", ""))
        assert of(tx, new, days=31).newcomer
        from ledger.ledger_hand import private, public

        made = two_people.propose_key(tx, LAB, public("lab"), None, None, None, "ann")
        two_people.confirm(tx, made.seq, "bob")
        paper = signing.attest(
            [contributor_subject(new)], LAB, ["ANML_AFFILIATION"], parse_timestamp(tx.now), private("lab")
        )
        evidence.add_envelope(tx, paper)
        evidence.sign_records(tx, "attestation", "test", "ann")
        found = of(tx, new, days=31)
        assert (found.newcomer, found.verified, found.verdict.level) == (False, True, "institution")

    shared.ledger.rehearse(work)


# --- flags
def test_a_rejected_item_is_no_flag_on_its_contributor_and_a_retraction_is(shared):
    x = shared.pids["x"]
    item = evidence.item_scope("b", "7")

    def work(tx):
        vouched(tx, EvidenceRecord("review-rejected", x, "platform", "", item))
        assert not of(tx, x, days=40).flagged
        vouched(tx, EvidenceRecord("retracted", x, "registry", "", item))
        found = of(tx, x, days=40)
        # The contributor as a whole is not judged by one item; the newcomer's floor is gone all the same.
        assert (found.flagged, found.verdict.level) == (True, "self-attested")

    shared.ledger.rehearse(work)


def test_a_flag_on_a_contributor_or_a_batch_counts_and_can_be_lifted(shared):
    x = shared.pids["x"]

    def work(tx):
        vouched(tx, EvidenceRecord("retracted", x, "registry", "", "batch:1"))
        assert of(tx, x, days=40).flagged
        vouched(tx, EvidenceRecord("reinstated", x, "registry", "", "batch:1"))
        assert not of(tx, x, days=40).flagged

    shared.ledger.rehearse(work)


# --- peers
def test_peers_are_reviewers_and_whose_gold_answers_were_right(shared):
    x, y, new = (shared.pids[name] for name in ("x", "y", "new"))

    def work(tx):
        scored(tx, score(x, 0.9), score(y, 0.5), score(new, 1.0, source="review"))
        reviewers, agreeing = eligible_reviewers(tx.connection, format_timestamp(START))
        # Half right is not mostly right, and a review is no gold answer.
        assert (reviewers, agreeing) == (set(), {x})
        made = two_people.propose(tx, kinds.REVIEWER_NAMED, y, {"on": True}, "ann")
        two_people.confirm(tx, made.seq, "bob")
        assert eligible_reviewers(tx.connection, format_timestamp(START)) == ({y}, {x, y})

    shared.ledger.rehearse(work)


def test_scored_work_reads_back_in_parts_of_one(shared):
    x = shared.pids["x"]

    def work(tx):
        scored(tx, score(x, 0.75, ("1", "2"), of=8))
        assert scores(tx.connection)[x, "default"] == [
            ReputationEvent(seconds(format_timestamp(START)), 0.75, "gold", "b", 0.25)
        ]

    shared.ledger.rehearse(work)
