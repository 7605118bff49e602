"""From a run to money: draft, approve by a second person, and release what is held, in somebody's name."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anml.core.canonical import canonical
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import book, kinds
from anml.ledger import personal_data as people
from anml.ledger import replay as audit
from anml.ledger.contributors.names import shown_names
from anml.ledger.identifiers import confusable_names, source_id
from anml.ledger.log import Event, seconds
from anml.ledger.money import check_currency
from anml.ledger.rules_money import amount_returned, require_single_line
from anml.ledger.services.steps import approval, overlaps, require_same_content
from anml.ledger.standing import contributor_statuses
from anml.ledger.state_money import AgreedTerms, Settlement, Settlements
from anml.ledger.store import Ledger, as_transaction
from anml.ledger.terms import parse_terms
from anml.ledger.writer import Actor, Writer
from anml.settlement.allocate import UNIT, PayoutRules
from anml.settlement.manifest import contributor_amounts, header_digest
from anml.signals.policy import Policy

if TYPE_CHECKING:
    from anml.pipeline.read import Run

_SHAPING = ("volume", "min_share", "max_share")


@dataclass(frozen=True)
class SettlementTerms:
    """Terms of a settlement.

    `weight` replaces the one in `rules`; None means p_correct if the run has it by the evidence recipe,
    else the product. `accept` is the reason to settle a disputed run. `rate`, in micro-units per counted
    label, replaces shares of a pool. `source` is the account source of the names, `digest` the start of the
    SHA-256 of `run.json`, as known to the creator of the run. Terms that two people `agreed` on, by name,
    replace weight, rules, window, domain and policy.
    """

    pool: int
    currency: str
    by: Actor
    weight: str | None = None
    rules: PayoutRules = field(default_factory=PayoutRules)
    window_days: int = 14
    source: str | None = None
    domain: str = "default"
    supersedes: str | None = None
    multipliers: Mapping[str, int] | None = None
    policy: Policy | None = None
    accept: str | None = None
    project: str = ""
    rate: int = 0
    digest: str | None = None
    agreed: str | None = None


class Draft(NamedTuple):
    """A proposed settlement, with what each contributor would get."""

    id: str
    manifest: dict[str, Any]
    sha256: str
    amounts: dict[str, tuple[int, int]]
    entry: int
    warnings: tuple[str, ...] = ()


def draft_settlement(ledger: Ledger, folder: Path, terms: SettlementTerms) -> Draft:
    """Freeze a run's weights, or the final shares of a usage file, into a manifest and propose it."""
    from anml.ledger.pay.usage import is_usage

    terms, number = _with_agreed(ledger.listed(AgreedTerms), terms)
    check_currency(terms.currency)
    source = _usage_source(folder, terms) if is_usage(folder) else _run_source(folder, terms)
    require_single_line("the name of a project", source.project)

    def work(tx: Writer) -> Draft:
        tx.verified()
        who = tx.who(terms.by)
        made = source.build(tx, who, number)
        name, rows = tx.keep(audit.MANIFEST, canonical(made)), made["run"]
        proposal = Settlement(
            id=book.free_id(tx, name), state="drafted", manifest=name, head=header_digest(made), by=who,
            currency=terms.currency, pool=made["pool"], posted=None, run=rows["samples_sha256"],
            project=source.project, rows=rows["rows_sha256"], work=rows["work_sha256"], marks=rows["marks"],
            window_days=terms.window_days, supersedes=terms.supersedes,
            accepted=terms.accept and terms.accept.strip(), terms=number,
        )  # fmt: skip
        drafted = book.record_draft(tx, proposal)
        warnings = _draft_warnings(tx, source.names, proposal)
        return Draft(proposal.id, made, name, contributor_amounts(made), drafted.seq, warnings)

    return ledger.write(work)


class _Source(NamedTuple):
    """Source of the shares: names of contributors, and a function that makes the manifest."""

    project: str
    names: list[str]
    build: Callable[[Writer, str, int], dict[str, Any]]


def _contributors(tx: Writer, terms: SettlementTerms, names: list[str]) -> tuple[dict[str, str], set[str]]:
    """Return the identifiers of names, and which of them are newcomers."""
    pids = resolve_names(tx, terms.source, names)
    known = contributor_statuses(tx.state, tx.now, terms.domain, terms.policy)
    return pids, {pid for pid in pids.values() if known[pid].newcomer}


def _run_source(folder: Path, terms: SettlementTerms) -> _Source:
    import polars as pl

    from anml.ledger.pay import manifest
    from anml.pipeline.read import read_estimates

    run = _read_checked_run(folder, terms.digest)
    judged, rules = read_estimates(folder, run), _rules(run, terms)
    names = run.samples["contributor"].cast(pl.String).unique().to_list()

    def build(tx: Writer, who: str, _: int) -> dict[str, Any]:
        accepted = _dispute_acceptance(run, rules, terms, who)
        pids, new = _contributors(tx, terms, names)
        extra = terms.multipliers and {pids.get(name, name): x for name, x in terms.multipliers.items()}
        given = (terms.pool, terms.currency, pids, new, extra, terms.rate, judged)
        return manifest.build_manifest(run, rules, *given) | accepted

    project = terms.project.strip() or str((run.info.get("data") or {}).get("name", ""))[:100]
    return _Source(project, names, build)


def _usage_source(path: Path, terms: SettlementTerms) -> _Source:
    from anml.ledger.pay.usage import build_usage_manifest, read_usage, require_payable

    use = read_usage(path)
    if terms.rate or terms.multipliers or terms.accept or terms.digest:
        raise InputError("a usage file has final shares: it takes a pool, and no rate, multiplier or digest")

    def build(tx: Writer, _: str, number: int) -> dict[str, Any]:
        agreed = tx.state.terms.current(number)
        least, unchecked = (agreed.minimum_usage, agreed.unchecked_usage) if agreed else (0, False)
        require_payable(use, least, unchecked)
        pids, new = _contributors(tx, terms, list(use.shares))
        return build_usage_manifest(use, terms.rules, terms.pool, terms.currency, pids, new)

    return _Source(terms.project.strip() or use.model, list(use.shares), build)


def _with_agreed(known: AgreedTerms, terms: SettlementTerms) -> tuple[SettlementTerms, int]:
    """Return the terms of a settlement with those that two people agreed on, and their number."""
    number = known.choose(terms.agreed)
    agreed = known.current(number)
    if agreed is None:
        return terms, 0
    if terms.currency not in ("", agreed.currency):
        raise ConflictError(f"the terms {agreed.name!r} are in {agreed.currency}, not {terms.currency}")
    rules = terms.rules if terms.rate else agreed.rules
    weight = None if terms.rate else agreed.weight or None
    return replace(
        terms, currency=agreed.currency, weight=weight, rules=rules, window_days=agreed.window_days,
        domain=agreed.domain, policy=agreed.policy,
    ), number  # fmt: skip


def _draft_warnings(tx: Writer, names: Iterable[str], proposal: Settlement) -> tuple[str, ...]:
    """Names of the run that are confusable, and settlements of the same rows."""
    accounts = people.accounts(people.profiles(tx.reading, tx.ledger.ring).values())
    said = confusable_name_warnings("contributors", names, (account for _, account in accounts))
    return (*said, *overlaps(tx.state.settlements, proposal))


def confusable_name_warnings(what: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Warn about names that are confusable with each other or with a registered account."""
    own = set(names)
    return [
        f"these {what} look alike and are not one: {', '.join(map(repr, group))}"
        for group in confusable_names(own.union(known))
        if own.intersection(group)
    ]


def _read_checked_run(folder: Path, digest: str | None) -> "Run":
    """Read a run with its verdicts; an error unless it has the digest given or the one on record here."""
    from anml.pipeline.read import read_run, read_verdicts, verify_run_hash

    run = read_run(folder)
    if digest is None:
        verify_run_hash(folder, run)
    elif len(digest) < 16 or not run.record.startswith(digest):
        raise IntegrityError(f"{folder} is not the run {digest}: it was changed, or is another one")
    return run._replace(verdicts=read_verdicts(folder, run))


def _rules(run: "Run", terms: SettlementTerms) -> PayoutRules:
    """The rules of a draft; by a rate every label that counts is paid alike."""
    from anml.ledger.pay import manifest

    if not terms.rate:
        return replace(terms.rules, weight=terms.weight or manifest.default_weight(run))
    shaped = any(getattr(terms.rules, name) != getattr(PayoutRules(), name) for name in _SHAPING)
    if terms.weight not in (None, "equal") or terms.multipliers or shaped:
        raise InputError("pay by a rate per label takes no weight, multiplier, volume or bounds of shares")
    return PayoutRules(weight="equal", newcomer_cap=UNIT)


def _dispute_acceptance(run: "Run", rules: PayoutRules, terms: SettlementTerms, who: str) -> dict[str, Any]:
    """Entry of the manifest for a disputed run: its reason, who accepted it, and why."""
    from anml.pipeline.read import dispute_reason

    why = dispute_reason(run, rules.weight)
    if why is None and terms.accept is not None:
        raise InputError("this run is not disputed; omit --accept-disputed")
    if why is None:
        return {}
    reason = (terms.accept or "").strip()
    if not reason:
        accept = "add true labels, or accept it with --accept-disputed REASON"
        raise InputError(f"this run is disputed: {why}; {accept}")
    require_single_line("the reason to accept a disputed run", reason)
    return {"disputed": {"because": why, "accepted": reason, "by": who}}


def resolve_names(tx: Writer, source: str | None, names: list[str]) -> dict[str, str]:
    """Identifiers for the contributors of a run: their own where they are known, new ones otherwise."""
    known = tx.state.people
    own = {name: known.resolve(name) for name in names if name in known.since}
    if erased := sorted(known.erased.intersection(own)):
        raise InputError(f"contributor {erased[0]} was erased; run again without their rows")
    rest = [name for name in names if name not in own]
    if not rest:
        return own
    profiles = people.profiles(tx.reading, tx.ring)
    if source is None:
        there = sorted({place for place, name in people.accounts(profiles.values()) if name in rest})
        told = f"known in {', '.join(there)}" if there else "none of them is known yet"
        raise InputError(
            f"say with --source which place {rest[0]!r} and the others are accounts of ({told}): people of "
            "one name in two places are not one person"
        )
    place = source_id(source)
    found = people.register(tx, place, rest)
    # Who registers people writes their records too: a changed program could let one's work be another's.
    listed = {(known.resolve(pid), one) for pid, who in profiles.items() for one in who.get("accounts", [])}
    recorded = set(map(known.resolve, profiles))
    for name, pid in found.items():
        if pid in recorded and (pid, f"{place}:{name}") not in listed:
            raise IntegrityError(f"the account {place}:{name} leads to {pid}, whose record does not have it")
    return own | found


@as_transaction
def approve_settlement(
    tx: Writer, sid: str, by: Actor = None, *, because: str = "", seen: str | None = None
) -> Event:
    """Approve a draft, if it is what was `seen`; `because` is why some get less than their rows say."""
    require_same_content(seen, approval, tx, sid, by)
    return book.approve(tx, sid, by, because)


withdraw = as_transaction(book.withdraw)


def settlements(ledger: Ledger) -> dict[str, Settlement]:
    """All settlements by their identifiers, oldest first."""
    return ledger.listed(Settlements).found


class Releases(NamedTuple):
    """Result of a release: payable amounts, amounts returned to the pool, and held amounts with reasons."""

    released: dict[str, int]
    returned: dict[str, int]
    waiting: dict[str, str]
    currency: str
    names: dict[str, str]
    kept: tuple[str, ...] = ()


@as_transaction
def release_settlement(
    tx: Writer, sid: str, domain: str = "default", policy: Policy | None = None, *, by: Actor = None,
    hold: Collection[str] = (), pay: Collection[str] = (), because: str = "", seen: str | None = None,
) -> Releases:  # fmt: skip
    """Release what is held once the dispute window is over; `seen` is the digest of what was shown of it.

    Over a flag an amount stays held only as who releases the rest decides: those to `hold`, with a reason in
    words, and those to `pay` all the same. A newcomer's amount waits until two people agreed on the name and
    bank details to pay it under; one who contributed elsewhere, or for whom a trusted key signed an
    attestation, waits no longer either, and is priced again at the reputation they have by then.
    """
    found = tx.verified().state.settlements.get(sid)
    if found.terms:
        terms = parse_terms(tx.state.terms.agreed[found.terms])
        domain, policy = terms.domain, terms.policy
    credits = tx.state.credits.of(sid)
    held = tx.state.balances.of_kind("held:", found.currency, sid)
    frozen = tx.state.disputes.waiting(sid)
    known = contributor_statuses(tx.state, tx.now, domain, policy, without=sid)
    early = bool(found.posted) and seconds(tx.now) < found.window_end
    reputations, waiting = dict[str, int](), dict[str, str]()
    payees, contributors = tx.state.payees.paper, tx.state.people
    agreed = {pid: any(payees.get(one) for one in contributors.same(pid)) for pid in credits}
    flagged: dict[str, tuple[int, ...]] = {}
    for pid in (pid for pid in credits if held.get(pid)):
        standing = known[tx.state.people.resolve(pid)]
        if pid in frozen or early:
            waiting[pid] = "a dispute is open" if pid in frozen else "the dispute window is open"
        elif standing.newcomer and not agreed[pid]:
            # Judged anew: a verification that was withdrawn since no longer frees anybody.
            needs = " ".join(standing.needs)
            waiting[pid] = f"new contributor: needs {needs}, or two people who agree on name and bank details"
        elif standing.flags and pid not in pay:
            flagged[pid] = standing.flags
        else:
            # Two people know whom they pay: the amount they approved is not priced again.
            reputations[pid] = UNIT if agreed[pid] else round(standing.track.r * UNIT)
    names = shown_names(tx.ledger, tx.verified())
    kept = _hold_decisions(tx, sid, flagged, hold, because, waiting, names)
    made = book.release(tx, sid, reputations, by, kept)
    back = {e.subject: amount_returned(credits[e.subject], e.body["r"], held[e.subject]) for e in made}
    paid = {pid: held[pid] - amount for pid, amount in back.items()}
    back = {pid: amount for pid, amount in back.items() if amount}
    done = Releases(paid, back, waiting, found.currency, names, tuple(kept))
    require_same_content(seen, adverse_decisions, sid, done)
    return done


def adverse_decisions(sid: str, done: Releases) -> dict[str, Any]:
    """Return the adverse decisions of a release: amounts returned to the pool or still held."""
    return {"step": kinds.RELEASED_ALL, "settlement": sid, "returned": done.returned, "kept": list(done.kept)}


def _hold_decisions(
    tx: Writer, sid: str, flagged: Mapping[str, tuple[int, ...]], hold: Collection[str],
    because: str, waiting: dict[str, str], names: Mapping[str, str],
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Decisions of who releases the rest that some amounts stay held; an error where one is left open."""
    known, made = tx.state.disputes.kept, {}
    for pid, flags in flagged.items():
        last = known.get((sid, pid))
        if pid in hold:
            if not because.strip():
                raise InputError("say --because, for the contributor, why an amount stays held")
            made[pid] = {"evidence": list(flags), **book.store_free_text(tx, pid, because)}
            waiting[pid] = "a flag is open: held by your decision"
        elif last is not None and set(flags) <= set(last.body["evidence"]):
            waiting[pid] = f"a flag is open; {last.by} decided on {last.at[:10]} that it stays held"
        else:
            about = (one for one in tx.state.evidence.found if one.seq in flags)
            said = "; ".join(f"{one.kind} by {one.issuer} on {one.at[:10]}" for one in about)
            who = names.get(pid, pid)
            raise ConflictError(
                f"{who} is flagged ({said}), and a person decides what that means: --pay {who}, or --hold "
                f"{who} --because WHY; nothing is released before"
            )
    if strangers := set(hold) - set(flagged):
        raise InputError(f"{names.get(min(strangers), min(strangers))} is not flagged, or has nothing held")
    return made
