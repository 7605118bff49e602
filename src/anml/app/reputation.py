"""Track records: shown with their intervals, replayed from scratch, fed by runs."""

from pathlib import Path
from typing import NamedTuple

from anml.app.manifest import read_run
from anml.app.scores import score_run
from anml.app.settle import resolve_names
from anml.core.errors import InputError
from anml.core.settle import UNIT
from anml.core.signals.eigentrust import eigentrust
from anml.core.signals.policy import Policy
from anml.core.signals.track_record import Scored, Track, TrackRule, in_order, replay
from anml.ledger import evidence
from anml.ledger.log import Writer
from anml.ledger.standing import Score, Standing, add_scores, scores, standings
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


def add_run(ledger: Ledger, folder: Path, source: str = "run", domain: str = "default") -> int:
    """Record the held-out quality of a run; the same run counts once."""
    run = read_run(folder)
    found = score_run(run.samples.with_columns(run.samples["contributor"].cast(str)))

    def work(tx: Writer) -> int:
        pids = resolve_names(tx, ledger, source, found["contributor"].to_list())
        made = [
            Score(pids[who], domain, name, run.sha256[:16], tx.now, round(quality * UNIT), rows)
            for who, name, quality, rows in found.iter_rows()
        ]
        return add_scores(tx, made)

    return ledger.write(work)


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
