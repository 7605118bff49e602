"""Release what a settlement holds: who waits and why is decided by whoever releases it, in their name."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from anml.app.ledger.review import check_seen
from anml.app.people.names import shown_names
from anml.core.errors import ConflictError, InputError
from anml.core.settle import UNIT
from anml.core.signals.policy import Policy, Standing
from anml.ledger import book, kinds
from anml.ledger.book import words
from anml.ledger.log import seconds
from anml.ledger.rules_money import returned
from anml.ledger.standing import standings
from anml.ledger.store import written
from anml.ledger.writer import Writer


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
    tx: Writer, sid: str, domain: str = "default", policy: Policy | None = None, *, by: str | None = None,
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
        if reason := _waits(pid, standing, frozen, early):
            waiting[pid] = reason
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
    check_seen(against(sid, done), seen)
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
        if pid not in hold and last is not None and set(flags) <= set(last.body["evidence"]):
            waiting[pid] = f"a flag is open; {last.by} decided on {last.at[:10]} that it stays held"
            continue
        if pid not in hold:
            said = "; ".join(
                f"{one.kind} by {one.issuer} on {one.at[:10] or one.received[:10]}"
                for one in tx.state.evidence.found
                if one.seq in flags
            )
            who = names.get(pid, pid)
            raise ConflictError(
                f"{who} is flagged ({said}), and a person decides what that means: --pay {who}, or --hold "
                f"{who} --because WHY; nothing is released before"
            )
        if not because.strip():
            raise InputError("say --because, for the contributor, why an amount stays held")
        made[pid] = {"evidence": list(flags), **words(tx, pid, because)._asdict()}
        waiting[pid] = "a flag is open: held by your decision"
    if strangers := set(hold) - set(flagged):
        raise InputError(f"{names.get(min(strangers), min(strangers))} is not flagged, or has nothing held")
    return made


def _waits(pid: str, standing: Standing, frozen: set[str], early: bool) -> str:
    if pid in frozen:
        return "a dispute is open"
    if early:
        return "the dispute window is open"
    # Judged anew: a verification that was withdrawn since no longer frees anybody.
    if standing.newcomer:
        return f"new contributor: needs {' '.join(standing.needs)}"
    return ""
