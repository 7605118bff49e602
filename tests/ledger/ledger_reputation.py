"""Track records event by event and the graph of trust, computed from the ledger."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from anml.core.errors import InputError
from anml.ledger import evidence
from anml.ledger.log import format_timestamp, seconds
from anml.ledger.standing import scores
from anml.ledger.state import load_component
from anml.ledger.state_people import Contributors
from anml.ledger.store import Ledger
from anml.signals.eigentrust import eigentrust
from anml.signals.policy import Policy, TrustRule
from anml.signals.track_record import ReputationState, replay, sort_key


def replay_history(
    ledger: Ledger, pid: str, domain: str = "default", at: str | None = None, policy: Policy | None = None
) -> tuple[list[dict[str, Any]], ReputationState]:
    """A contributor's r after each event, by the graph of who verified whom as it was then; and now."""
    following = (policy or Policy()).trust
    with ledger.read() as connection:
        if pid not in load_component(Contributors, connection).since:
            raise InputError(f"there is no contributor {pid!r} in this ledger")
        history = scores(connection).get((pid, domain), [])
        vouched = evidence.effective_records(connection, rule=following)
        trusted = evidence.trusted_roots(connection, following)
        limit = seconds(at or format_timestamp(ledger.clock()))
    known = sorted((e for e in history if e.at <= limit), key=sort_key)

    def after(count: int, when: float) -> ReputationState:
        endorsed = evidence.endorsement_counts(vouched, when, following, trusted).get(pid, 0.0)
        return replay(known[:count], when, None, endorsed)

    steps = []
    for count, e in enumerate(known, start=1):
        at, track = format_timestamp(datetime.fromtimestamp(e.at, UTC)), after(count, e.at)
        steps.append({"at": at, "source": e.source, "batch": e.batch, "quality": e.quality,
                      "endorsed": track.endorsed, "r": track.r})  # fmt: skip
    return steps, after(len(known), limit)


def trust_graph(
    ledger: Ledger, roots: Sequence[str] = (), rule: TrustRule | None = None
) -> dict[str, dict[str, float]]:
    """EigenTrust over who verified whose work, and what it counts for at most; needs people to begin with.

    `trust` sums to one, and `endorsed` is in good events.
    """
    rule = rule or TrustRule()
    rule = replace(rule, roots=tuple(sorted({*roots, *rule.roots})))
    at = seconds(format_timestamp(ledger.clock()))
    with ledger.read() as connection:
        records = evidence.effective_records(connection, at=at, rule=rule)
        trusted = evidence.trusted_roots(connection, rule)
    if not trusted:
        raise InputError(
            "nobody is trusted beforehand: trust a key, name a reviewer, or name roots here or in the policy"
        )
    graph = evidence.trust_votes(records, at)
    if not graph:
        raise InputError("nobody has verified anybody in this ledger, so there is no graph to follow")
    endorsed = evidence.endorsement_counts(records, at, rule, trusted)
    return {"trust": eigentrust(graph, trusted, rule.restart), "endorsed": endorsed}
