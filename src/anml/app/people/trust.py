"""Trust that follows who verified whom."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from anml.core.errors import InputError
from anml.core.signals.eigentrust import eigentrust
from anml.core.signals.policy import TrustRule
from anml.ledger import evidence, kinds, trust, two_people
from anml.ledger.log import Event
from anml.ledger.store import Ledger
from anml.ledger.times import seconds, stamp


class Trusted(NamedTuple):
    """Trust by name, summing to one, and what it counts for in r at most, in good events."""

    trust: dict[str, float]
    endorsed: dict[str, float]


def trust_graph(ledger: Ledger, roots: Sequence[str] = (), rule: TrustRule | None = None) -> Trusted:
    """EigenTrust over who verified whose work; needs people trusted beforehand."""
    rule = rule or TrustRule()
    rule = replace(rule, roots=tuple(sorted({*roots, *rule.roots})))
    at = seconds(stamp(ledger.clock()))
    with ledger.read() as connection:
        found = evidence.of(connection, at=at, rule=rule)
        trusted = trust.roots(connection, rule)
    if not trusted:
        raise InputError(
            "nobody is trusted beforehand: trust a key, name a reviewer, or name roots here or in the policy"
        )
    graph = trust.votes(found, at)
    if not graph:
        raise InputError("nobody has verified anybody in this ledger, so there is no graph to follow")
    return Trusted(eigentrust(graph, trusted, rule.restart), trust.endorsed(found, at, rule, trusted))


def name_reviewer(ledger: Ledger, pid: str, by: str | None, *, on: bool = True) -> Event:
    """Propose that somebody's reviews count, or no longer do."""
    return ledger.write(lambda tx: two_people.propose(tx, kinds.NAMED, pid, {"on": on}, by))
