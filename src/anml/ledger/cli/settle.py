"""`anml-ledger settle`, `anml-ledger dispute`: from a run to held and released money."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from anml.annotators.words import INCONCLUSIVE
from anml.cli.options import arg, opt, resolve_run_folder
from anml.cli.text import columns, warn
from anml.core.canonical import canonical
from anml.core.errors import InputError
from anml.core.files import check_writable, write_file
from anml.core.text import pluralise
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.contributors.names import find_people, names_of, require_exact_name
from anml.ledger.money import format_amount, format_money, parse_amount
from anml.ledger.pay.settle import (
    SettlementTerms,
    adverse_decisions,
    approve_settlement,
    draft_settlement,
    release_settlement,
    settlements,
)
from anml.ledger.pay.settle import withdraw as withdraw_settlement
from anml.ledger.services.steps import approval, content_digest
from anml.settlement.allocate import UNIT, PayoutRules, to_integer_parts

# From here on a line is far above what its rows alone would be paid.
_UNUSUAL_RATIO = 1.25


@with_ledger_options("by", "yes", "domain", "policy", "dry_run")
def settle(
    at: LedgerContext,
    run: Annotated[
        Path | None, arg("Folder of a run to settle, or latest.", callback=resolve_run_folder)
    ] = None,
    pool: Annotated[str | None, opt("Amount to share, such as 10000 or 0.50.")] = None,
    per_label: Annotated[str | None, opt("In place of a pool: pay for each label that counts.")] = None,
    currency: Annotated[str | None, opt("Three letters, such as EUR.")] = None,
    project: Annotated[str, opt("Name of the project, for statements; the data's without.")] = "",
    approve: Annotated[
        str | None, opt("Approve this draft, once all of it was shown to you (--yes).")
    ] = None,
    release: Annotated[str | None, opt("Release what this settlement holds.")] = None,
    withdraw: Annotated[str | None, opt("Take back this draft.")] = None,
    hold: Annotated[
        list[str] | None, opt("With --release: this contributor's amount stays held over a flag.")
    ] = None,
    pay: Annotated[
        list[str] | None, opt("With --release: this contributor is paid in spite of a flag.")
    ] = None,
    because: Annotated[
        str, opt("Why, for those who get less than their rows, or whose amount stays held.")
    ] = "",
    supersedes: Annotated[str | None, opt("The settlement of these rows to replace.")] = None,
    weight: Annotated[str | None, opt("product, p_correct, equal or blend.")] = None,
    volume: Annotated[str, opt("Pay grows with rows to this power, above 0 and up to 1.")] = "1",
    min_share: Annotated[str, opt("Smallest share of a contributor who is not new.")] = "0",
    max_share: Annotated[str, opt("Largest share of one contributor.")] = "1",
    newcomers: Annotated[str, opt("Largest share of all newcomers together.")] = "0.2",
    accept_disputed: Annotated[str | None, opt("Reason to settle a disputed run; it is recorded.")] = None,
    multiplier: Annotated[Path | None, opt("CSV with contributor and value, such as Shapley values.")] = None,
    window_days: Annotated[int, opt("Days in which a contributor may dispute.")] = 14,
    source: Annotated[str | None, opt("Place that the run's contributor names are accounts of.")] = None,
    digest: Annotated[
        str | None, opt("SHA-256 of run.json that you received; another run is refused.")
    ] = None,
    manifest: Annotated[Path | None, opt("Write the frozen manifest here.")] = None,
) -> None:
    """Share a pool by a run's weights. Draft first, then --approve by a second person, then --release."""
    from anml.ledger.pay.multipliers import read_multipliers

    if sum(name is not None for name in (run, approve, release, withdraw)) > 1:
        raise InputError("one step at a time: a run, --approve, --release or --withdraw")
    if release is not None:
        _release(
            at,
            require_exact_name(release),
            {"hold": hold or [], "pay": pay or [], "because": because},
        )
    elif approve is not None:
        _approve(at, require_exact_name(approve), because)
    elif withdraw is not None:
        _withdraw(at, require_exact_name(withdraw))
    elif run is None and pool is None and per_label is None:
        _list(at)
    elif run is None:
        raise InputError("name the run whose rows are to be paid: a folder, or latest")
    else:
        paid = _parse_pool_or_rate(at.by, pool, per_label, currency)
        given = {"min-share": min_share, "max-share": max_share, "newcomers": newcomers}
        low, high, cap = (to_integer_parts(name, share) for name, share in given.items())
        terms = replace(
            paid,
            weight=weight,
            rules=PayoutRules(volume=volume, min_share=low, max_share=high, newcomer_cap=cap),
            window_days=window_days,
            source=source,
            domain=at.domain,
            supersedes=None if supersedes is None else require_exact_name(supersedes),
            multipliers=None if multiplier is None else read_multipliers(multiplier),
            policy=at.read_policy(),
            accept=accept_disputed,
            project=project,
            digest=digest,
        )
        _draft(at, run, terms, manifest)


def _parse_pool_or_rate(
    by: str | None, pool: str | None, per_label: str | None, currency: str | None
) -> "SettlementTerms":
    """Parse the amount to settle: either a pool or a rate per label."""
    if (pool is None) == (per_label is None) or currency is None:
        raise InputError("give the run with --currency, and --pool or --per-label")
    rate = parse_amount(per_label or "0")
    if per_label is not None and rate <= 0:
        raise InputError(f"a rate per label is more than 0, got {per_label!r}")
    return SettlementTerms(parse_amount(pool or "0"), currency, by, rate=rate)


def _draft(at: LedgerContext, run: Path, terms: "SettlementTerms", manifest: Path | None) -> None:
    if manifest is not None:
        check_writable(manifest)
    made = draft_settlement(at.book, run, terms)
    if manifest is not None and not at.dry_run:
        write_file(manifest, canonical(made.manifest))
    warn(made.warnings)
    names = names_of(at.book)
    lines = {line["pid"]: line for line in made.manifest["contributors"]}
    rows = [
        (names.get(pid, pid), lines[pid]["rows"], lines[pid]["kept"], f"{made.amounts[pid][1] / UNIT:.4%}",
         format_money(made.amounts[pid][0], terms.currency), line_flags(lines[pid]))
        for pid in sorted(made.amounts, key=lambda pid: (-made.amounts[pid][0], pid))
    ]  # fmt: skip
    value = {
        "settlement": made.id, "state": "rehearsed" if at.dry_run else "drafted", "manifest": made.sha256,
        "weight": made.manifest["rules"]["weight"], "pool": made.manifest["pool"],
        "currency": terms.currency, "amounts": {pid: amount for pid, (amount, _) in made.amounts.items()},
        "disputed": made.manifest.get("disputed"),
    }  # fmt: skip
    pool = f"{format_money(made.manifest['pool'], terms.currency)} {terms.currency}"
    how = f"by {made.manifest['rules']['weight']}" if not terms.rate else "by a rate per label"
    head = f"{'Would draft' if at.dry_run else 'Drafted'} {made.id}: {pool} {how}."
    tail = (
        []
        if at.dry_run
        else [f"Next: a second person runs `anml-ledger settle --approve {made.id} --by NAME`."]
    )
    header = ("contributor", "rows", "kept", "share", terms.currency, "")
    at.show(value, [head, *dispute_sentences(made.manifest), *columns(header, rows), *tail])


def _approve(at: LedgerContext, sid: str, because: str) -> None:
    content = at.book.rehearse(lambda tx: approval(tx, sid, at.by))
    warn(content["overlaps"])
    seen = at.agreed(content, draft_shown(content))
    made = approve_settlement(at.book, sid, at.by, because=because, seen=seen)
    found = settlements(at.book)[sid]
    value = {"settlement": sid, "state": "posted", "entry": made.seq, "by": made.by, "dry_run": at.dry_run}
    done = "Would post" if at.dry_run else "Posted"
    pool = f"{format_money(found.pool, found.currency)} {found.currency}"
    window = f"for the dispute window of {pluralise(found.window_days, 'day')}"
    held = f"every amount is held {window}" if found.window_days else "there is no window for disputes"
    lines = [f"{done} {sid}, {pool}: {held}."]
    if found.accepted:
        lines.append(f"Its run is disputed; accepted by {found.by}: {found.accepted}")
    at.show(value, lines)


def _release(at: LedgerContext, sid: str, decided: dict[str, Any]) -> None:
    """Release what is held; what that decides against somebody is shown first."""
    for name in ("hold", "pay"):
        decided[name] = find_people(at.book, decided[name]) if decided[name] else []
    how = {"domain": at.domain, "policy": at.read_policy(), "by": at.by, **decided}
    done = release_settlement(at.book.dry(), sid, **how)
    names, currency, seen = (
        done.names,
        done.currency,
        content_digest(adverse_decisions(sid, done)),
    )
    # Nobody gets less, or waits, but by the decision of somebody to whom it was shown.
    if (done.returned or done.kept) and not at.dry_run:
        asked = [
            f"{names.get(pid, pid)}  {format_money(amount, currency)} {currency} would go back to the pool"
            for pid, amount in done.returned.items()
        ]
        asked += [f"{names.get(pid, pid)}  would stay held over a flag" for pid in done.kept]
        seen = at.agreed(adverse_decisions(sid, done), asked)
    if not at.dry_run:
        done = release_settlement(at.book, sid, **how, seen=seen)

    def listed(amounts: dict[str, int], what: str) -> list[str]:
        shown = [(names.get(pid, pid), format_money(amount, currency)) for pid, amount in amounts.items()]
        return [f"{name}  {amount} {currency} {what}" for name, amount in sorted(shown)]

    lines = listed(done.released, "released") + listed(done.returned, "back to the pool")
    lines += [f"{names.get(pid, pid)}  waits: {reason}" for pid, reason in sorted(done.waiting.items())]
    value = {"released": done.released, "returned": done.returned, "waiting": done.waiting,
             "kept": list(done.kept)}  # fmt: skip
    at.show({"settlement": sid, "dry_run": at.dry_run, **value}, lines or ["Nothing is held."])


def _withdraw(at: LedgerContext, sid: str) -> None:
    withdraw_settlement(at.book, sid, at.by)
    done = "Would withdraw" if at.dry_run else "Withdrew"
    at.show({"settlement": sid, "state": "withdrawn", "dry_run": at.dry_run}, [f"{done} {sid}."])


def _list(at: LedgerContext) -> None:
    found = settlements(at.book).values()
    rows = [
        (s.id, s.project, s.state, format_money(s.pool, s.currency), s.currency, s.by, s.approved_by or "",
         (s.posted or "")[:10])
        for s in found
    ]  # fmt: skip
    header = ("settlement", "project", "state", "pool", "", "drafted by", "approved by", "posted")
    value = [{name: item for name, item in s._asdict().items() if name != "marks"} for s in found]
    at.show({"settlements": value}, columns(header, rows))


def line_flags(line: dict[str, Any]) -> str:
    """Remarks on the line of a contributor: new, inconclusive."""
    unsure = INCONCLUSIVE in line.get("verdicts", {})
    return ", ".join([*(["new"] if line["newcomer"] else []), *([INCONCLUSIVE] if unsure else [])])


def dispute_sentences(manifest: dict[str, Any]) -> list[str]:
    """The reason of a disputed run, and its acceptance."""
    if "disputed" not in manifest:
        return []
    said = manifest["disputed"]
    return [f"The run is disputed: {said['because']}.", f"Accepted by {said['by']}: {said['accepted']}"]


def draft_shown(content: dict[str, Any]) -> list[str]:
    """All that an approval signs: who gets what, and what is unusual about it."""
    currency, before = content["currency"], content["before"]
    rate, weight = content["rate"], content["rules"]["weight"]
    how = f"at {format_amount(rate)} a label" if rate else f"by {weight}"
    lines = [
        f"{content['settlement']}: {format_money(content['pool'], currency)} {currency} {how}, drafted by "
        f"{content['drafted_by']}{' for ' + content['project'] if content['project'] else ''}; "
        f"{pluralise(content['window_days'], 'day')} for disputes.",
        f"Run {content['run'][:16]}, manifest {content['manifest'][:16]}; rules: "
        + ", ".join(f"{name} {_part(value)}" for name, value in sorted(content["rules"].items())),
    ]
    if content["supersedes"]:
        was = format_money(content["replaced"][0], content["replaced"][1])
        which = f"{content['supersedes']} of {was} {content['replaced'][1]}"
        lines.append(f"It replaces settlement {which}, which is reversed.")
        lines += [
            f"{name} got {format_money(amount, currency)} {currency} of it already, which becomes a debt."
            for name, amount in content["debts"].items()
        ]
    lines += dispute_sentences(content) if content["disputed"] else []
    lines += [f"An appeal waits for an answer for too long: {late}." for late in content["late"]]
    if below := sum(line["below"] for line in content["lines"]):
        lines.append(
            f"{pluralise(below, 'person gets', 'people get')} less than their rows alone would be paid: by "
            "signing you decide so, and their statements name you."
        )
    rows = [
        (line["name"] or line["contributor"], line["rows"], line["kept"], f"{line['share'] / UNIT:.4%}",
         f"{line['multiplier'] / UNIT:g}", format_money(line["amount"], currency),
         "" if line["before"] is None else format_money(line["amount"] - line["before"], currency),
         _unusual_entries(line))
        for line in content["lines"]
    ]  # fmt: skip
    against = f"against {before[:9]}" if before else ""
    lines += columns(("contributor", "rows", "kept", "share", "times", currency, against, ""), rows)
    return lines + [f"{name} got {format_money(amount, currency)} and is not in it." for name, amount in
                    content["gone"].items()]  # fmt: skip


def _part(value: int | str) -> str:
    """A rule's value; shares are parts of the pool."""
    return value if isinstance(value, str) else f"{value / UNIT:.6g}"


def _unusual_entries(line: dict[str, Any]) -> str:
    more = ["more than by rows"] * (line["amount"] > line["by_rows"] * _UNUSUAL_RATIO + 1)
    less = ["less than by rows"] * line["below"]
    accuracy = [f"accuracy {one['accuracy'][0] / UNIT:.0%}" for one in line["judged"] if "accuracy" in one]
    return ", ".join(filter(None, [line_flags(line), *accuracy, *more, *less]))
