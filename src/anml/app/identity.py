"""Which accounts are one person."""

from pathlib import Path

from anml.core.errors import InputError
from anml.intake.contributions import read_typed
from anml.ledger import people
from anml.ledger.log import Writer
from anml.ledger.store import Ledger

NEEDED = ("source", "account", "contributor")


def read_identity_map(path: Path) -> list[tuple[str, str]]:
    """Accounts and whom they belong to, from a table with source, account and contributor.

    `contributor` is an identifier, or another account written source:name.
    """
    frame = read_typed(path, NEEDED)
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise InputError(f"{path.name} has no column {missing[0]!r}; it needs {', '.join(NEEDED)}")
    for name in NEEDED:
        if gaps := frame[name].null_count():
            raise InputError(f"{path.name}: column {name!r} is empty in {gaps} rows; every row needs one")
    rows = frame.select(*NEEDED).iter_rows()
    return [(f"{source}:{account}", contributor) for source, account, contributor in rows]


def map_accounts(ledger: Ledger, pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Record that accounts (source:name) belong to contributors; all of them, or none."""

    def work(tx: Writer) -> dict[str, str]:
        done: dict[str, str] = {}
        for account, owner in pairs:
            source, colon, name = account.partition(":")
            if not colon or not name:
                raise InputError(f"an account is written source:name, got {account!r}")
            pid = owner
            if ":" in owner:
                pid = people.register(
                    tx, ledger, owner.partition(":")[0], [owner.partition(":")[2]]
                ).popitem()[1]
            people.map_account(tx, ledger, source, name, pid)
            done[account] = pid
        return done

    return ledger.write(work)
