"""v and r of each row, as the ledger knows them at one moment, with the entries they rest on."""

import polars as pl

from anml.core.signals.policy import Evidence, Policy, Verdict
from anml.core.signals.track_record import TrackRule
from anml.ledger import evidence
from anml.ledger.dsse import EVERYTHING, batch_scope
from anml.ledger.standing import standings
from anml.ledger.state import Where
from anml.ledger.times import seconds


def with_signals(
    where: Where, rows: pl.DataFrame, at: str, domain: str = "default",
    policy: Policy | None = None, rule: TrackRule | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Add verification, reputation, level and evidence (entries' numbers) to contributor, item and batch."""
    policy, now = policy or Policy(), seconds(at)
    known = standings(where, at, domain, policy, rule)
    pids = rows["contributor"].unique().to_list()
    found = evidence.of(where, pids, now, policy.trust)
    split = {pid: evidence.by_scope(found.get(pid, [])) for pid in pids}
    plain: dict[tuple[str, str], tuple[list[Evidence], Verdict]] = {}
    verdicts: list[Verdict] = []
    for pid, item, batch in rows.select("contributor", "item", "batch").iter_rows():
        scopes = split[pid]
        if (pid, batch) not in plain:
            general = (EVERYTHING, batch_scope(batch))
            base = [e for scope in general for e in scopes.get(scope, [])]
            plain[pid, batch] = base, policy.judge(base, now)
        base, verdict = plain[pid, batch]
        own = scopes.get(evidence.item_scope(batch, item)) if scopes else None
        verdicts.append(policy.judge([*base, *own], now) if own else verdict)
    start = (rule or TrackRule()).r0
    r = {pid: known[pid].r if pid in known else start for pid in pids}
    return rows.with_columns(
        pl.Series("verification", [verdict.v for verdict in verdicts], dtype=pl.Float64),
        pl.Series("reputation", [r[pid] for pid in rows["contributor"]], dtype=pl.Float64),
        pl.Series("level", [verdict.level for verdict in verdicts]),
        pl.Series("evidence", [";".join(map(str, verdict.evidence)) for verdict in verdicts]),
    )
