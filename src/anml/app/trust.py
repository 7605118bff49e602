"""Trust that follows who verified whom."""

from collections.abc import Sequence
from typing import NamedTuple

from anml.core.errors import InputError
from anml.core.signals.eigentrust import eigentrust
from anml.core.signals.policy import TrustRule
from anml.ledger import evidence, trust
from anml.ledger.store import Ledger, seconds, stamp


class Trusted(NamedTuple):
    """Trust by name, summing to one, and what it counts for in r at most, in good events."""

    trust: dict[str, float]
    endorsed: dict[str, float]


def trust_graph(ledger: Ledger, roots: Sequence[str], rule: TrustRule | None = None) -> Trusted:
    """EigenTrust over who verified whose work; needs people trusted beforehand."""
    rule = TrustRule(tuple(roots)) if rule is None else rule
    if not rule.roots:
        raise InputError("name who is trusted beforehand, here or as roots under [trust] in the policy")
    at = seconds(stamp(ledger.clock()))
    with ledger.read() as connection:
        found = evidence.of(connection)
    graph = trust.votes(found, at)
    if not graph:
        raise InputError("nobody has verified anybody in this ledger, so there is no graph to follow")
    return Trusted(eigentrust(graph, rule.roots, rule.restart), trust.endorsed(found, at, rule))
