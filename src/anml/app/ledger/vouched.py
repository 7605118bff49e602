"""What a ledger knows of rows: v and r of an audit's, with the evidence behind them; and exports taken in."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.app.ledger.verify import verified
from anml.app.pay.settle import alike
from anml.app.people.scores import agreement, fresh_scores, gold, gold_quality, judge_batch
from anml.core.identifiers import place_id
from anml.core.signals.policy import Evidence, EvidenceEntry, Policy, Standing, Verdict
from anml.core.signals.track_record import TrackRule
from anml.core.words import counted
from anml.intake.contributions import PLATFORMS, Chosen, Contributions
from anml.intake.exports import AUTO, read_export
from anml.intake.file import File
from anml.intake.plain import as_text
from anml.intake.retractions import match_retractions, read_retractions
from anml.intake.source import Source
from anml.ledger import evidence, kinds, people
from anml.ledger.log import seconds, stamp
from anml.ledger.records import Record
from anml.ledger.signing import EVERYTHING, batch_scope
from anml.ledger.standing import GOOD_GOLD, add_scores, peers, standings
from anml.ledger.state import Where
from anml.ledger.store import Ledger
from anml.ledger.writer import By, Writer

# Names the ledger's v and r have in the table of an audit.
COLUMNS = ("verification", "reputation")
_NOBODY = (
    "the ledger knows no contributor of this table (accounts of {accounts!r}), so v and r were not taken "
    "from it; `anml ledger import` takes a file in, and --source names the place of the accounts"
)


@dataclass(frozen=True)
class Vouched:
    """What is on record at one moment, `at`.

    `rows` has v, r, level and evidence (numbers of entries, separated by ";"), in the order of the table.
    `people` says where each contributor stands, by the name the rows give them, `entries` all evidence about
    them by number, `unknown` who is not on record, and `names` what the table calls those who are, by
    identifier: for the screen, never for files.
    """

    at: str
    rows: pl.DataFrame
    people: dict[str, Standing]
    entries: dict[int, EvidenceEntry]
    unknown: tuple[str, ...]
    names: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """What run.json keeps: when it was asked, who is new and who is not on record."""
        new = [{"contributor": name, "needs": list(one.needs), "flagged": one.flagged}
               for name, one in self.people.items() if one.newcomer]  # fmt: skip
        return {"at": self.at, "entries": len(self.entries), "new": new, "unknown": len(self.unknown)}


def vouch(
    ledger: Ledger, source: Source, contributor: str | None, item: str | None, *,
    accounts: str | None = None, domain: str = "default", policy: Policy | None = None,
) -> tuple[Source, Vouched | None]:  # fmt: skip
    """Take v and r of a table's rows from the ledger, people by identifier; None where it knows nobody."""
    frame, place = source.table.frame, accounts or source.accounts
    if contributor is None:
        return _with_note(source, "no contributor column, so nothing was looked up in the ledger"), None
    names = as_text(frame[contributor]).fill_null("")
    with verified(ledger, "taken from") as reading:
        registered, every = reading.state.people, names.unique().to_list()
        known = {name: registered.resolve(name) for name in every if name in registered.since}
        known |= people.lookup_all(reading, ledger.ring, place, [name for name in every if name not in known])
        if not known:
            return _with_note(source, _NOBODY.format(accounts=place)), None
        at = stamp(ledger.clock())
        shown = names.replace(known)
        rows = with_signals(reading.state, _keyed(frame, shown, item, source), at, domain, policy)
        everybody = standings(reading.state, at, domain, policy)
        entries = evidence.entries(reading, known.values())
    unknown = tuple(sorted(set(names) - set(known)))
    standing = {pid: everybody[pid] for pid in sorted(set(known.values()))}
    called = {pid: name for name, pid in known.items() if name != pid}
    found = Vouched(at, rows.drop("contributor", "item", "batch"), standing, entries, unknown, called)
    return _joined(source, contributor, shown, rows, found), found


def _keyed(frame: pl.DataFrame, shown: pl.Series, item: str | None, source: Source) -> pl.DataFrame:
    """Contributor, item and batch of each row: the names under which evidence was recorded."""
    numbers = pl.Series([str(number) for number in range(frame.height)])
    items = numbers if item is None else as_text(frame[item]).fill_null("")
    batch = pl.lit(source.table.sha256) if source.accounts else as_text(frame["batch"]).fill_null("")
    return pl.DataFrame({"contributor": shown, "item": items}).with_columns(batch.alias("batch"))


def _joined(source: Source, contributor: str, shown: pl.Series, rows: pl.DataFrame, found: Vouched) -> Source:
    frame = source.table.frame.with_columns(shown.alias(contributor), *(rows[name] for name in COLUMNS))
    note = (
        f"v and r come from the ledger as of {found.at[:19]}Z; files name contributors by identifiers in "
        "it, and `anml ledger contributors` says who they are"
    )
    warnings = [*source.warnings]
    if found.unknown:
        who = counted(len(found.unknown), "contributor is", "contributors are")
        first = f"the first {found.unknown[0]!r}: nobody vouches for them, and they start as new"
        warnings.append(f"{who} not in the ledger, {first}")
    table, roles = replace(source.table, frame=frame), source.roles | {name: name for name in COLUMNS}
    return _with_note(source, note)._replace(table=table, roles=roles, warnings=warnings, about_v="")


def _with_note(source: Source, note: str) -> Source:
    return source._replace(notes=[*source.notes, note])


def with_signals(
    where: Where, rows: pl.DataFrame, at: str, domain: str = "default", policy: Policy | None = None
) -> pl.DataFrame:
    """Add verification, reputation, level and evidence (entries' numbers) to contributor, item and batch."""
    policy, now = policy or Policy(), seconds(at)
    known = standings(where, at, domain, policy)
    pids = rows["contributor"].unique().to_list()
    found = evidence.of(where, pids, now, policy.trust)
    split = {pid: evidence.by_scope(found.get(pid, [])) for pid in pids}
    plain: dict[tuple[str, str], tuple[list[Evidence], Verdict]] = {}
    verdicts: list[Verdict] = []
    for pid, item, batch in rows.select("contributor", "item", "batch").iter_rows():
        scopes = split[pid]
        if (pid, batch) not in plain:
            base = [e for scope in (EVERYTHING, batch_scope(batch)) for e in scopes.get(scope, [])]
            plain[pid, batch] = base, policy.judge(base, now)
        base, verdict = plain[pid, batch]
        own = scopes.get(evidence.item_scope(batch, item)) if scopes else None
        verdicts.append(policy.judge([*base, *own], now) if own else verdict)
    start = TrackRule().r0
    r = {pid: known[pid].r if pid in known else start for pid in pids}
    return rows.with_columns(
        pl.Series("verification", [verdict.v for verdict in verdicts], dtype=pl.Float64),
        pl.Series("reputation", [r[pid] for pid in rows["contributor"]], dtype=pl.Float64),
        pl.Series("level", [verdict.level for verdict in verdicts]),
        pl.Series("evidence", [";".join(map(str, verdict.evidence)) for verdict in verdicts]),
    )


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
    by: By = None


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
            records.append(Record("agreement", pids[who], "two others", "", evidence.item_scope(batch, item)))
        new = len(evidence.add(tx, records))
        judged = judge_batch(found, *_with_standing(tx, found, pids, request.policy))
        # When each contributor's work was done; the time of import where the file does not say.
        last = found.rows.group_by("contributor").agg(pl.col("time").max())
        when = {name: min(time or tx.now, tx.now) for name, time in last.iter_rows()}
        scored = add_scores(tx, fresh_scores(tx, judged, pids, batch[:16], source, request.domain, when))
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
            paper = people.attach_values(tx, pid, {"tasks": tasks[pid]}) if pid in tasks else people.NO_PAPER
            about = {"batch": batch, "source": source, "domain": domain, "rows": counts[pid]}
            tx.append(kinds.CONTRIBUTION, key, pid, {**about, **paper})


def _with_standing(
    tx: Writer, found: Contributions, pids: dict[str, str], policy: Policy | None
) -> tuple[set[str], set[str]]:
    """Names in this file whose reviews count, and whose labels others are held against."""
    reviewers, known = peers(tx.state, tx.now, policy)
    right = gold_quality(gold(found.rows))
    names = {name for name, pid in pids.items() if pid in reviewers}
    good = {name for name, quality in right.items() if quality > GOOD_GOLD}
    return names, names | good | {name for name, pid in pids.items() if pid in known}


def _records(found: Contributions, pids: dict[str, str], batch: str, source: str) -> list[Record]:
    """Evidence as the platform recorded it; a label that a reviewer fixed was accepted as it now is."""
    made = []
    for row in found.evidence.iter_rows(named=True):
        kind = "review-accepted" if row["kind"] == "fixed" else row["kind"]
        issuer = pids.get(row["issuer"], f"{source}: {row['issuer']}")
        scope = evidence.item_scope(batch, row["item"])
        made.append(Record(kind, pids[row["contributor"]], issuer, row["at"] or "", scope))
    return made
