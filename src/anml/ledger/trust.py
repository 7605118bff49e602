"""Who verified whom, as a graph that trust can follow."""

from collections.abc import Iterable, Mapping

from anml.core.signals.eigentrust import endorsements
from anml.core.signals.policy import Evidence, TrustRule

# What one says of another's work, and how it counts.
VOTES = {"review-accepted": 1.0, "reproduced": 1.0, "publication": 1.0, "review-rejected": -1.0}


def votes(found: Mapping[str, Iterable[Evidence]], at: float) -> dict[tuple[str, str], float]:
    """How far each vouches for each at one moment: what was accepted less what was rejected, not below 0."""
    sums: dict[tuple[str, str], float] = {}
    for pid, records in found.items():
        for e in records:
            stands = e.vouched != "nobody" and e.at <= at and (e.until is None or at < e.until)
            if stands and e.kind in VOTES and e.issuer != pid:
                sums[e.issuer, pid] = sums.get((e.issuer, pid), 0.0) + VOTES[e.kind]
    return {pair: value for pair, value in sums.items() if value > 0}


def endorsed(found: Mapping[str, Iterable[Evidence]], at: float, rule: TrustRule) -> dict[str, float]:
    """Good events that the trust in each contributor stands for; none without pre-trusted people."""
    if not rule.roots:
        return {}
    return endorsements(votes(found, at), rule.roots, rule.events, rule.restart)
