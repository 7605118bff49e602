"""From a run to money: draft, approve by a second person, and release what is held, in somebody's name."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.app.audit.runs import Run, check_remembered, doubt, read_judged, read_run, read_verdicts
from anml.app.ledger.steps import approval, check_seen, overlaps
from anml.app.pay import manifest
from anml.app.people.names import shown_names
from anml.core.canonical import canonical
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.core.identifiers import look_alike, place_id
from anml.core.manifest import amounts, head_digest
from anml.core.money import check_currency
from anml.core.settle import UNIT, Rules
from anml.core.signals.policy import Policy
from anml.ledger import audit, book, kinds, people
from anml.ledger.log import Event, seconds
from anml.ledger.money_parts import Settlement, Settlements
from anml.ledger.rules_money import one_line, returned
from anml.ledger.standing import standings
from anml.ledger.store import Ledger, written
from anml.ledger.writer import By, Writer

_SHAPING = ("volume", "min_share", "max_share")


@dataclass(frozen=True)
class Terms:
    """What a settlement is asked to do.

    `weight` replaces the one in `rules`; None means p_correct where the run has it by the evidence recipe,
    else the product. `accept` says why a doubtful run is settled all the same. `rate`, in micro-units for
    each label that counts, replaces shares of a pool. `source` is the place that the names are accounts of,
    `digest` the start of the SHA-256 of `run.json`, as whoever made the run knows it.
    """

    pool: int
    currency: str
    by: By
    weight: str | None = None
    rules: Rules = field(default_factory=Rules)
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


class Draft(NamedTuple):
    """A proposed settlement, with what each contributor would get."""

    id: str
    manifest: dict[str, Any]
    sha256: str
    amounts: dict[str, tuple[int, int]]
    warnings: tuple[str, ...] = ()


def draft(ledger: Ledger, folder: Path, terms: Terms) -> Draft:
    """Freeze a run's weights into a manifest and propose a settlement on it."""
    check_currency(terms.currency)
    run = read_run(folder)
    if terms.digest is not None and not (len(terms.digest) >= 16 and run.record.startswith(terms.digest)):
        raise IntegrityError(f"{folder} is not the run {terms.digest}: it was changed, or is another one")
    if terms.digest is None:
        check_remembered(folder, run)
    run, judged = run._replace(verdicts=read_verdicts(folder, run)), read_judged(folder, run)
    rules = _rules(run, terms)
    project = terms.project.strip() or str((run.info.get("data") or {}).get("name", ""))[:100]
    one_line("the name of a project", project)

    def work(tx: Writer) -> Draft:
        tx.verified()
        who = tx.who(terms.by)
        accepted = _accepted(run, rules, terms, who)
        names = run.samples["contributor"].cast(pl.String).unique().to_list()
        pids = resolve_names(tx, terms.source, names)
        known = standings(tx.state, tx.now, terms.domain, terms.policy)
        new = {pid for pid in pids.values() if known[pid].newcomer}
        extra = terms.multipliers and {pids.get(name, name): x for name, x in terms.multipliers.items()}
        made = manifest.build(run, rules, terms.pool, terms.currency, pids, new, extra, terms.rate, judged)
        made |= accepted
        name, rows = tx.keep(audit.MANIFEST, canonical(made)), made["run"]
        proposal = Settlement(
            id=book.free_id(tx, name), state="drafted", manifest=name, head=head_digest(made), by=who,
            currency=terms.currency, pool=made["pool"], posted=None, run=run.sha256, project=project,
            rows=rows["rows_sha256"], work=rows["work_sha256"], marks=rows["marks"],
            window_days=terms.window_days, supersedes=terms.supersedes,
            accepted=terms.accept and terms.accept.strip(),
        )  # fmt: skip
        book.draft(tx, proposal)
        accounts = people.accounts(people.profiles(tx.reading, ledger.ring).values())
        said = alike("contributors", names, (account for _, account in accounts))
        said += overlaps(tx.state.settlements, proposal)
        return Draft(proposal.id, made, name, amounts(made), tuple(said))

    return ledger.write(work)


def alike(what: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Who of these look like each other, or like an account on record."""
    own = set(names)
    return [
        f"these {what} look alike and are not one: {', '.join(map(repr, group))}"
        for group in look_alike(own.union(known))
        if own.intersection(group)
    ]


def _rules(run: Run, terms: Terms) -> Rules:
    """The rules of a draft; by a rate every label that counts is paid alike."""
    if not terms.rate:
        return replace(terms.rules, weight=terms.weight or manifest.default_weight(run))
    shaped = any(getattr(terms.rules, name) != getattr(Rules(), name) for name in _SHAPING)
    if terms.weight not in (None, "equal") or terms.multipliers or shaped:
        raise InputError("pay by a rate per label takes no weight, multiplier, volume or bounds of shares")
    return Rules(weight="equal", newcomer_cap=UNIT)


def _accepted(run: Run, rules: Rules, terms: Terms, who: str) -> dict[str, Any]:
    """What the manifest says of a doubtful run: why it is, who settles it all the same, and why."""
    why = doubt(run, rules.weight)
    if why is None and terms.accept is not None:
        raise InputError("this run is not doubtful; there is nothing to accept")
    if why is None:
        return {}
    reason = (terms.accept or "").strip()
    if not reason:
        accept = 'have it checked, or settle it all the same with --accept-doubtful "why"'
        raise InputError(f"this run is doubtful: {why}; {accept}")
    one_line("the reason to accept a doubtful run", reason)
    return {"doubtful": {"because": why, "accepted": reason, "by": who}}


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
    place = place_id(source)
    found = people.register(tx, place, rest)
    # Who registers people writes their records too: a changed program could let one's work be another's.
    listed = {(known.resolve(pid), one) for pid, who in profiles.items() for one in who.get("accounts", [])}
    recorded = set(map(known.resolve, profiles))
    for name, pid in found.items():
        if pid in recorded and (pid, f"{place}:{name}") not in listed:
            raise IntegrityError(f"the account {place}:{name} leads to {pid}, whose record does not have it")
    return own | found


@written
def approve(tx: Writer, sid: str, by: By = None, *, because: str = "", seen: str | None = None) -> Event:
    """Approve a draft, if it is what was `seen`; `because` is why some get less than their rows say."""
    check_seen(seen, approval, tx, sid, by)
    return book.approve(tx, sid, by, because)


withdraw = written(book.withdraw)


def settlements(ledger: Ledger) -> dict[str, Settlement]:
    """All settlements by their identifiers, oldest first."""
    return ledger.listed(Settlements).found


class Releases(NamedTuple):
    """What a release did: amounts now payable, what went back to the pool, and who waits for what."""

    released: dict[str, int]
    returned: dict[str, int]
    waiting: dict[str, str]
    currency: str
    names: dict[str, str]
    kept: tuple[str, ...] = ()


@written
def release(
    tx: Writer, sid: str, domain: str = "default", policy: Policy | None = None, *, by: By = None,
    hold: Collection[str] = (), pay: Collection[str] = (), because: str = "", seen: str | None = None,
) -> Releases:  # fmt: skip
    """Release what is held once the dispute window is over; `seen` is the digest of what was shown of it.

    Over a flag an amount stays held only as who releases the rest decides: those to `hold`, with a reason in
    words, and those to `pay` all the same. A newcomer's waits until they have contributed elsewhere or
    somebody with standing vouched for them, and is priced again at the reputation they have by then: so
    splitting one bad account into many new ones gains nothing.
    """
    found = tx.verified().state.settlements.get(sid)
    credits = tx.state.credits.of(sid)
    held = tx.state.balances.of_kind("held:", found.currency, sid)
    frozen = tx.state.disputes.waiting(sid)
    known = standings(tx.state, tx.now, domain, policy, without=sid)
    early = bool(found.posted) and seconds(tx.now) < found.window_end
    reputations, waiting = dict[str, int](), dict[str, str]()
    flagged: dict[str, tuple[int, ...]] = {}
    for pid in (pid for pid in credits if held.get(pid)):
        standing = known[tx.state.people.resolve(pid)]
        if pid in frozen or early:
            waiting[pid] = "a dispute is open" if pid in frozen else "the dispute window is open"
        elif standing.newcomer:
            # Judged anew: a verification that was withdrawn since no longer frees anybody.
            waiting[pid] = f"new contributor: needs {' '.join(standing.needs)}"
        elif standing.flags and pid not in pay:
            flagged[pid] = standing.flags
        else:
            reputations[pid] = round(standing.track.r * UNIT)
    names = shown_names(tx.ledger, tx.verified())
    kept = _kept(tx, sid, flagged, hold, because, waiting, names)
    made = book.release(tx, sid, reputations, by, kept)
    back = {e.subject: returned(credits[e.subject], e.body["r"], held[e.subject]) for e in made}
    paid = {pid: held[pid] - amount for pid, amount in back.items()}
    back = {pid: amount for pid, amount in back.items() if amount}
    done = Releases(paid, back, waiting, found.currency, names, tuple(kept))
    check_seen(seen, against, sid, done)
    return done


def against(sid: str, done: Releases) -> dict[str, Any]:
    """What a release decides against people: amounts that go back to the pool, or stay held."""
    return {"step": kinds.RELEASED_ALL, "settlement": sid, "returned": done.returned, "kept": list(done.kept)}


def _kept(
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
            made[pid] = {"evidence": list(flags), **book.words(tx, pid, because)}
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
