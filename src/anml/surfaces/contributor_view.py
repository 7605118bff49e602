"""Contributors as the terminal shows them."""

from typing import TYPE_CHECKING, Any

from anml.app.people.contributors import get_contributor, list_contributors
from anml.core.signals.standing import Standing
from anml.surfaces.ledger_common import Desk, columns

if TYPE_CHECKING:
    from anml.app.ledger.ledgers import Ledger


def plain(standing: Standing) -> dict[str, Any]:
    """A standing as plain values."""
    track, verdict = standing.track, standing.verdict
    return {
        "contributor": standing.pid, "since": standing.since, "contributions": standing.prior,
        "r": standing.r, "r_interval": [track.low, track.high], "events": track.events,
        "v": verdict.v, "level": verdict.level, "why": verdict.reason, "evidence": list(verdict.evidence),
        "flagged": standing.flagged, "newcomer": standing.newcomer, "needs": list(standing.needs),
    }  # fmt: skip


def show_all(at: Desk, ledger: "Ledger") -> None:
    """Everybody, on one line each."""
    found = list_contributors(ledger, at.domain, at.read_policy())
    values = [plain(c.standing) | {"accounts": ", ".join(c.accounts), "name": c.name} for c in found]
    rows = [
        (c.name, ", ".join(c.accounts), s.prior, f"{s.r:.2f}", f"{s.track.low:.2f}-{s.track.high:.2f}",
         s.verdict.level, _mark(s), s.pid)
        for c in found
        for s in [c.standing]
    ]  # fmt: skip
    header = ("contributor", "accounts", "settled", "r", "90 %", "evidence", "", "identifier")
    at.show({"domain": at.domain, "contributors": values}, columns(header, sorted(rows)))


def show_one(at: Desk, ledger: "Ledger", pid: str) -> None:
    """One contributor with their evidence and, with the keys, what is personal."""
    found = get_contributor(ledger, pid, at.domain, at.read_policy())
    s = found.standing
    value = plain(s) | {"profile": found.profile, "records": [record._asdict() for record in found.records]}
    lines = [
        f"{found.name} ({pid}) since {s.since[:10]}; "
        f"{', '.join(found.profile.get('accounts', [])) or 'no account known'}",
        f"r {s.r:.3f} (90 %: {s.track.low:.2f}-{s.track.high:.2f}; {s.track.events} events)",
        f"v {s.verdict.v:.2f} {s.verdict.level}: {s.verdict.reason}",
        *(
            f"entry {e.id}: {e.kind} by {found.issuers[e.issuer]} ({e.vouched}) about {e.scope}"
            for e in found.records
        ),
    ]
    lines += [f"new: needs {' '.join(s.needs)}"] if s.newcomer else []
    at.show(value, lines)


def _mark(standing: Standing) -> str:
    return "flagged" if standing.flagged else "new" if standing.newcomer else ""
