"""Merging of accounts of one person, and erasure of a person; the ledger still verifies afterwards."""

from pathlib import Path
from typing import Any

from anml.core.errors import ConflictError, InputError
from anml.core.text import pluralise
from anml.ledger import evidence, kinds, two_people
from anml.ledger import personal_data as people
from anml.ledger.identifiers import source_id
from anml.ledger.money import format_money
from anml.ledger.rules_people import debts, open_requests, outstanding_amounts
from anml.ledger.store import Ledger, as_transaction
from anml.ledger.writer import Actor, Writer

NEEDED = ("source", "account", "contributor")
REASON = "request"


def read_identity_map(path: Path) -> list[tuple[str, str]]:
    """Accounts and whom they belong to: an identifier, or another account written source:name."""
    from anml.io.contributions import read_typed

    frame = read_typed(path, NEEDED, NEEDED)
    for name in NEEDED:
        if gaps := frame[name].null_count():
            empty = f"column {name!r} is empty in {pluralise(gaps, 'row')}"
            raise InputError(f"{path.name}: {empty}; every row needs one")
    rows = frame.select(*NEEDED).iter_rows()
    return [(f"{source}:{account}", contributor) for source, account, contributor in rows]


@as_transaction
def propose_account_mapping(
    tx: Writer, pairs: list[tuple[str, str]], by: Actor = None
) -> tuple[dict[str, str], list[int]]:
    """Propose whom accounts (source:name) belong to, all or none; returns that, and proposals' numbers."""
    known = {}
    for owner in sorted({owner for _, owner in pairs if ":" in owner}):
        source, _, name = owner.partition(":")
        known[owner] = people.register(tx, source_id(source), [name])[name]
    evidence.sign_records(tx, "import", "", by)
    done: dict[str, str] = {}
    numbers: list[int] = []
    for account, owner in pairs:
        source, colon, name = account.partition(":")
        if not colon or not name:
            raise InputError(f"an account is written source:name, got {account!r}")
        pid = known.get(owner, owner)
        made = two_people.propose_account(tx, source_id(source), name, pid, by)
        done[account] = pid
        numbers += [made.seq] if made is not None else []
    return done, numbers


def erase_contributor(ledger: Ledger, pid: str, *, by: Actor = None, anyway: bool = False) -> dict[str, Any]:
    """Erase somebody's personal data; with money open, and `anyway`, a second person has to confirm it.

    What is left behind: `unreached` is still there, and with a `proposal` nothing is erased yet.
    """
    found, again = ledger.rehearse(lambda tx: (_run_usage(tx, pid), pid in tx.state.people.erased))
    if again:
        # Once more, for what could not be reached then.
        return found | {"unreached": [] if ledger.dry_run else people.scrub_erased(ledger)}
    open_ = [f"{format_money(micro, currency)} {currency}" for currency, micro in found["unpaid"].items()]
    owes = (
        f"{format_money(micro, currency)} {currency} of debt" for currency, micro in found["owes"].items()
    )
    open_ += [*owes, *found["open"]]
    if open_ and not anyway:
        raise ConflictError(
            f"contributor {pid} still has {', '.join(open_)} open; pay or answer first, or erase anyway"
        )
    if ledger.dry_run:
        return found
    if open_:
        body = {"reason": REASON, "also": found["also"]}
        made = ledger.write(lambda tx: two_people.propose(tx, kinds.ERASED, found["contributor"], body, by))
        return found | {"proposal": made.seq}
    return found | {"unreached": people.erase(ledger, pid, REASON, by)}


def _run_usage(tx: Writer, pid: str) -> dict[str, Any]:
    state = tx.verified().state
    if pid not in state.people.erased:
        state.people.require(pid)
    whole, everybody = state.people.resolve(pid), state.people.same(pid)
    settled = {s.id: s for s in state.settlements.found.values()}
    used = [sid for sid, one in state.trail.own if one in everybody]
    work = [batch for one in everybody for batch, _ in state.held.files.get(one, ())]
    return {
        "contributor": whole,
        "also": [one for one in everybody if one != whole],
        "settlements": used,
        "runs": [settled[sid].run for sid in used],
        "batches": work,
        "unpaid": outstanding_amounts(state, pid),
        "owes": debts(state, pid),
        "open": open_requests(state, pid),
        "unreached": [],
        "proposal": None,
    }
