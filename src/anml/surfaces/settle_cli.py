"""`anml settle`, `anml dispute`: from a run to held and released money."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from anml.app import ledger, pay, people
from anml.app.files import check_place, write_file
from anml.core.canonical import canonical
from anml.core.errors import InputError
from anml.core.money import parse_amount, show_money
from anml.core.settle import UNIT, Rules, parts
from anml.core.words import counted
from anml.surfaces.draft_view import doubt, draft_shown, marks
from anml.surfaces.ledger_common import Book, Desk, at_desk, columns, warn
from anml.surfaces.options import arg, newest, opt

# Options of `anml settle` alone.
Run = Annotated[Path | None, arg("Folder of a run to settle, or latest.", callback=newest)]
Pool = Annotated[str | None, opt("Amount to share, such as 10000 or 0.50.")]
PerLabel = Annotated[str | None, opt("In place of a pool: pay for each label that counts.")]
Currency = Annotated[str | None, opt("Three letters, such as EUR.")]
Project = Annotated[str, opt("Name of the project, for statements; the data's without.")]
Approve = Annotated[str | None, opt("Approve this draft, once all of it was shown to you (--yes).")]
Release = Annotated[str | None, opt("Release what this settlement holds.")]
Withdraw = Annotated[str | None, opt("Take back this draft.")]
Supersedes = Annotated[str | None, opt("The settlement of these rows to replace.")]
Weight = Annotated[str | None, opt("product, p_correct, equal or blend.")]
Volume = Annotated[str, opt("Pay grows with rows to this power, above 0 and up to 1.")]
MinShare = Annotated[str, opt("Smallest share of a contributor who is not new.")]
MaxShare = Annotated[str, opt("Largest share of one contributor.")]
Newcomers = Annotated[str, opt("Largest share of all newcomers together.")]
AcceptDoubtful = Annotated[str | None, opt("Why to settle a run that is doubtful; goes on record.")]
Multiplier = Annotated[Path | None, opt("CSV with contributor and value, such as Shapley values.")]
WindowDays = Annotated[int, opt("Days in which a contributor may dispute.")]
AccountsAt = Annotated[str | None, opt("Place that the run's contributor names are accounts of.")]
Digest = Annotated[str | None, opt("SHA-256 of run.json as you were told it; another run is refused.")]
Hold = Annotated[list[str] | None, opt("With --release: this contributor's amount stays held over a flag.")]
Pay = Annotated[list[str] | None, opt("With --release: this contributor is paid in spite of a flag.")]
Because = Annotated[str, opt("Why, for those who get less than their rows, or whose amount stays held.")]
Manifest = Annotated[Path | None, opt("Write the frozen manifest here.")]


@at_desk("by", "yes", "domain", "policy", "dry_run")
def settle(
    at: Desk, run: Run = None, pool: Pool = None, per_label: PerLabel = None, currency: Currency = None,
    project: Project = "", approve: Approve = None, release: Release = None,
    withdraw: Withdraw = None, hold: Hold = None, pay: Pay = None, because: Because = "",
    supersedes: Supersedes = None, weight: Weight = None,
    volume: Volume = "1", min_share: MinShare = "0", max_share: MaxShare = "1", newcomers: Newcomers = "0.2",
    accept_doubtful: AcceptDoubtful = None, multiplier: Multiplier = None, window_days: WindowDays = 14,
    source: AccountsAt = None, digest: Digest = None, manifest: Manifest = None,
) -> None:  # fmt: skip
    """Share a pool by a run's weights. Draft first, then --approve by a second person, then --release."""
    from anml.app.value.multipliers import read_multipliers

    if sum(name is not None for name in (run, approve, release, withdraw)) > 1:
        raise InputError("one step at a time: a run, --approve, --release or --withdraw")
    with at.opened() as book:
        if release is not None:
            decided = {"hold": hold or [], "pay": pay or [], "because": because}
            _release(at, book, people.names.exact(release), decided)
        elif approve is not None:
            _approve(at, book, people.names.exact(approve), because)
        elif withdraw is not None:
            _withdraw(at, book, people.names.exact(withdraw))
        elif run is None and pool is None and per_label is None:
            _list(at, book)
        elif run is None:
            raise InputError("name the run whose rows are to be paid: a folder, or latest")
        else:
            paid = _paid(at.by, pool, per_label, currency)
            terms = replace(
                paid, weight=weight, rules=_rules(volume, min_share, max_share, newcomers),
                window_days=window_days, source=source, domain=at.domain,
                supersedes=None if supersedes is None else people.names.exact(supersedes),
                multipliers=None if multiplier is None else read_multipliers(multiplier),
                policy=at.read_policy(), accept=accept_doubtful, project=project, digest=digest,
            )  # fmt: skip
            _draft(at, book, run, terms, manifest)


def _paid(
    by: str | None, pool: str | None, per_label: str | None, currency: str | None
) -> "pay.settle.Terms":
    """What is paid: a pool, or a rate per label; one of the two is given."""
    if (pool is None) == (per_label is None) or currency is None:
        raise InputError("give the run with --currency, and --pool or --per-label")
    rate = parse_amount(per_label or "0")
    if per_label is not None and rate <= 0:
        raise InputError(f"a rate per label is more than 0, got {per_label!r}")
    return pay.settle.Terms(parse_amount(pool or "0"), currency, by, rate=rate)


def _rules(volume: str, min_share: str, max_share: str, newcomers: str) -> Rules:
    given = {"min-share": min_share, "max-share": max_share, "newcomers": newcomers}
    low, high, cap = (parts(name, share) for name, share in given.items())
    return Rules(volume=volume, min_share=low, max_share=high, newcomer_cap=cap)


def _draft(at: Desk, book: Book, run: Path, terms: "pay.settle.Terms", manifest: Path | None) -> None:
    if manifest is not None:
        check_place(manifest)
    made = pay.settle.draft(book, run, terms)
    if manifest is not None and not at.dry_run:
        write_file(manifest, canonical(made.manifest))
    warn(made.warnings)
    names = people.names.names_of(book)
    lines = {line["pid"]: line for line in made.manifest["contributors"]}
    order = sorted(made.amounts, key=lambda pid: (-made.amounts[pid][0], pid))
    rows = [
        (names.get(pid, pid), lines[pid]["rows"], lines[pid]["kept"], f"{made.amounts[pid][1] / UNIT:.4%}",
         show_money(made.amounts[pid][0], terms.currency), marks(lines[pid]))
        for pid in order
    ]  # fmt: skip
    value = {
        "settlement": made.id, "state": "rehearsed" if at.dry_run else "drafted", "manifest": made.sha256,
        "weight": made.manifest["rules"]["weight"], "pool": made.manifest["pool"],
        "currency": terms.currency, "amounts": {pid: amount for pid, (amount, _) in made.amounts.items()},
        "doubtful": made.manifest.get("doubtful"),
    }  # fmt: skip
    pool = f"{show_money(made.manifest['pool'], terms.currency)} {terms.currency}"
    how = f"by {made.manifest['rules']['weight']}" if not terms.rate else "by a rate per label"
    head = f"{'Would draft' if at.dry_run else 'Drafted'} {made.id}: {pool} {how}."
    tail = [] if at.dry_run else [f"Next, somebody else: anml settle --approve {made.id} --by THEM"]
    header = ("contributor", "rows", "kept", "share", terms.currency, "")
    at.show(value, [head, *doubt(made.manifest), *columns(header, rows), *tail])


def _approve(at: Desk, book: Book, sid: str, because: str) -> None:
    content = book.rehearse(lambda tx: ledger.review.approval(tx, sid, at.by))
    warn(content["overlaps"])
    seen = at.agreed(content, draft_shown(content))
    made = pay.settle.approve(book, sid, at.by, because=because, seen=seen)
    found = pay.settle.settlements(book)[sid]
    value = {"settlement": sid, "state": "posted", "entry": made.seq, "by": made.by, "dry_run": at.dry_run}
    done = "Would post" if at.dry_run else "Posted"
    pool = f"{show_money(found.pool, found.currency)} {found.currency}"
    window = f"for the dispute window of {counted(found.window_days, 'day')}"
    held = f"every amount is held {window}" if found.window_days else "there is no window for disputes"
    lines = [f"{done} {sid}, {pool}: {held}."]
    if found.accepted:
        lines.append(f"Its run is doubtful; {found.by} accepted that: {found.accepted}")
    at.show(value, lines)


def _release(at: Desk, book: Book, sid: str, decided: dict[str, Any]) -> None:
    """Release what is held; what that decides against somebody is shown first."""
    for name in ("hold", "pay"):
        decided[name] = people.names.find_people(book, decided[name]) if decided[name] else []
    how = {"domain": at.domain, "policy": at.read_policy(), "by": at.by, **decided}
    done = pay.release.release(book.dry(), sid, **how)
    names, currency, seen = done.names, done.currency, ledger.review.named(pay.release.against(sid, done))
    # Nobody gets less, or waits, but by the decision of somebody to whom it was shown.
    if (done.returned or done.kept) and not at.dry_run:
        asked = [f"{names.get(pid, pid)}  {show_money(amount, currency)} {currency} would go back to the pool"
                 for pid, amount in done.returned.items()]  # fmt: skip
        asked += [f"{names.get(pid, pid)}  would stay held over a flag" for pid in done.kept]
        seen = at.agreed(pay.release.against(sid, done), asked)
    if not at.dry_run:
        done = pay.release.release(book, sid, **how, seen=seen)

    def listed(amounts: dict[str, int], what: str) -> list[str]:
        shown = [(names.get(pid, pid), show_money(amount, currency)) for pid, amount in amounts.items()]
        return [f"{name}  {amount} {currency} {what}" for name, amount in sorted(shown)]

    lines = listed(done.released, "released") + listed(done.returned, "back to the pool")
    lines += [f"{names.get(pid, pid)}  waits: {reason}" for pid, reason in sorted(done.waiting.items())]
    value = {"released": done.released, "returned": done.returned, "waiting": done.waiting,
             "kept": list(done.kept)}  # fmt: skip
    at.show({"settlement": sid, "dry_run": at.dry_run, **value}, lines or ["Nothing is held."])


def _withdraw(at: Desk, book: Book, sid: str) -> None:
    pay.settle.withdraw(book, sid, at.by)
    done = "Would withdraw" if at.dry_run else "Withdrew"
    at.show({"settlement": sid, "state": "withdrawn", "dry_run": at.dry_run}, [f"{done} {sid}."])


def _list(at: Desk, book: Book) -> None:
    found = pay.settle.settlements(book).values()
    rows = [
        (s.id, s.project, s.state, show_money(s.pool, s.currency), s.currency, s.by, s.approved_by or "",
         (s.posted or "")[:10])
        for s in found
    ]  # fmt: skip
    header = ("settlement", "project", "state", "pool", "", "drafted by", "approved by", "posted")
    value = [{name: item for name, item in s._asdict().items() if name != "marks"} for s in found]
    at.show({"settlements": value}, columns(header, rows))
