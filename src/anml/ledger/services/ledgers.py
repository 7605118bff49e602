"""A ledger for whoever acts in it: made with its keys, opened, and closed again."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from anml.ledger.engine import database_error
from anml.ledger.identifiers import staff_id
from anml.ledger.keys import Password, create_signer, from_environment, public_text
from anml.ledger.store import Ledger, LedgerSettings, create, open_ledger

# A surface holds an open ledger and hands it on; what is in it, the functions here know.
__all__ = ["Ledger", "LedgerSettings", "create_ledger", "from_environment", "open_for"]


def create_ledger(
    url: str, keys: Path | None, origin: str, charter: LedgerSettings, recovery: Path | None = None,
    password: str = "",
) -> tuple[str, str, Path]:  # fmt: skip
    """Make a ledger, and a `recovery` key; returns its public key, its founder and the file of their key."""
    said = replace(charter, recovery="" if recovery is None else create_signer(recovery))
    with closing(create(url, keys, origin, charter=said, password=password)) as ledger:
        who = staff_id(charter.founder)
        return public_text(ledger.ring.public), who, ledger.signers.folders[0] / f"{who}.pem"


@contextmanager
def open_for(
    url: str, keys: Path | None = None, sign: Path | None = None, by: str | None = None,
    password: Password = from_environment, *, dry_run: bool = False,
) -> Iterator[Ledger]:  # fmt: skip
    """An open ledger, closed at the end; `by` acts in it, with the key `sign`, opened by `password`."""
    ledger = replace(open_ledger(url, keys, sign=sign), dry_run=dry_run)
    ledger.signers.name, ledger.signers.password = by, password
    # A full disk, a lost connection: the transaction was taken back, and the reason is said.
    with closing(ledger), database_error(ledger.engine.url):
        yield ledger
