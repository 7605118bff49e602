"""From a run to money: draft, approve by a second person, dispute, release."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from anml.app import manifest
from anml.app.runs import Run, doubt, read_run, read_verdicts
from anml.core.canonical import canonical, sha256
from anml.core.errors import InputError, IntegrityError
from anml.core.money import check_currency
from anml.core.settle import UNIT, Rules
from anml.core.signals.policy import Policy
from anml.ledger import book, dsse, people, registry
from anml.ledger.disputes import window_end
from anml.ledger.log import Event, Writer, events
from anml.ledger.schema import document
from anml.ledger.standing import CREDITED, Standing, standings
from anml.ledger.store import Ledger, seconds

MANIFEST = "manifest"
LONGEST_REASON = 500
APPROVAL = "application/vnd.anml.approval+json"


@dataclass(frozen=True)
class Terms:
    """What a settlement is asked to do.

    `weight` of None means p_correct where the run has it by the evidence recipe, else the product; it
    replaces the one in `rules`. `accept` says why a run that is doubtful is settled all the same.
    """

    pool: int
    currency: str
    by: str
    weight: str | None = None
    rules: Rules = field(default_factory=Rules)
    window_days: int = 14
    source: str = "run"
    domain: str = "default"
    supersedes: str | None = None
    multipliers: Mapping[str, int] | None = None
    policy: Policy | None = None
    accept: str | None = None


class Draft(NamedTuple):
    """A proposed settlement, with what each contributor would get."""

    id: str
    manifest: dict[str, Any]
    sha256: str
    amounts: dict[str, tuple[int, int]]


def draft(ledger: Ledger, folder: Path, terms: Terms, *, dry_run: bool = False) -> Draft:
    """Freeze a run's weights into a manifest and propose a settlement on it."""
    check_currency(terms.currency)
    run = read_run(folder)
    run = run._replace(verdicts=read_verdicts(folder, run))
    rules = replace(terms.rules, weight=terms.weight or manifest.default_weight(run))
    accepted = _accepted(run, rules, terms)

    def work(tx: Writer) -> Draft:
        names = run.samples["contributor"].cast(str).unique().to_list()
        pids = resolve_names(tx, ledger, terms.source, names)
        known = standings(tx.connection, tx.now, terms.domain, terms.policy)
        new = {pid for pid in pids.values() if known[pid].newcomer}
        extra = None
        if terms.multipliers is not None:
            extra = {pids.get(name, name): value for name, value in terms.multipliers.items()}
        made = manifest.build(run, rules, terms.pool, terms.currency, pids, new, extra) | accepted
        data = canonical(made)
        name = sha256(data)
        tx.keep(MANIFEST, data, name)
        proposal = book.Settlement(
            id=f"s{name[:24]}",
            state="drafted",
            manifest=name,
            currency=terms.currency,
            pool=terms.pool,
            by=terms.by,
            posted=None,
            run=run.sha256,
            window_days=terms.window_days,
            supersedes=terms.supersedes,
            accepted=terms.accept and terms.accept.strip(),
        )
        book.draft(tx, proposal)
        return Draft(proposal.id, made, name, manifest.amounts(made))

    return ledger.carry_out(work, dry_run=dry_run)


def _accepted(run: Run, rules: Rules, terms: Terms) -> dict[str, Any]:
    """What the manifest says of a doubtful run: why it is, who settles it all the same, and why."""
    why = doubt(run, rules.weight)
    if why is None:
        if terms.accept is not None:
            raise InputError("this run is not doubtful; there is nothing to accept")
        return {}
    reason = (terms.accept or "").strip()
    if not reason:
        raise InputError(
            f"this run is doubtful: {why}; have it checked, or settle it all the same with "
            '--accept-doubtful "why"'
        )
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise InputError(f"the reason to accept a doubtful run is one line of up to {LONGEST_REASON} letters")
    return {"doubtful": {"because": why, "accepted": reason, "by": terms.by}}


def resolve_names(tx: Writer, ledger: Ledger, source: str, names: list[str]) -> dict[str, str]:
    """Identifiers for the contributors of a run: their own where they are known, new ones otherwise."""
    known = {e.subject for e in events(tx.connection, ["contributor.registered"])}
    gone = {e.subject for e in events(tx.connection, ["contributor.erased"])}
    merged = people.merges(tx.connection)
    own = {name: people.resolve(name, merged) for name in names if name in known}
    erased = sorted(name for name in own if name in gone)
    if erased:
        raise InputError(f"contributor {erased[0]} was erased; run again without their rows")
    return own | people.register(tx, ledger, source, [name for name in names if name not in known])


def load_manifest(connection: sa.Connection, name: str) -> dict[str, Any]:
    """A manifest by its hash; one that does not match it is refused."""
    body = connection.scalar(sa.select(document.c.body).where(document.c.sha256 == name))
    if body is None or sha256(body) != name:
        raise IntegrityError(f"the manifest {name[:16]} is missing or was changed; nothing may be paid on it")
    return manifest.read(body)


def approve(
    ledger: Ledger, sid: str, by: str, key: Ed25519PrivateKey | None = None, *, dry_run: bool = False
) -> Event:
    """Approve a draft: fund it and hold each amount, recomputed here from the manifest."""

    def work(tx: Writer) -> Event:
        found = book.settlement(tx.connection, sid)
        made = load_manifest(tx.connection, found.manifest)
        if (made["pool"], made["currency"]) != (found.pool, found.currency):
            raise IntegrityError(f"the manifest of {sid} is for another pool")
        signature = _approval(tx, found, by, key)
        given = manifest.amounts(made)
        by_r = made["rules"]["weight"] == "product"
        facts = {line["pid"]: _facts(line, given[line["pid"]][1], by_r) for line in made["contributors"]}
        return book.approve(tx, sid, by, {pid: (given[pid][0], facts[pid]) for pid in facts}, signature)

    return ledger.carry_out(work, dry_run=dry_run)


class Releases(NamedTuple):
    """What a release did: amounts now payable, what went back to the pool, and who waits for what."""

    released: dict[str, int]
    returned: dict[str, int]
    waiting: dict[str, str]


def release(
    ledger: Ledger,
    sid: str,
    domain: str = "default",
    policy: Policy | None = None,
    *,
    dry_run: bool = False,
) -> Releases:
    """Release what is held once the dispute window is over.

    A newcomer's amount waits until they have contributed elsewhere or somebody vouched for them. It is
    then priced again at the reputation they have by that time: a fresh account is worth no more than
    the record it grows, so that splitting one bad account into many new ones gains nothing.
    """

    def work(tx: Writer) -> Releases:
        found = book.settlement(tx.connection, sid)
        credits = [e for e in events(tx.connection, [CREDITED]) if e.settlement == sid]
        held = book.balances(tx.connection, "held:", found.currency, sid)
        frozen = book.disputed(tx.connection, sid)
        known = standings(tx.connection, tx.now, domain, policy, without=sid)
        merged = people.merges(tx.connection)
        ends = window_end(found) if found.posted else seconds(tx.now)
        decisions: dict[str, tuple[int, dict[str, Any]]] = {}
        waiting: dict[str, str] = {}
        for e in credits:
            amount = held.get(e.subject, 0)
            if not amount:
                continue
            standing = known[people.resolve(e.subject, merged)]
            reason = _waits(e, standing, frozen, seconds(tx.now) < ends)
            if reason:
                waiting[e.subject] = reason
            else:
                decisions[e.subject] = _price(e, standing, amount)
        made = book.release(tx, sid, decisions)
        back = {e.subject: decisions[e.subject][0] for e in made}
        return Releases(
            {e.subject: held[e.subject] - back[e.subject] for e in made},
            {pid: amount for pid, amount in back.items() if amount},
            waiting,
        )

    return ledger.carry_out(work, dry_run=dry_run)


def _waits(e: Event, standing: Standing, frozen: set[str], early: bool) -> str:
    if e.subject in frozen:
        return "a dispute is open"
    if early:
        return "the dispute window is open"
    if standing.flagged:
        return "a flag is open"
    # Judged anew: a verification that was withdrawn since no longer frees anybody.
    if standing.newcomer:
        return f"new contributor: needs {' '.join(standing.needs)}"
    return ""


def _price(e: Event, standing: Standing, amount: int) -> tuple[int, dict[str, Any]]:
    """What of a newcomer's amount goes back to the pool, and the reputation that decides it."""
    then = e.body["r"]
    now = round(standing.track.r * UNIT)
    if not e.body["newcomer"] or not e.body["by_r"] or now >= then:
        return 0, {"r": now}
    return amount - amount * now // then, {"r": now}


def _facts(line: dict[str, Any], share: int, by_r: bool) -> dict[str, Any]:
    names = ("rows", "kept", "counted", "units", "units_sha256", "newcomer", "r")
    return {name: line[name] for name in names} | {"share": share, "by_r": by_r}


def _approval(tx: Writer, found: book.Settlement, by: str, key: Ed25519PrivateKey | None) -> str:
    """The approver's signature; needed from whoever has a key registered for it."""
    known = [k for k in registry.registered(tx.connection).values() if k.owner == by]
    signers = [k for k in known if registry.APPROVE in k.may and k.stands(tx.now, tx.now)]
    if not known:
        return ""
    if key is None:
        raise InputError(f"{by!r} has a registered key; approve with it")
    payload = canonical({"approve": found.id, "manifest": found.manifest, "by": by})
    envelope = canonical(dsse.wrap(APPROVAL, payload, key))
    dsse.unwrap(envelope, [k.public for k in signers], APPROVAL)
    return envelope.decode()
