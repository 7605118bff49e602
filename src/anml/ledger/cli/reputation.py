"""`anml-ledger reputation`: track records of contributors, and the list of contributors."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from anml.cli.options import RunFolder, arg, opt
from anml.cli.text import columns
from anml.core.text import pluralise
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.contributors.names import find_person, names_of
from anml.ledger.contributors.reputation import (
    get_contributor,
    list_contributors,
    name_reviewer,
    replay_history,
    trust_graph,
)
from anml.signals.policy import ContributorStatus
from anml.signals.track_record import ReputationRule

app = typer.Typer(help="Track records: show, replay and extend them.", no_args_is_help=True)


def plain(standing: ContributorStatus) -> dict[str, Any]:
    """A standing as plain values."""
    track, verdict = standing.track, standing.verdict
    return {
        "contributor": standing.pid, "since": standing.since, "contributions": standing.prior,
        "r": standing.r, "r_interval": [track.low, track.high], "events": track.events,
        "v": verdict.v, "level": verdict.level, "why": verdict.reason, "evidence": list(verdict.evidence),
        "flagged": standing.flagged, "newcomer": standing.newcomer, "needs": list(standing.needs),
    }  # fmt: skip


def show_all(at: LedgerContext) -> None:
    """Show everybody's r with its interval. Of newcomers also what they need."""
    found = list_contributors(at.book, at.domain, at.read_policy())
    values = [plain(s) | {"accounts": ", ".join(accounts), "name": name} for s, name, accounts in found]
    rows = [
        (name, ", ".join(accounts), s.prior, f"{s.r:.2f}", f"{s.track.low:.2f}-{s.track.high:.2f}",
         s.verdict.level, "flagged" if s.flagged else "new" if s.newcomer else "", s.pid, " ".join(s.needs))
        for s, name, accounts in found
    ]  # fmt: skip
    header = ("contributor", "accounts", "settled", "r", "90 %", "evidence", "", "identifier", "still needs")
    value = {"domain": at.domain, "rule": asdict(ReputationRule()), "contributors": values}
    at.show(value, columns(header, sorted(rows)))


app.command("show")(with_ledger_options("domain", "policy")(show_all))


@app.command("replay")
@with_ledger_options("domain", "policy")
def replay(at: LedgerContext, who: Annotated[str, arg("The contributor.", metavar="WHO")]) -> None:
    """Recompute one contributor's r from scratch, event by event."""
    pid = find_person(at.book, who)
    steps, now = replay_history(at.book, pid, at.domain, policy=at.read_policy())
    rows = [(s["at"][:19], s["source"], s["batch"], f"{s['quality']:.3f}", f"{s['r']:.3f}") for s in steps]
    rows.append(("now", "", "", "", f"{now.r:.3f}"))
    value = {"contributor": pid, "domain": at.domain, "steps": steps, "now": now._asdict()}
    at.show(value, columns(("at", "source", "batch", "quality", "r"), rows))


@app.command("add")
@with_ledger_options("by", "domain")
def add(
    at: LedgerContext,
    run: RunFolder,
    source: Annotated[str | None, opt("Place that the run's names belong to; else any.")] = None,
) -> None:
    """Record the held-out quality of a run. It weighs a quarter of a gold answer."""
    from anml.ledger.contributors.scores import record_run_scores

    made = record_run_scores(at.book, run, source, at.domain, at.by)
    at.show({"new_scores": made}, [f"{pluralise(made, 'new score')}."])


@app.command("trust")
@with_ledger_options("policy")
def trust(
    at: LedgerContext, trusted: Annotated[list[str] | None, arg("Whom to trust as well.")] = None
) -> None:
    """Follow who verified whom from a trusted set. By EigenTrust, with what it counts for in r."""
    found = trust_graph(at.book, trusted or (), at.read_policy().trust)
    names = names_of(at.book)
    rows = sorted(found["trust"].items(), key=lambda pair: (-pair[1], pair[0]))
    most = found["endorsed"]
    shown = [(names.get(who, who), f"{value:.4f}", f"{most.get(who, 0.0):.2f}") for who, value in rows]
    at.show(found, columns(("who", "trust", "good events at most"), shown))


@app.command("reviewer")
@with_ledger_options("by")
def reviewer(
    at: LedgerContext,
    who: Annotated[str, arg("The contributor whose reviews are to count.", metavar="WHO")],
    off: Annotated[bool, opt("Their reviews shall no longer count.", "--off")] = False,
) -> None:
    """Propose that somebody's reviews count. They are trusted beforehand then; somebody else confirms it."""
    pid = find_person(at.book, who)
    made = name_reviewer(at.book, pid, at.by, on=not off)
    said = "no longer" if off else "as"
    lines, done = at.proposed([made.seq], f"{names_of(at.book)[pid]} {said} a reviewer")
    at.show({"contributor": pid, "proposal": made.seq, "named": done}, lines)


def show_one(at: LedgerContext, pid: str) -> None:
    """One contributor with their evidence and, with the keys, what is personal."""
    s, profile, records, names = get_contributor(at.book, pid, at.domain, at.read_policy())
    value = plain(s) | {"profile": profile, "records": [record._asdict() for record in records]}
    name, accounts = profile.get("name") or names.get(pid, ""), ", ".join(profile.get("accounts", []))
    lines = [
        f"{name} ({pid}) since {s.since[:10]}; {accounts or 'no account known'}",
        f"r {s.r:.3f} (90 %: {s.track.low:.2f}-{s.track.high:.2f}; {s.track.events} events)",
        f"v {s.verdict.v:.2f} {s.verdict.level}: {s.verdict.reason}",
    ]
    for e in records:
        by = names.get(e.issuer, e.issuer)
        lines.append(f"entry {e.id}: {e.kind} by {by} ({e.vouched}) about {e.scope}")
    lines += [f"new: needs {' '.join(s.needs)}"] if s.newcomer else []
    at.show(value, lines)
