"""Contributors as the terminal shows them."""

from typing import TYPE_CHECKING, Any

from anml.app.names import shown_names
from anml.app.reputation import show as standings_now
from anml.core.errors import InputError
from anml.core.signals.policy import Policy
from anml.ledger import evidence, people
from anml.surfaces.ledger_common import columns, show

if TYPE_CHECKING:
    from anml.ledger.standing import Standing
    from anml.ledger.store import Ledger


def find(ledger: "Ledger", account: str) -> str:
    """The identifier of an account given as source:name."""
    source, _, name = account.partition(":")
    with ledger.read() as connection:
        pid = people.lookup(connection, ledger.ring, source, name)
    if pid is None:
        raise InputError(f"no contributor is known as {account!r}; accounts are written source:name")
    return pid


def plain(standing: "Standing") -> dict[str, Any]:
    """A standing as plain values."""
    return {
        "contributor": standing.pid,
        "since": standing.since,
        "contributions": standing.prior,
        "r": standing.r,
        "r_interval": [standing.track.low, standing.track.high],
        "events": standing.track.events,
        "v": standing.verdict.v,
        "level": standing.verdict.level,
        "why": standing.verdict.reason,
        "evidence": list(standing.verdict.evidence),
        "flagged": standing.flagged,
        "newcomer": standing.newcomer,
        "needs": list(standing.needs),
    }


def show_all(ledger: "Ledger", domain: str, policy: Policy, json: bool) -> None:
    """Everybody, on one line each."""
    found = standings_now(ledger, domain, policy=policy)
    with ledger.read() as connection:
        profiles = people.profiles(connection, ledger.keys) if ledger.keys else {}
        called = shown_names(ledger, connection)
    names = {pid: ", ".join(profiles.get(pid, {}).get("accounts", [])) for pid in found}
    values = [
        plain(standing) | {"accounts": names[pid], "name": called.get(pid, "")}
        for pid, standing in found.items()
    ]
    rows = [
        (
            called.get(pid, ""),
            names[pid],
            s.prior,
            f"{s.r:.2f}",
            f"{s.track.low:.2f}-{s.track.high:.2f}",
            s.verdict.level,
            _mark(s),
            pid,
        )
        for pid, s in found.items()
    ]
    header = ("contributor", "accounts", "settled", "r", "90 %", "evidence", "", "identifier")
    show(json, {"domain": domain, "contributors": values}, columns(header, sorted(rows)))


def show_one(ledger: "Ledger", pid: str, domain: str, policy: Policy, json: bool) -> None:
    """One contributor with their evidence and, with the keys, what is personal."""
    found = standings_now(ledger, domain, policy=policy).get(pid)
    if found is None:
        raise InputError(f"there is no contributor {pid!r} in this ledger")
    with ledger.read() as connection:
        about = people.profile(connection, ledger.ring, pid) if ledger.keys else {}
        records = evidence.of(connection, [pid], rule=policy.trust).get(pid, [])
        called = shown_names(ledger, connection)
    value = plain(found) | {"profile": about, "records": [record._asdict() for record in records]}
    lines = [
        f"{about.get('name') or called.get(pid, '')} ({pid}) since {found.since[:10]}; "
        f"{', '.join(about.get('accounts', [])) or 'no account known'}",
        f"r {found.r:.3f} (90 %: {found.track.low:.2f}-{found.track.high:.2f}; {found.track.events} events)",
        f"v {found.verdict.v:.2f} {found.verdict.level}: {found.verdict.reason}",
        *(
            f"entry {e.id}: {e.kind} by {called.get(e.issuer, e.issuer)} ({e.vouched}) about {e.scope}"
            for e in records
        ),
    ]
    lines += [f"new: needs {' '.join(found.needs)}"] if found.newcomer else []
    show(json, value, lines)


def _mark(standing: "Standing") -> str:
    return "flagged" if standing.flagged else "new" if standing.newcomer else ""
