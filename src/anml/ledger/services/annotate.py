"""Import of exports into a ledger, and rows with v, r and the numbers of the evidence behind them."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import polars as pl

from anml.io.contributions import PLATFORMS, Chosen, Contributions
from anml.io.file import InputFile
from anml.io.formats import AUTO, read_export
from anml.ledger import evidence, kinds
from anml.ledger import personal_data as people
from anml.ledger.contributors.scores import agreement, gold_judgements, gold_quality, judge_batch, new_scores
from anml.ledger.identifiers import source_id
from anml.ledger.log import seconds
from anml.ledger.pay.settle import confusable_name_warnings
from anml.ledger.records import EvidenceRecord
from anml.ledger.signing import ANY_SUBJECT, batch_scope
from anml.ledger.standing import GOOD_GOLD, add_scores, contributor_statuses, eligible_reviewers
from anml.ledger.state import Where
from anml.ledger.store import Ledger
from anml.ledger.writer import Actor, Writer
from anml.signals.policy import (
    AttestationRecord,
    Policy,
    VerificationResult,
)
from anml.signals.track_record import ReputationRule


def add_signal_columns(
    where: Where, rows: pl.DataFrame, at: str, domain: str = "default", policy: Policy | None = None
) -> pl.DataFrame:
    """Add verification, reputation, level and evidence (entries' numbers) to contributor, item and batch."""
    policy, now = policy or Policy(), seconds(at)
    known = contributor_statuses(where, at, domain, policy)
    pids = rows["contributor"].unique().to_list()
    found = evidence.effective_records(where, pids, now, policy.trust)
    split = {pid: evidence.group_by_scope(found.get(pid, [])) for pid in pids}
    plain: dict[tuple[str, str], tuple[list[AttestationRecord], VerificationResult]] = {}
    verdicts: list[VerificationResult] = []
    for pid, item, batch in rows.select("contributor", "item", "batch").iter_rows():
        scopes = split[pid]
        if (pid, batch) not in plain:
            base = [e for scope in (ANY_SUBJECT, batch_scope(batch)) for e in scopes.get(scope, [])]
            plain[pid, batch] = base, policy.judge(base, now)
        base, verdict = plain[pid, batch]
        own = scopes.get(evidence.item_scope(batch, item)) if scopes else None
        verdicts.append(policy.judge([*base, *own], now) if own else verdict)
    start = ReputationRule().r0
    r = {pid: known[pid].r if pid in known else start for pid in pids}
    return rows.with_columns(
        pl.Series("verification", [verdict.v for verdict in verdicts], dtype=pl.Float64),
        pl.Series("reputation", [r[pid] for pid in rows["contributor"]], dtype=pl.Float64),
        pl.Series("level", [verdict.level for verdict in verdicts]),
        pl.Series("evidence", [";".join(map(str, verdict.evidence)) for verdict in verdicts]),
    )


@dataclass(frozen=True)
class Import:
    """Import options; `agreement` requires known identities, `names` stores names as personal data."""

    path: Path
    format: str = AUTO
    source: str | None = None
    domain: str = "default"
    columns: Chosen = field(default_factory=dict)
    agreement: bool = False
    policy: Policy | None = None
    names: bool = False
    by: Actor = None


class Imported(NamedTuple):
    """Result of an import."""

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
    file = InputFile(request.path)
    format, found = read_export(file, request.format, request.columns)
    source, batch = source_id(request.source or found.source), file.sha256

    def work(tx: Writer) -> Imported:
        named = set(found.rows["contributor"]) | (set(found.evidence["issuer"]) - set(PLATFORMS))
        pids = people.register(tx, source, named)
        _contributions(tx, found, pids, batch, source, request.domain)
        records = _records(found, pids, batch, source)
        for item, who in agreement(found.rows).iter_rows() if request.agreement else ():
            records.append(
                EvidenceRecord("agreement", pids[who], "two others", "", evidence.item_scope(batch, item))
            )
        new = len(evidence.add_records(tx, records))
        judged = judge_batch(found, *_eligible_peers(tx, found, pids, request.policy))
        # When each contributor's work was done; the time of import where the file does not say.
        last = found.rows.group_by("contributor").agg(pl.col("time").max())
        when = {name: min(time or tx.now, tx.now) for name, time in last.iter_rows()}
        scored = add_scores(tx, new_scores(tx, judged, pids, batch[:16], source, request.domain, when))
        evidence.sign_records(tx, "import", batch, request.by)
        given = found.rows.with_columns(pl.col("contributor").replace_strict(pids, return_dtype=pl.String))
        given = given.with_columns(pl.lit(batch).alias("batch"))
        rows = add_signal_columns(tx.state, given, tx.now, request.domain, request.policy)
        if request.names:
            rows = rows.with_columns(found.rows["contributor"])
        mine = {name: pids[name] for name in sorted(set(found.rows["contributor"]))}
        accounts = people.accounts(people.profiles(tx.reading, ledger.ring).values())
        here = (account for place, account in accounts if place == source)
        shown = confusable_name_warnings("accounts", mine, here)
        looks = [f"{one}; see `anml-ledger import` of a CSV with accounts" for one in shown]
        return Imported(batch, format, source, rows, mine, new, scored, [*found.warnings, *looks])

    return ledger.write(work)


def _contributions(
    tx: Writer, found: Contributions, pids: dict[str, str], batch: str, source: str, domain: str
) -> None:
    counts = Counter[str]()
    for name, rows in found.rows["contributor"].value_counts().iter_rows():
        counts[pids[name]] += rows
    tasks: dict[str, dict[str, str]] = {}
    for name, item in found.evidence.select("contributor", "item").iter_rows():
        if pids[name] in counts:
            tasks.setdefault(pids[name], {})[evidence.item_scope(batch, item)] = item
    for pid in sorted(counts):
        key = f"contribution/{batch}/{pid}"
        if key not in tx.reading.keys:
            # The names of tasks that somebody judged, for the contributor's own statement; erased with them.
            paper = (
                people.store_values(tx, pid, {"tasks": tasks[pid]}) if pid in tasks else people.NO_DOCUMENT
            )
            about = {"batch": batch, "source": source, "domain": domain, "rows": counts[pid]}
            tx.append(kinds.CONTRIBUTION, key, pid, {**about, **paper})


def _eligible_peers(
    tx: Writer, found: Contributions, pids: dict[str, str], policy: Policy | None
) -> tuple[set[str], set[str]]:
    """Names in this file whose reviews count, and whose labels others are held against."""
    reviewers, known = eligible_reviewers(tx.state, tx.now, policy)
    right = gold_quality(gold_judgements(found.rows))
    names = {name for name, pid in pids.items() if pid in reviewers}
    good = {name for name, quality in right.items() if quality > GOOD_GOLD}
    return names, names | good | {name for name, pid in pids.items() if pid in known}


def _records(found: Contributions, pids: dict[str, str], batch: str, source: str) -> list[EvidenceRecord]:
    """Evidence as the platform recorded it; a label that a reviewer fixed was accepted as it now is."""
    made = []
    for row in found.evidence.iter_rows(named=True):
        kind = "review-accepted" if row["kind"] == "fixed" else row["kind"]
        issuer = pids.get(row["issuer"], f"{source}: {row['issuer']}")
        scope = evidence.item_scope(batch, row["item"])
        made.append(EvidenceRecord(kind, pids[row["contributor"]], issuer, row["at"] or "", scope))
    return made
