"""Track records: shown with their intervals, and replayed from scratch."""

from typing import NamedTuple

from anml.core.signals.policy import Policy
from anml.core.signals.track_record import Scored, Track, TrackRule, in_order, replay
from anml.ledger.standing import Standing, scores, standings
from anml.ledger.store import Ledger, seconds, stamp


def show(
    ledger: Ledger, domain: str = "default", at: str | None = None, policy: Policy | None = None
) -> dict[str, Standing]:
    """Where every contributor stands."""
    with ledger.read() as connection:
        return standings(connection, at or stamp(ledger.clock()), domain, policy)


class Step(NamedTuple):
    """One event of a track record and r after it."""

    event: Scored
    track: Track


def replay_history(
    ledger: Ledger, pid: str, domain: str = "default", at: str | None = None, rule: TrackRule | None = None
) -> list[Step]:
    """Recompute a contributor's r from scratch, event by event, from what the log holds."""
    with ledger.read() as connection:
        history = scores(connection).get((pid, domain), [])
        limit = seconds(at or stamp(ledger.clock()))
    known = sorted((e for e in history if e.at <= limit), key=in_order)
    return [Step(e, replay(known[: i + 1], e.at, rule)) for i, e in enumerate(known)]
