"""Where a contributor stands: track record, age, contributions so far, and what others vouched for."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.errors import InputError
from anml.core.settle import UNIT
from anml.core.signals.policy import Evidence, Policy, Verdict
from anml.core.signals.track_record import DAY, SOURCES, Scored, Track, TrackRule, replay, with_floor
from anml.ledger import evidence, people, trust
from anml.ledger.log import Writer, events, known_keys
from anml.ledger.store import seconds

SCORED = "reputation.scored"
CREDITED = "credit.held"


class Score(NamedTuple):
    """The quality of one batch of a contributor's work, as integer parts of `UNIT`."""

    pid: str
    domain: str
    source: str
    batch: str
    at: str
    quality: int
    rows: int


class Standing(NamedTuple):
    """A contributor at one moment, in one domain."""

    pid: str
    since: str
    prior: int
    track: Track
    r: float
    verdict: Verdict
    flagged: bool
    verified: bool
    newcomer: bool
    needs: tuple[str, ...]


def add_scores(tx: Writer, scores: Iterable[Score]) -> int:
    """Record scored work; one batch is scored once by each source. Returns how many are new."""
    bodies: dict[str, tuple[str, dict[str, Any]]] = {}
    for score in scores:
        if score.source not in SOURCES or not 0 <= score.quality <= UNIT or score.rows < 1:
            raise InputError(f"a score has a known source, a quality of 0..{UNIT} and rows, got {score}")
        body = {name: value for name, value in score._asdict().items() if name != "pid"}
        bodies[f"score/{score.batch}/{score.pid}/{score.source}/{score.domain}"] = (score.pid, body)
    known = known_keys(tx.connection, list(bodies))
    fresh = [(key, *rest) for key, rest in bodies.items() if key not in known]
    for key, pid, body in fresh:
        tx.append(SCORED, key, pid, body)
    return len(fresh)


def scores(connection: sa.Connection) -> dict[tuple[str, str], list[Scored]]:
    """All scored work by contributor and domain."""
    merged = people.merges(connection)
    found: dict[tuple[str, str], list[Scored]] = defaultdict(list)
    for e in events(connection, [SCORED]):
        body = e.body
        found[people.resolve(e.subject, merged), body["domain"]].append(
            Scored(seconds(body["at"]), body["quality"] / UNIT, body["source"], body["batch"])
        )
    return found


def standings(
    connection: sa.Connection,
    at: str,
    domain: str = "default",
    policy: Policy | None = None,
    rule: TrackRule | None = None,
    without: str = "",
) -> dict[str, Standing]:
    """Every contributor's standing at `at`; contributions settled in `without` do not count as prior."""
    policy, rule = policy or Policy(), rule or TrackRule()
    merged = people.merges(connection)
    scored, vouched = scores(connection), evidence.of(connection)
    endorsed = trust.endorsed(vouched, seconds(at), policy.trust)
    since: dict[str, str] = {}
    prior: dict[str, int] = defaultdict(int)
    void = {without} | {e.subject for e in events(connection, ["settlement.reversed"])}
    for e in events(connection, ["contributor.registered", CREDITED]):
        pid = people.resolve(e.subject, merged)
        if e.kind == CREDITED:
            # Ten rows that nobody could use are no record: only kept ones count.
            prior[pid] += e.body["counted"] if e.settlement not in void else 0
        else:
            since[pid] = min(since.get(pid, e.at), e.at)
    return {
        pid: _standing(
            pid,
            start,
            prior[pid],
            replay(scored.get((pid, domain), []), seconds(at), rule, endorsed.get(pid, 0.0)),
            _verdict(policy, vouched.get(pid, []), seconds(at)),
            (seconds(at) - seconds(start)) / DAY,
            rule,
        )
        for pid, start in sorted(since.items())
        if pid not in merged
    }


def _verdict(policy: Policy, found: list[Evidence], at: float) -> tuple[Verdict, bool, bool]:
    """The verdict over all evidence, whether anything is flagged, and whether anybody else vouched.

    A rejected item is judged with that item and does not make its contributor a suspect; a flag on the
    contributor or a batch, or a retraction of anything, does, and voids the newcomer's floor.
    """
    by_scope: dict[str, list[Evidence]] = defaultdict(list)
    for record in found:
        by_scope[record.scope].append(record)
    verdicts = {scope: policy.judge(records, at) for scope, records in by_scope.items()}
    whole = policy.judge(by_scope.get(evidence.EVERYTHING, []), at)
    kinds = {record.id: record.kind for record in found}
    flagged = any(
        verdict.level == "flagged"
        and (not scope.startswith("item:") or any(kinds[i] != "review-rejected" for i in verdict.evidence))
        for scope, verdict in verdicts.items()
    )
    weak = ("flagged", "self-attested", "concern")
    verified = any(verdict.level not in weak for verdict in verdicts.values())
    return whole, flagged, verified


def _standing(
    pid: str,
    since: str,
    prior: int,
    track: Track,
    judged: tuple[Verdict, bool, bool],
    age_days: float,
    rule: TrackRule,
) -> Standing:
    verdict, flagged, verified = judged
    limit = rule.floor.contributions
    newcomer = (prior < limit or age_days < rule.floor_age_days) and not verified
    needs: list[str] = []
    if newcomer:
        if prior < limit:
            needs.append(f"{limit - prior} more contributions in settled runs")
        if age_days < rule.floor_age_days:
            needs.append(f"an account {rule.floor_age_days:g} days old (now {age_days:.1f})")
        needs = [" and ".join(needs), "or one verification by somebody else"]
    r = with_floor(track.r, prior, age_days, flagged=flagged, rule=rule)
    return Standing(pid, since, prior, track, r, verdict, flagged, verified, newcomer, tuple(needs))
