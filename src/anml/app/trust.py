"""Trust that follows who verified whom."""

from anml.core.errors import InputError
from anml.core.signals.eigentrust import eigentrust
from anml.ledger import evidence
from anml.ledger.store import Ledger


def trust_graph(ledger: Ledger, trusted: list[str]) -> dict[str, float]:
    """EigenTrust over who accepted or reproduced whose work; needs people trusted beforehand."""
    votes: dict[tuple[str, str], float] = {}
    with ledger.read() as connection:
        for pid, records in evidence.of(connection).items():
            for e in records:
                if e.kind in ("review-accepted", "reproduced") and e.vouched != "nobody":
                    votes[e.issuer, pid] = votes.get((e.issuer, pid), 0.0) + 1.0
    if not votes:
        raise InputError("nobody has verified anybody in this ledger, so there is no graph to follow")
    return eigentrust(votes, trusted)
