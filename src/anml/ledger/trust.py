"""Who verified whom, as a graph from those whom two people of the staff, or the policy, trust beforehand."""

from collections.abc import Iterable, Mapping

from anml.core.signals.eigentrust import endorsements
from anml.core.signals.policy import Evidence, TrustRule
from anml.ledger.parts import Keys, People
from anml.ledger.state import Where, loaded

# What one says of another's work, and how it counts.
VOTES = {
    **dict.fromkeys(("review-accepted", "reproduced", "publication", "affiliation"), 1.0),
    "review-rejected": -1.0,
}


def votes(found: Mapping[str, Iterable[Evidence]], at: float) -> dict[tuple[str, str], float]:
    """How far each vouches for each at one moment: what was accepted less what was rejected, not below 0."""
    sums: dict[tuple[str, str], float] = {}
    for pid, records in found.items():
        for e in records:
            stands = e.vouched != "nobody" and e.at <= at and (e.until is None or at < e.until)
            if stands and e.kind in VOTES and e.issuer != pid:
                sums[e.issuer, pid] = sums.get((e.issuer, pid), 0.0) + VOTES[e.kind]
    return {pair: value for pair, value in sums.items() if value > 0}


def roots(where: Where, rule: TrustRule) -> tuple[str, ...]:
    """Everybody who is trusted beforehand."""
    people = loaded(People, where)
    keys = loaded(Keys, where).known.values()
    owners = {key.owner for key in keys if not key.compromised and key.owner not in people.since}
    named = {people.resolve(pid) for pid in people.reviewers if pid not in people.erased}
    return tuple(sorted(owners | named | {people.resolve(name) for name in rule.roots}))


def endorsed(
    found: Mapping[str, Iterable[Evidence]], at: float, rule: TrustRule, trusted: Iterable[str]
) -> dict[str, float]:
    """Good events that the trust in each contributor stands for; none without pre-trusted people."""
    names = tuple(trusted)
    return endorsements(votes(found, at), names, rule.events, rule.restart) if names else {}
