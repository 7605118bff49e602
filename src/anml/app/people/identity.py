"""Which accounts are one person."""

from pathlib import Path

from anml.core.errors import InputError
from anml.core.identifiers import place_id
from anml.core.words import counted
from anml.intake.contributions import read_typed
from anml.ledger import evidence, people, two_people
from anml.ledger.store import written
from anml.ledger.writer import Writer

NEEDED = ("source", "account", "contributor")


def read_identity_map(path: Path) -> list[tuple[str, str]]:
    """Accounts and whom they belong to: an identifier, or another account written source:name."""
    frame = read_typed(path, NEEDED, NEEDED)
    for name in NEEDED:
        if gaps := frame[name].null_count():
            empty = f"column {name!r} is empty in {counted(gaps, 'row')}"
            raise InputError(f"{path.name}: {empty}; every row needs one")
    rows = frame.select(*NEEDED).iter_rows()
    return [(f"{source}:{account}", contributor) for source, account, contributor in rows]


@written
def map_accounts(
    tx: Writer, pairs: list[tuple[str, str]], by: str | None = None
) -> tuple[dict[str, str], list[int]]:
    """Propose whom accounts (source:name) belong to, all or none; returns that, and proposals' numbers."""
    owners = {owner for _, owner in pairs if ":" in owner}
    known = {}
    for owner in sorted(owners):
        source, _, name = owner.partition(":")
        known[owner] = people.register(tx, place_id(source), [name])[name]
    evidence.taken(tx, "import", "", by)
    done: dict[str, str] = {}
    numbers: list[int] = []
    for account, owner in pairs:
        source, colon, name = account.partition(":")
        if not colon or not name:
            raise InputError(f"an account is written source:name, got {account!r}")
        pid = known.get(owner, owner)
        made = two_people.propose_account(tx, place_id(source), name, pid, by)
        done[account] = pid
        numbers += [made.seq] if made is not None else []
    return done, numbers
