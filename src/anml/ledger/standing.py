"""Status of a contributor: reputation, account age, number of contributions, and attestations."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from anml.core.canonical import sha256
from anml.ledger import evidence, kinds
from anml.ledger.log import seconds
from anml.ledger.records import Credits, ScoreLog
from anml.ledger.signing import ANY_SUBJECT
from anml.ledger.state import Where, load_component
from anml.ledger.state_money import Settlements
from anml.ledger.state_people import Contributors
from anml.ledger.writer import Writer
from anml.signals.eigentrust import reachable
from anml.signals.policy import AttestationRecord, ContributorStatus, Policy, VerificationResult
from anml.signals.track_record import DAY, ReputationEvent, ReputationRule, apply_newcomer_floor, replay

# A contributor is a peer whose agreement counts once gold answers were mostly right.
GOOD_GOLD = 0.5


class Score(NamedTuple):
    """The quality of some work, in parts of `UNIT`: of `items` judged anew among those `of` the batch."""

    pid: str
    domain: str
    source: str
    batch: str
    at: str
    quality: int
    items: tuple[str, ...]
    of: int


def item_hash(source: str, item: str) -> str:
    """A piece of work as the log names it: a hash, since its name may be personal."""
    return sha256(f"{source}\x00{item}".encode())[:20]


def add_scores(tx: Writer, scores: Iterable[Score]) -> int:
    """Record scored work; a judgement that was counted before is refused. Returns how many are new."""
    made = list(scores)
    for score in made:
        body: dict[str, Any] = {name: value for name, value in score._asdict().items() if name != "pid"}
        body |= {"items": sorted(score.items), "rows": len(score.items)}
        tx.append(kinds.SCORED, f"score/{tx.next_seq}/{score.pid}", score.pid, body)
    return len(made)


def scores(where: Where) -> dict[tuple[str, str], list[ReputationEvent]]:
    """All scored work by contributor and domain."""
    people = load_component(Contributors, where)
    found: dict[tuple[str, str], list[ReputationEvent]] = defaultdict(list)
    for pid, domain, scored in load_component(ScoreLog, where).found:
        found[people.resolve(pid), domain].append(scored)
    return found


def eligible_reviewers(where: Where, at: str, policy: Policy | None = None) -> tuple[set[str], set[str]]:
    """Return the contributors whose reviews count, and those whose agreement counts as well.

    Agreement also counts for contributors with mostly correct labels on items with a true label.
    """
    rule = (policy or Policy()).trust
    reviewers = set(
        reachable(
            evidence.trust_votes(evidence.unfiltered_records(where), seconds(at)),
            evidence.trusted_roots(where, rule),
        )
    )
    gold: dict[str, list[float]] = defaultdict(list)
    for (pid, _), own in scores(where).items():
        gold[pid] += [e.quality for e in own if e.source == "gold"]
    good = {pid for pid, each in gold.items() if each and sum(each) / len(each) > GOOD_GOLD}
    return reviewers, reviewers | good


def contributor_statuses(
    where: Where, at: str, domain: str = "default", policy: Policy | None = None, without: str = ""
) -> dict[str, ContributorStatus]:
    """Every contributor's standing at `at`; contributions settled in `without` do not count as prior."""
    policy, rule = policy or Policy(), ReputationRule()
    people, now = load_component(Contributors, where), seconds(at)
    scored = scores(where)
    vouched = evidence.effective_records(where, at=now, rule=policy.trust)
    endorsed = evidence.endorsement_counts(
        vouched, now, policy.trust, evidence.trusted_roots(where, policy.trust)
    )
    since: dict[str, str] = {}
    for pid, start in people.since.items():
        whole = people.resolve(pid)
        since[whole] = min(since.get(whole, start), start)
    prior = _prior(where, people, without)
    found = {}
    for pid, start in sorted(since.items()):
        track = replay(scored.get((pid, domain), []), now, rule, endorsed.get(pid, 0.0))
        verdict, flags, verified = _verdict(policy, vouched.get(pid, []), now)
        age_days = (now - seconds(start)) / DAY
        needs = () if verified else _newcomer_requirements(prior[pid], age_days, rule)
        r = apply_newcomer_floor(track.r, prior[pid], age_days, flagged=bool(flags), rule=rule)
        found[pid] = ContributorStatus(
            pid, start, prior[pid], track, r, verdict, flags, verified, bool(needs), needs
        )
    return found


def _newcomer_requirements(prior: int, age_days: float, rule: ReputationRule) -> tuple[str, ...]:
    """Return the requirements that end an unverified contributor's newcomer status; empty if met."""
    needs = []
    if prior < rule.floor.contributions:
        needs.append(f"{rule.floor.contributions - prior} more contributions in settled runs")
    if age_days < rule.floor_age_days:
        needs.append(f"an account {rule.floor_age_days:g} days old (now {age_days:.1f})")
    return (" and ".join(needs), "or one verification by somebody else") if needs else ()


def _prior(where: Where, people: Contributors, without: str) -> dict[str, int]:
    """Contributions that were settled; ten rows that nobody could use are no record: only kept ones count."""
    prior: dict[str, int] = defaultdict(int)
    known = load_component(Settlements, where).found.values()
    void = {without, *(found.id for found in known if found.state == "reversed")}
    for (sid, pid), facts in load_component(Credits, where).given.items():
        prior[people.resolve(pid)] += facts["counted"] if sid not in void else 0
    return prior


def _verdict(
    policy: Policy, found: list[AttestationRecord], at: float
) -> tuple[VerificationResult, tuple[int, ...], bool]:
    """The verdict over all evidence, the open flags, and whether anybody else vouched.

    A rejected item is judged with that item and does not make its contributor a suspect; a flag on the
    contributor or a batch, or a retraction of anything, does, and voids the newcomer's floor.
    """
    by_scope = evidence.group_by_scope(found)
    verdicts = {scope: policy.judge(records, at) for scope, records in by_scope.items()}
    whole = policy.judge(by_scope.get(ANY_SUBJECT, []), at)
    kinds = {record.id: record.kind for record in found}
    flags = sorted(
        number
        for scope, verdict in verdicts.items()
        for number in (verdict.evidence if verdict.level == "flagged" else ())
        if not scope.startswith("item:") or kinds[number] != "review-rejected"
    )
    # A line of a file that anybody can edit ends nobody's hold: a signature does.
    levels = {policy.judge([record], at).level for record in found if record.vouched == "signature"}
    verified = bool(levels - {"flagged", "self-attested", "concern"}) and whole.level != "flagged"
    return whole, tuple(flags), verified
