"""`anml settle`, `anml dispute`: from a run to held and released money."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.app.files import check_place, write_file
from anml.core.errors import InputError
from anml.surfaces.ledger_common import (
    Domain,
    DryRun,
    Json,
    Keys,
    LedgerUrl,
    PolicyFile,
    columns,
    named_settlement,
    opened,
    read_policy,
    show,
)  # fmt: skip

if TYPE_CHECKING:
    from anml.app.settle import Terms
    from anml.ledger.store import Ledger

By = Annotated[str | None, typer.Option(help="Who you are: a staff identifier, not an address.")]


def settle(
    run: Annotated[Path | None, typer.Argument(help="Folder of a run to settle.", show_default=False)] = None,
    pool: Annotated[str | None, typer.Option(help="Amount to share, such as 10000 or 0.50.")] = None,
    currency: Annotated[str | None, typer.Option(help="Three letters, such as EUR.")] = None,
    by: By = None,
    approve: Annotated[
        str | None, typer.Option(help="Approve this drafted settlement, or the latest.")
    ] = None,
    release: Annotated[str | None, typer.Option(help="Release what this one, or the latest, holds.")] = None,
    withdraw: Annotated[str | None, typer.Option(help="Take back this draft.")] = None,
    supersedes: Annotated[str | None, typer.Option(help="The settlement of this run to replace.")] = None,
    sign: Annotated[
        Path | None, typer.Option(help="Private key of the approver, where one is known.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="product, p_correct, equal or blend.")] = None,
    volume: Annotated[
        str, typer.Option(help="Pay grows with rows to this power, above 0 and up to 1.")
    ] = "1",
    min_share: Annotated[str, typer.Option(help="Smallest share of a contributor who is not new.")] = "0",
    max_share: Annotated[str, typer.Option(help="Largest share of one contributor.")] = "1",
    newcomers: Annotated[str, typer.Option(help="Largest share of all newcomers together.")] = "0.2",
    accept_doubtful: Annotated[
        str | None, typer.Option(help="Why to settle a run that is doubtful; goes on record.")
    ] = None,
    multiplier: Annotated[
        Path | None, typer.Option(help="CSV with contributor and value, such as Shapley values.")
    ] = None,
    window_days: Annotated[int, typer.Option(help="Days in which a contributor may dispute.")] = 14,
    source: Annotated[str, typer.Option(help="Place the run's contributor names belong to.")] = "run",
    manifest: Annotated[Path | None, typer.Option(help="Write the frozen manifest here.")] = None,
    domain: Domain = "default",
    policy: PolicyFile = None,
    ledger: LedgerUrl = None,
    keys: Keys = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Share a pool by a run's weights: draft, then --approve by a second person, then --release."""
    steps = [name for name in (run, approve, release, withdraw) if name is not None]
    with opened(ledger, keys) as book:
        if not steps:
            _list(book, json)
            return
        if len(steps) > 1:
            raise InputError("one step at a time: a run, --approve, --release or --withdraw")
        if release is not None:
            _release(
                book, named_settlement(book, release, "posted"), domain, read_policy(policy), dry_run, json
            )
            return
        if by is None:
            raise InputError("say who you are with --by")
        if approve is not None:
            _approve(book, named_settlement(book, approve, "drafted"), by, sign, dry_run, json)
            return
        if withdraw is not None:
            _withdraw(book, named_settlement(book, withdraw, "drafted"), by, dry_run, json)
            return
        if pool is None or currency is None or run is None:
            raise InputError("give the run with --pool and --currency")
        shares = (volume, min_share, max_share, newcomers)
        terms = _terms(pool, currency, by, weight, shares, window_days, source, domain, supersedes)
        extra = _multipliers(multiplier)
        terms = replace(terms, multipliers=extra, policy=read_policy(policy), accept=accept_doubtful)
        _draft(book, run, terms, manifest, dry_run, json)


def _terms(
    pool: str, currency: str, by: str, weight: str | None, shares: tuple[str, str, str, str],
    window_days: int, source: str, domain: str, supersedes: str | None,
) -> "Terms":  # fmt: skip
    from anml.app.settle import Terms
    from anml.core.money import parse_amount
    from anml.core.settle import Rules, parts

    volume, *bounds = shares
    low, high, cap = (
        parts(name, text) for name, text in zip(("min-share", "max-share", "newcomers"), bounds, strict=True)
    )
    rules = Rules(volume=volume, min_share=low, max_share=high, newcomer_cap=cap)
    return Terms(parse_amount(pool), currency, by, weight, rules, window_days, source, domain, supersedes)


def _draft(
    book: "Ledger", run: Path, terms: "Terms", manifest: Path | None, dry_run: bool, json: bool
) -> None:
    from anml.app.settle import draft
    from anml.core.canonical import canonical
    from anml.core.money import show_amount
    from anml.core.settle import UNIT

    if manifest is not None:
        check_place(manifest)
    made = draft(book, run, terms, dry_run=dry_run)
    if manifest is not None and not dry_run:
        write_file(manifest, canonical(made.manifest))
    lines = {line["pid"]: line for line in made.manifest["contributors"]}
    order = sorted(made.amounts, key=lambda pid: (-made.amounts[pid][0], pid))
    rows = [
        (
            pid,
            lines[pid]["rows"],
            lines[pid]["kept"],
            f"{made.amounts[pid][1] / UNIT:.4%}",
            show_amount(made.amounts[pid][0]),
            _marks(lines[pid]),
        )
        for pid in order
    ]
    value = {
        "settlement": made.id,
        "state": "rehearsed" if dry_run else "drafted",
        "manifest": made.sha256,
        "weight": made.manifest["rules"]["weight"],
        "pool": made.manifest["pool"],
        "currency": terms.currency,
        "amounts": {pid: amount for pid, (amount, _) in made.amounts.items()},
        "doubtful": made.manifest.get("doubtful"),
    }
    head = f"{'Would draft' if dry_run else 'Drafted'} {made.id} by {made.manifest['rules']['weight']}."
    tail = [] if dry_run else [f"Next, somebody else: anml settle --approve {made.id} --by THEM"]
    header = ("contributor", "rows", "kept", "share", terms.currency, "")
    show(json, value, [head, *_doubt(made.manifest), *columns(header, rows), *tail])


def _marks(line: dict[str, Any]) -> str:
    """What is to be known of a contributor's line: new, or that nothing can be told."""
    from anml.core.verdicts import UNSURE

    unsure = UNSURE in line.get("verdicts", {})
    return ", ".join([*(["new"] if line["newcomer"] else []), *([UNSURE] if unsure else [])])


def _doubt(manifest: dict[str, Any]) -> list[str]:
    """What was accepted, where the run is doubtful."""
    if "doubtful" not in manifest:
        return []
    said = manifest["doubtful"]
    return [f"The run is doubtful: {said['because']}.", f"Accepted by {said['by']}: {said['accepted']}"]


def _approve(book: "Ledger", sid: str, by: str, sign: Path | None, dry_run: bool, json: bool) -> None:
    from anml.app.settle import approve
    from anml.ledger.book import settlement
    from anml.ledger.keys import read_private

    made = approve(book, sid, by, read_private(sign) if sign else None, dry_run=dry_run)
    with book.read() as connection:
        found = settlement(connection, sid)
    value = {"settlement": sid, "state": "posted", "entry": made.seq, "by": by, "dry_run": dry_run}
    done = "Would post" if dry_run else "Posted"
    lines = [f"{done} {sid}: every amount is held until the dispute window is over."]
    if found.accepted:
        lines.append(f"Its run is doubtful; {found.by} accepted that: {found.accepted}")
    show(json, value, lines)


def _release(book: "Ledger", sid: str, domain: str, policy: Any, dry_run: bool, json: bool) -> None:
    from anml.app.settle import release
    from anml.core.money import show_amount

    done = release(book, sid, domain, policy, dry_run=dry_run)
    lines = [f"{pid}  {show_amount(amount)} released" for pid, amount in sorted(done.released.items())]
    lines += [
        f"{pid}  {show_amount(amount)} back to the pool" for pid, amount in sorted(done.returned.items())
    ]
    lines += [f"{pid}  waits: {reason}" for pid, reason in sorted(done.waiting.items())]
    show(json, {"settlement": sid, "dry_run": dry_run, **done._asdict()}, lines or ["Nothing is held."])


def _withdraw(book: "Ledger", sid: str, by: str, dry_run: bool, json: bool) -> None:
    from anml.ledger import book as steps

    book.carry_out(lambda tx: steps.withdraw(tx, sid, by), dry_run=dry_run)
    done = "Would withdraw" if dry_run else "Withdrew"
    show(json, {"settlement": sid, "state": "withdrawn", "dry_run": dry_run}, [f"{done} {sid}."])


def _list(book: "Ledger", json: bool) -> None:
    from anml.core.money import show_amount
    from anml.ledger.book import settlements

    with book.read() as connection:
        found = settlements(connection)
    rows = [(s.id, s.state, show_amount(s.pool), s.currency, s.by, (s.posted or "")[:10]) for s in found]
    header = ("settlement", "state", "pool", "", "by", "posted")
    show(json, {"settlements": [s._asdict() for s in found]}, columns(header, rows))


def _multipliers(path: Path | None) -> dict[str, int] | None:
    """External values by contributor; below zero counts as zero, and only proportions matter."""
    if path is None:
        return None
    from anml.app.multipliers import read_multipliers

    return read_multipliers(path)
