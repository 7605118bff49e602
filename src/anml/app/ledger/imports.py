"""Take an export into the ledger, each thing once however often, and give its rows v and r of now."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.app.ledger.vouched import with_signals
from anml.app.pay.settle import alike
from anml.app.people.scores import agreement, fresh_scores, gold, gold_quality, judge_batch
from anml.core.identifiers import place_id
from anml.core.signals.policy import Policy
from anml.intake.contributions import PLATFORMS, Contributions
from anml.intake.exports import AUTO, Chosen, read_export
from anml.intake.file import File
from anml.intake.retractions import match_retractions, read_retractions
from anml.ledger import evidence, people
from anml.ledger.kinds import CONTRIBUTION
from anml.ledger.standing import GOOD_GOLD, add_scores, peers
from anml.ledger.store import Ledger
from anml.ledger.writer import Writer


@dataclass(frozen=True)
class Import:
    """What to read and how; `agreement` counts only where identities are known, `names` are personal data."""

    path: Path
    format: str = AUTO
    source: str | None = None
    domain: str = "default"
    columns: Chosen = field(default_factory=dict)
    retractions: Path | None = None
    agreement: bool = False
    policy: Policy | None = None
    names: bool = False
    by: str | None = None


class Imported(NamedTuple):
    """What came in."""

    batch: str
    format: str
    source: str
    rows: pl.DataFrame
    contributors: dict[str, str]
    evidence: int
    scores: int
    warnings: list[str]


def import_file(ledger: Ledger, request: Import) -> Imported:
    """Read a file and record what it shows."""
    file = File(request.path)
    format, found = read_export(file, request.format, request.columns)
    source, batch = place_id(request.source or found.source), file.sha256
    if request.retractions is not None:
        notices = match_retractions(found.rows, read_retractions(request.retractions))
        found = found._replace(evidence=pl.concat([found.evidence, notices]))

    def work(tx: Writer) -> Imported:
        named = set(found.rows["contributor"]) | (set(found.evidence["issuer"]) - set(PLATFORMS))
        pids = people.register(tx, source, named)
        _contributions(tx, found, pids, batch, source, request.domain)
        records = _records(found, pids, batch, source)
        for item, who in agreement(found.rows).iter_rows() if request.agreement else ():
            scope = evidence.item_scope(batch, item)
            records.append(evidence.Record("agreement", pids[who], "two others", "", scope))
        new = len(evidence.add(tx, records))
        judged = judge_batch(found, *_with_standing(tx, found, pids, request.policy))
        # When each contributor's work was done; the time of import where the file does not say.
        last = found.rows.group_by("contributor").agg(pl.col("time").max())
        when = {name: min(time or tx.now, tx.now) for name, time in last.iter_rows()}
        made = fresh_scores(tx, judged, pids, batch[:16], source, request.domain, when)
        scored = add_scores(tx, made)
        evidence.taken(tx, "import", batch, request.by)
        given = found.rows.with_columns(pl.col("contributor").replace_strict(pids, return_dtype=pl.String))
        given = given.with_columns(pl.lit(batch).alias("batch"))
        rows = with_signals(tx.state, given, tx.now, request.domain, request.policy)
        if request.names:
            rows = rows.with_columns(found.rows["contributor"])
        mine = {name: pids[name] for name in sorted(set(found.rows["contributor"]))}
        accounts = people.accounts(people.profiles(tx.reading, ledger.ring).values())
        here = (account for place, account in accounts if place == source)
        looks = [f"{one}; see `anml ledger map`" for one in alike("accounts", mine, here)]
        said = [*found.warnings, *looks]
        return Imported(batch, format, source, rows, mine, new, scored, said)

    return ledger.write(work)


def _contributions(
    tx: Writer, found: Contributions, pids: dict[str, str], batch: str, source: str,
    domain: str,
) -> None:  # fmt: skip
    counts = Counter[str]()
    for name, rows in found.rows["contributor"].value_counts().iter_rows():
        counts[pids[name]] += rows
    tasks: dict[str, dict[str, str]] = {}
    for name, item in found.evidence.select("contributor", "item").iter_rows():
        if pids[name] in counts:
            tasks.setdefault(pids[name], {})[evidence.item_scope(batch, item)] = item
    keys = {f"contribution/{batch}/{pid}": pid for pid in sorted(counts)}
    known = tx.reading.keys
    for key, pid in keys.items():
        if key not in known:
            body: dict[str, Any] = {"batch": batch, "source": source, "domain": domain, "rows": counts[pid]}
            # The names of tasks that somebody judged, for the contributor's own statement; erased with them.
            judged = tasks.get(pid)
            paper = people.attach_values(tx, pid, {"tasks": judged}) if judged else people.Paper()
            body |= paper._asdict()
            tx.append(CONTRIBUTION, key, pid, body)


def _with_standing(
    tx: Writer, found: Contributions, pids: dict[str, str], policy: Policy | None
) -> tuple[set[str], set[str]]:
    """Names in this file whose reviews count, and whose labels others are held against."""
    reviewers, known = peers(tx.state, tx.now, policy)
    right = gold_quality(gold(found.rows))
    names = {name for name, pid in pids.items() if pid in reviewers}
    good = {name for name, quality in right.items() if quality > GOOD_GOLD}
    return names, names | good | {name for name, pid in pids.items() if pid in known}


def _records(found: Contributions, pids: dict[str, str], batch: str, source: str) -> list[evidence.Record]:
    """Evidence as the platform recorded it; a label that a reviewer fixed was accepted as it now is."""
    return [
        evidence.Record(
            kind="review-accepted" if row["kind"] == "fixed" else row["kind"],
            pid=pids[row["contributor"]],
            issuer=pids.get(row["issuer"], f"{source}: {row['issuer']}"),
            at=row["at"] or "",
            scope=evidence.item_scope(batch, row["item"]),
        )
        for row in found.evidence.iter_rows(named=True)
    ]
