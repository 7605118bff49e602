"""`anml reputation`: track records, from what happened."""

from typing import Annotated

import typer

from anml.surfaces.ledger_common import (
    By,
    Domain,
    Json,
    Keys,
    LedgerUrl,
    PolicyFile,
    Sign,
    columns,
    opened,
    proposed,
    show,
)  # fmt: skip
from anml.surfaces.run_argument import RunFolder

app = typer.Typer(help="Track records: shown, replayed, fed.", no_args_is_help=True)


@app.command("show")
def show_(
    domain: Domain = "default",
    policy: PolicyFile = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Show everybody's r with its interval. Of newcomers also what they need."""
    from dataclasses import asdict

    from anml.app.ledger.policies import read_policy
    from anml.app.people.names import names_of
    from anml.app.people.reputation import show as standings_now
    from anml.core.signals.track_record import TrackRule
    from anml.surfaces.contributor_view import plain

    with opened(ledger, keys) as book:
        found = standings_now(book, domain, policy=read_policy(policy))
        names = names_of(book)
    rows = [
        (
            names.get(pid, pid),
            f"{s.r:.3f}",
            f"{s.track.low:.2f}-{s.track.high:.2f}",
            s.track.events,
            s.prior,
            " ".join(s.needs),
        )
        for pid, s in found.items()
    ]
    header = ("contributor", "r", "90 %", "events", "settled", "still needs")
    value = {
        "domain": domain,
        "rule": asdict(TrackRule()),
        "contributors": [plain(s) for s in found.values()],
    }
    show(json, value, columns(header, rows))


@app.command("replay")
def replay(
    who: Annotated[str, typer.Argument(help="The contributor.", show_default=False, metavar="WHO")],
    domain: Domain = "default",
    policy: PolicyFile = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Recompute one contributor's r from scratch, event by event."""
    from anml.app.ledger.policies import read_policy
    from anml.app.people.names import find_person
    from anml.app.people.reputation import replay_history

    with opened(ledger, keys) as book:
        pid = find_person(book, who)
        steps, now = replay_history(book, pid, domain, policy=read_policy(policy))
    value = [
        {
            "at": s.at,
            "source": s.event.source,
            "batch": s.event.batch,
            "quality": s.event.quality,
            "endorsed": s.track.endorsed,
            "r": s.track.r,
        }
        for s in steps
    ]
    rows = [
        (s.at[:19], s.event.source, s.event.batch, f"{s.event.quality:.3f}", f"{s.track.r:.3f}")
        for s in steps
    ]
    rows.append(("now", "", "", "", f"{now.r:.3f}"))
    show(
        json,
        {"contributor": pid, "domain": domain, "steps": value, "now": now._asdict()},
        columns(("at", "source", "batch", "quality", "r"), rows),
    )


@app.command("add")
def add(
    run: RunFolder,
    source: Annotated[
        str | None, typer.Option(help="Place the run's contributor names belong to; any that knows them.")
    ] = None,
    by: By = None,
    sign: Sign = None,
    domain: Domain = "default",
    ledger: LedgerUrl = None,
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Record the held-out quality of a run. It weighs a quarter of a gold answer."""
    from anml.app.people.run_scores import add_run

    with opened(ledger, keys, sign, by) as book:
        made = add_run(book, run, source, domain, by)
    show(json, {"new_scores": made}, [f"{made} new scores."])


@app.command("trust")
def trust(
    trusted: Annotated[
        list[str] | None,
        typer.Argument(help="Contributors or verifiers to trust beforehand, beside those on record."),
    ] = None,
    policy: PolicyFile = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Follow who verified whom from a trusted set. By EigenTrust, with what it counts for in r."""
    from anml.app.ledger.policies import read_policy
    from anml.app.people.names import names_of
    from anml.app.people.trust import trust_graph

    with opened(ledger, keys) as book:
        found = trust_graph(book, trusted or (), read_policy(policy).trust)
        names = names_of(book)
    rows = sorted(found.trust.items(), key=lambda pair: (-pair[1], pair[0]))
    header = ("who", "trust", "good events at most")
    shown = [
        (names.get(who, who), f"{value:.4f}", f"{found.endorsed.get(who, 0.0):.2f}") for who, value in rows
    ]
    show(json, found._asdict(), columns(header, shown))


@app.command("reviewer")
def reviewer(
    who: Annotated[str, typer.Argument(help="The contributor whose reviews are to count.", metavar="WHO")],
    off: Annotated[bool, typer.Option("--off", help="Their reviews shall no longer count.")] = False,
    by: By = None,
    sign: Sign = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Propose that somebody's reviews count. They are trusted beforehand then; somebody else confirms it."""
    from anml.app.people.names import find_person, names_of
    from anml.app.people.trust import name_reviewer

    with opened(ledger, keys, sign, by) as book:
        pid = find_person(book, who)
        made = name_reviewer(book, pid, by, on=not off)
        said = "no longer" if off else "as"
        lines, done = proposed(book, [made.seq], f"{names_of(book)[pid]} {said} a reviewer")
    show(json, {"contributor": pid, "proposal": made.seq, "named": done}, lines)
