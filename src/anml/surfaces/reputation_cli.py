"""`anml reputation`: track records, from what happened."""

from typing import Annotated

import typer

from anml.surfaces.ledger_common import Domain, On, PolicyFile, columns, on_ledger, proposed, show
from anml.surfaces.run_argument import RunFolder

app = typer.Typer(help="Track records: shown, replayed, fed.", no_args_is_help=True)


@app.command("show")
@on_ledger
def show_(
    seen: On,
    domain: Domain = "default",
    policy: PolicyFile = None,
) -> None:
    """Show everybody's r with its interval. Of newcomers also what they need."""
    from dataclasses import asdict

    from anml.app.ledger.policies import read_policy
    from anml.app.people.names import names_of
    from anml.app.people.reputation import show as standings_now
    from anml.core.signals.track_record import TrackRule
    from anml.surfaces.contributor_view import plain

    book, _, json = seen
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
@on_ledger
def replay(
    seen: On,
    who: Annotated[str, typer.Argument(help="The contributor.", show_default=False, metavar="WHO")],
    domain: Domain = "default",
    policy: PolicyFile = None,
) -> None:
    """Recompute one contributor's r from scratch, event by event."""
    from anml.app.ledger.policies import read_policy
    from anml.app.people.names import find_person
    from anml.app.people.reputation import replay_history

    book, _, json = seen
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
@on_ledger
def add(
    on: On,
    run: RunFolder,
    source: Annotated[
        str | None, typer.Option(help="Place the run's contributor names belong to; any that knows them.")
    ] = None,
    domain: Domain = "default",
) -> None:
    """Record the held-out quality of a run. It weighs a quarter of a gold answer."""
    from anml.app.people.run_scores import add_run

    book, by, json = on
    made = add_run(book, run, source, domain, by)
    show(json, {"new_scores": made}, [f"{made} new scores."])


@app.command("trust")
@on_ledger
def trust(
    seen: On,
    trusted: Annotated[
        list[str] | None,
        typer.Argument(help="Contributors or verifiers to trust beforehand, beside those on record."),
    ] = None,
    policy: PolicyFile = None,
) -> None:
    """Follow who verified whom from a trusted set. By EigenTrust, with what it counts for in r."""
    from anml.app.ledger.policies import read_policy
    from anml.app.people.names import names_of
    from anml.app.people.trust import trust_graph

    book, _, json = seen
    found = trust_graph(book, trusted or (), read_policy(policy).trust)
    names = names_of(book)
    rows = sorted(found.trust.items(), key=lambda pair: (-pair[1], pair[0]))
    header = ("who", "trust", "good events at most")
    shown = [
        (names.get(who, who), f"{value:.4f}", f"{found.endorsed.get(who, 0.0):.2f}") for who, value in rows
    ]
    show(json, found._asdict(), columns(header, shown))


@app.command("reviewer")
@on_ledger
def reviewer(
    on: On,
    who: Annotated[str, typer.Argument(help="The contributor whose reviews are to count.", metavar="WHO")],
    off: Annotated[bool, typer.Option("--off", help="Their reviews shall no longer count.")] = False,
) -> None:
    """Propose that somebody's reviews count. They are trusted beforehand then; somebody else confirms it."""
    from anml.app.people.names import find_person, names_of
    from anml.app.people.trust import name_reviewer

    book, by, json = on
    pid = find_person(book, who)
    made = name_reviewer(book, pid, by, on=not off)
    said = "no longer" if off else "as"
    lines, done = proposed(book, [made.seq], f"{names_of(book)[pid]} {said} a reviewer")
    show(json, {"contributor": pid, "proposal": made.seq, "named": done}, lines)
