"""From judgements to scores: what was counted before is left out, the rest is a quality by contributor."""

from collections.abc import Mapping

import polars as pl

from anml.core.settle import UNIT
from anml.ledger.standing import Score, item_mark
from anml.ledger.writer import Writer

Texts = Mapping[str, str]


def fresh_scores(
    tx: Writer, judged: pl.DataFrame, pids: Texts, batch: str, place: str, domain: str, when: Texts
) -> list[Score]:
    """Scores of judgements that nobody counted yet; `place` is where items have their names."""
    groups: dict[tuple[str, str], dict[str, float]] = {}
    times: dict[str, str] = {}
    for who, source, item, right in judged.iter_rows():
        pid = pids[who]
        groups.setdefault((pid, source), {})[item_mark(place, item)] = right
        times[pid] = max(times.get(pid, ""), when[who])
    made = []
    for (pid, source), items in sorted(groups.items()):
        counted = tx.state.judged_before(pid)
        new = {item: right for item, right in items.items() if (source, item) not in counted}
        if new:
            quality = round(sum(new.values()) / len(new) * UNIT)
            made.append(Score(pid, domain, source, batch, times[pid], quality, tuple(new), len(items)))
    return made
